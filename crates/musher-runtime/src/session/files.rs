//! The files in an agent's folder that its program would execute: looked at before each start, and again before each prompt.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use musher_core::{Answer, Approval, Ask, Edit, Rule, ToolKind};
use serde_json::json;
use tokio::sync::oneshot;
use tracing::warn;

use super::port::{Attempt, BackendEnd, ProjectFilesMode, StartStep};
use super::profile::{Backend, BackendProfile};
use super::spec::SessionSpec;
use crate::{Changed, FileEffect, ProjectFile, Snapshot};

type ProjectFiles = Cow<'static, [ProjectFile]>;

/// What the tool is called that such an ask is about.
const TOOL: &str = "changed project files";
/// How long the files may take to be looked at before a start.
const FILE_SCAN_TIMEOUT: Duration = Duration::from_secs(60);

/// The same backend, with an eye on the files that its program would execute; the rules protect them.
pub(super) fn guard(backend: Backend, spec: &mut SessionSpec, profile: &BackendProfile) -> Backend {
    protect(spec, profile);
    match profile.files.is_empty() {
        true => backend,
        false => before(backend, profile.files.clone()),
    }
}

fn protect(spec: &mut SessionSpec, profile: &BackendProfile) {
    let own = profile.files.iter().filter(|file| file.effect == FileEffect::Executes);
    let protected = std::mem::take(&mut spec.protected);
    let patterns = own.map(ProjectFile::anywhere).chain(protected);
    for rule in patterns.filter_map(|pattern| format!("edit({pattern})").parse::<Rule>().ok()) {
        if !spec.rules.protected.contains(&rule) {
            spec.rules.protected.push(rule);
        }
    }
}

/// The same backend, started with the files of the folder loaded or left out, as a person has agreed.
fn before(backend: Backend, files: ProjectFiles) -> Backend {
    Arc::new(move |mut attempt| {
        let (backend, files) = (backend.clone(), files.clone());
        let all: Pin<Box<dyn Future<Output = BackendEnd> + Send>> = Box::pin(async move {
            let Some(seen) = settle(&attempt, &files).await else { return BackendEnd::default() };
            if let StartStep::Seen { settings, .. } = &seen {
                attempt.settings = *settings;
            }
            // A driver that is gone ends the attempt by itself.
            let _gone = attempt.port.signals.send(vec![seen.into()].into()).await;
            backend(attempt).await
        });
        all
    })
}

/// Decides with what the agent is started; nothing if it is not to be started any more.
async fn settle(attempt: &Attempt, files: &ProjectFiles) -> Option<StartStep> {
    let trust = &attempt.spec.project;
    let left_out = |files: Snapshot, why: &str| {
        let names: Vec<&str> = files.files().map(|(path, _)| path).collect();
        let left_out = (!names.is_empty()).then(|| format!("{} {why}", names.join(", ")));
        Some(StartStep::Seen { files, settings: ProjectFilesMode::LeftOut, left_out })
    };
    loop {
        let now = look(attempt, files).await;
        if now.is_empty() {
            return left_out(now, "");
        }
        if trust.trusts(&now) {
            return Some(StartStep::Seen {
                files: now,
                settings: ProjectFilesMode::Loaded,
                left_out: None,
            });
        }
        let odd = now.odd().next().map(|(path, what)| format!("because {path} is {what}"));
        if let Some(why) = odd {
            return left_out(now, &format!("are not loaded, {why}"));
        }
        if trust.base.is_same(&now) {
            let how = trust.how_to_agree.as_deref().map(|how| format!("; {how}"));
            let how = how.unwrap_or_default();
            return left_out(now, &format!("are not loaded: nobody has agreed to them{how}"));
        }
        let body = ask(&trust.base.changed(&now), ProjectFilesMode::Loaded);
        let answer = put(attempt, body).await?;
        if !matches!(answer, Answer::Allow { .. }) {
            return left_out(now, "are not loaded: a person did not agree to them");
        }
        // The files may have changed while the ask was open; only what was shown is agreed to.
        if look(attempt, files).await.is_same(&now) {
            return Some(StartStep::Seen {
                files: now,
                settings: ProjectFilesMode::Loaded,
                left_out: None,
            });
        }
    }
}

async fn look(attempt: &Attempt, files: &ProjectFiles) -> Snapshot {
    let (folder, files) = (attempt.spec.cwd.clone(), files.clone());
    let looking = tokio::task::spawn_blocking(move || Snapshot::of_folder(&folder, &files));
    match tokio::time::timeout(FILE_SCAN_TIMEOUT, looking).await {
        Ok(Ok(Ok(seen))) => seen,
        // A folder that cannot be opened lets no agent start in it either.
        Ok(Ok(Err(cause))) => {
            warn!(folder = %attempt.spec.cwd.display(), %cause, "folder of an agent could not be looked through");
            Snapshot::default()
        }
        Ok(Err(cause)) => {
            warn!(folder = %attempt.spec.cwd.display(), %cause, "folder of an agent could not be looked through");
            Snapshot::default()
        }
        // A disk that does not answer may be mounted below.
        Err(_) => Snapshot::unseen("a folder that could not be looked through in time"),
    }
}

/// Asks a person before the agent is there; nothing if the session ends meanwhile.
async fn put(attempt: &Attempt, body: Ask) -> Option<Answer> {
    let (reply, answer) = oneshot::channel();
    let port = &attempt.port;
    port.signals.send(vec![StartStep::AskFirst { body, reply }.into()].into()).await.ok()?;
    tokio::select! {
        biased;
        () = port.kill.cancelled() => None,
        () = port.end.cancelled() => None,
        given = answer => given.ok().map(|given| given.answer),
    }
}

/// The ask about files that are not as they were.
pub(super) fn ask(changed: &[Changed], settings: ProjectFilesMode) -> Ask {
    let list: Vec<_> =
        changed.iter().map(|file| json!({ "path": file.path, "change": file.verb() })).collect();
    let names: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
    let then = match settings {
        ProjectFilesMode::Loaded => {
            "a yes lets it load them; after a no it does not work with them"
        }
        ProjectFilesMode::LeftOut => {
            "it has not loaded them in this session, and continues without them either way"
        }
    };
    let edits: Vec<Edit> = changed.iter().filter_map(Changed::edit).collect();
    Ask::Approval(Box::new(Approval {
        tool: TOOL.into(),
        tool_kind: ToolKind::Other,
        call: None,
        subject: Some(names.join(", ")),
        subject_field: None,
        input: json!({ "files": list }),
        edits,
        reason: Some(format!(
            "The agent's program runs what these files name, and they have changed; {then}."
        )),
        always: Vec::new(),
        // No rule and no default agrees to it.
        human_only: true,
        shortened: None,
        as_is: false,
    }))
}
