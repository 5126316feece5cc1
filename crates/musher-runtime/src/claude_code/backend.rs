//! The process side: starts the agent and says the first words.

use musher_core::{SessionId, SessionInfo};
use uuid::Uuid;

use super::launch::{self, PreparedLaunch};
use super::translate::Translator;
use crate::conversation::{Conversation, Translation};
use crate::process::Process;
use crate::session::{Attempt, BackendEnd};

/// Runs one attempt to its end.
pub(super) async fn run(attempt: Attempt) -> BackendEnd {
    let session = match &attempt.resume {
        Some(earlier) if !attempt.fork => earlier.clone(),
        Some(_) | None => SessionId::new(Uuid::new_v4().to_string()),
    };
    let PreparedLaunch { launch, mcp_file } = match launch::prepare(&attempt, &session) {
        Ok(ready) => ready,
        Err(error) => return BackendEnd::failed(error),
    };
    let process = match Process::start(launch).await {
        Ok(process) => process,
        Err(error) => return BackendEnd::failed(launch::start_error(&error)),
    };
    let mut translator = Translator::default();
    let opening = opening(&mut translator, &attempt, session);
    let ended = Conversation::new(attempt, process, translator).run(opening).await;
    drop(mcp_file);
    ended
}

fn opening(translator: &mut Translator, attempt: &Attempt, session: SessionId) -> Translation {
    let (spec, settings) = (&attempt.spec, attempt.settings);
    let (initialize, hook) =
        (launch::initialize(spec, settings), launch::permission_hook(spec, settings));
    let resumed = attempt.resume.clone();
    let info = Translator::opening(SessionInfo {
        session: Some(session),
        runtime: Some("claude-code".into()),
        model: spec.model.clone(),
        cwd: Some(spec.cwd.display().to_string()),
        resumed_from: resumed.clone().filter(|_| !attempt.fork),
        forked_from: resumed.filter(|_| attempt.fork),
        ..SessionInfo::default()
    });
    let replies = vec![translator.hello(initialize, hook)];
    Translation { signals: vec![info], replies, ..Translation::default() }
}
