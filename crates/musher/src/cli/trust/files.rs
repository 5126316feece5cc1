//! The files of the project that agents' programs would execute: shown whole, or what changed since they were trusted.

use std::path::Path;

use musher_runtime::{Changed, Snapshot};
use serde_json::{Value as Json, json};
use similar::{ChangeTag, TextDiff};

use super::super::CliError;
use super::super::place::WorkLocation;
use super::super::table::Tone;
use super::super::text::visible;
use crate::config::ProjectConfig;
use crate::config::trust::{AcceptedFiles, TrustError};
use crate::diagnostics::{executed_in_base, obeyed_in_base};
use crate::supervisor::git_env;
use musher_git::Git;

/// The files as the project's branch has them, and what was agreed to before.
#[derive(Debug)]
pub(super) struct BranchFiles {
    now: Snapshot,
    /// What programs take for instructions; that needs no agreement, but a person should know.
    obeyed: Vec<String>,
    accepted: AcceptedFiles,
}

impl BranchFiles {
    pub(super) async fn look(
        place: &WorkLocation,
        repo: &Path,
        state: &Path,
        project: &ProjectConfig,
    ) -> Result<Self, CliError> {
        let unseen = |why: String| {
            let message =
                format!("the files that agents' programs would run cannot be seen: {why}");
            CliError::hinted(
                message,
                "repair the repository, or make the temporary folder writable",
            )
        };
        let scratch = tempfile::tempdir().map_err(|error| unseen(error.to_string()))?;
        let git = Git::open(repo, git_env(&place.environment), scratch.path()).await;
        let git = git.map_err(|error| unseen(error.to_string()))?;
        let now = executed_in_base(&git, project).await;
        let now = now.map_err(|error| unseen(error.to_string()))?;
        let obeyed = obeyed_in_base(&git, project).await;
        let obeyed = obeyed.map_err(|error| unseen(error.to_string()))?;
        let accepted = match AcceptedFiles::read(state) {
            // A record that cannot be read is no agreement.
            Err(TrustError::Garbled { .. }) => AcceptedFiles::default(),
            accepted => accepted?,
        };
        Ok(Self { now, obeyed, accepted })
    }

    /// Whether nobody needs to be asked.
    pub(super) fn covered(&self) -> bool {
        self.accepted.covers(&self.now)
    }

    /// Whether there is something to agree to, for the first time.
    pub(super) fn is_new(&self) -> bool {
        !self.covered() && self.accepted.states.is_empty()
    }

    pub(super) fn can_be_trusted(&self) -> bool {
        self.now.odd().next().is_none()
    }

    pub(super) fn can_be_granted(&self) -> bool {
        !self.covered() && self.can_be_trusted()
    }

    pub(super) fn grant(&self, state: &Path) -> Result<(), TrustError> {
        self.accepted.clone().grant(state, &self.now)
    }

    /// What differs from what was last agreed to.
    fn changed(&self) -> Vec<Changed> {
        match self.covered() {
            true => Vec::new(),
            false => self.accepted.last().changed(&self.now),
        }
    }

    pub(super) fn document(&self) -> Json {
        let changed = self.changed();
        let file = |(path, mark, change): (&str, &str, &str)| json!({ "path": path, "mark": mark, "change": change });
        let verb = |path: &str| changed.iter().find(|it| it.path == path).map(Changed::verb);
        let now = self
            .now
            .files()
            .map(|(path, seen)| file((path, &seen.mark, verb(path).unwrap_or("none"))));
        let gone = changed.iter().filter(|it| it.after.is_none());
        now.chain(gone.map(|it| file((&it.path, "", it.verb())))).collect()
    }

    /// The files that programs take for instructions.
    pub(super) fn obeyed(&self) -> &[String] {
        &self.obeyed
    }

    /// The same in a sentence.
    pub(super) fn obeyed_text(&self) -> Option<String> {
        let names: Vec<String> = self.obeyed.iter().map(|path| visible(path)).collect();
        (!names.is_empty()).then(|| {
            format!("\nAgents' programs take these files for instructions: {}.", names.join(", "))
        })
    }

    /// What agents' programs run though nothing has changed.
    pub(super) fn in_force(&self) -> Option<String> {
        let names: Vec<String> = self.now.files().map(|(path, _)| visible(path)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "\nAgents' programs run what these files name, as was agreed: {}.",
                names.join(", ")
            )
        })
    }

    /// Every file that is new or has changed, with its lines.
    pub(super) fn text(&self) -> String {
        let changed = self.changed();
        if changed.is_empty() {
            return String::new();
        }
        let mut text =
            "\nAgents' programs would run what these files of the project name:".to_owned();
        for file in changed {
            text += &format!("\n  {} ({})", visible(&file.path), file.verb());
            if let Some(seen) = &file.after {
                text += &format!(", {}", visible(&seen.mark));
            }
            text += &lines(&file);
        }
        text
    }

    /// Why they stay left out though everything else is trusted.
    pub(super) fn exception(&self) -> Option<String> {
        let (path, what) = self.now.odd().next()?;
        let (path, what) = (visible(path), visible(what));
        Some(format!(
            "The files above are left out all the same, because {path} is {what}: nobody could notice what becomes of it."
        ))
    }
}

/// The lines that went and came; nothing is left out, for whoever agrees must have seen it.
fn lines(file: &Changed) -> String {
    let text = |seen: &Option<musher_runtime::SeenFile>| match seen {
        None => Some(String::new()),
        Some(seen) => seen.text.clone(),
    };
    let (Some(before), Some(after)) = (text(&file.before), text(&file.after)) else {
        return "\n    its text is too long to be shown, or is no text".to_owned();
    };
    let diff = TextDiff::from_lines(&before, &after);
    let line = |tag: ChangeTag, words: &str| {
        let (sign, tone) = match tag {
            ChangeTag::Insert => ("+", Tone::Heed.style()),
            ChangeTag::Delete => ("-", Tone::Quiet.style()),
            ChangeTag::Equal => (" ", anstyle::Style::new()),
        };
        format!("\n    {tone}{sign} {}{tone:#}", visible(words.trim_end_matches('\n')))
    };
    diff.iter_all_changes().map(|change| line(change.tag(), change.value())).collect()
}
