//! Before a prompt reaches a live agent: whether the files that its program would execute are as they were.

use musher_core::{
    Answer, Ask, AskId, ErrorClass, ErrorInfo, EventKind, EventScope, Level, Outcome,
};
use tokio::sync::oneshot;
use tracing::warn;

use super::super::port::ProjectFilesMode;
use super::super::{HostAnswer, files};
use super::Driver;
use crate::{ProjectFile, Snapshot};

/// The files as they were last agreed to or told of, once the agent is started.
#[derive(Debug, Default)]
pub(super) struct WatchedFiles {
    seen: Option<(Snapshot, ProjectFilesMode)>,
    /// The ask about their change that holds up the prompts, with what the files were then.
    asking: Option<(AskId, Snapshot)>,
    asked: u64,
}

impl WatchedFiles {
    /// A new attempt looks for itself.
    pub(super) fn starting(&mut self) {
        (self.seen, self.asking) = (None, None);
    }

    /// Whether a prompt waits for a person's word about the files.
    pub(super) fn asking(&self) -> bool {
        self.asking.is_some()
    }

    /// The ask was closed without an answer, and is put again before the next prompt.
    pub(super) fn forget(&mut self, ask: &AskId) {
        self.asking.take_if(|(asking, _)| asking == ask);
    }

    fn next_ask(&mut self) -> AskId {
        self.asked += 1;
        AskId::new(format!("files-{}", self.asked))
    }
}

impl Driver {
    /// The agent is about to be started, with the files as they are now.
    pub(super) fn seen(
        &mut self,
        files: Snapshot,
        settings: ProjectFilesMode,
        left_out: Option<String>,
    ) {
        self.watched.seen = Some((files, settings));
        if let Some(text) = left_out {
            let code = Some("project_files_left_out".into());
            self.emit(EventKind::Notice { level: Level::Warning, code, text });
        }
    }

    /// Opens an ask before the agent starts.
    pub(super) fn ask_first(&mut self, body: Ask, reply: oneshot::Sender<HostAnswer>) {
        let ask = self.watched.next_ask();
        self.hosted.await_answer(ask.clone(), reply);
        self.asked(ask, body, EventScope::Main, None);
    }

    /// Whether the files have changed since they were last agreed to; then a person is asked first.
    pub(super) fn files_have_changed(&mut self) -> bool {
        let Some((known, settings)) = &self.watched.seen else { return false };
        let files: &[ProjectFile] = &self.profile.files;
        // A folder that is gone holds nothing that could be run.
        let now = Snapshot::of_folder(&self.spec.cwd, files).unwrap_or_else(|cause| {
            warn!(folder = %self.spec.cwd.display(), %cause, "folder of an agent could not be looked through");
            Snapshot::default()
        });
        if known.is_same(&now) {
            return false;
        }
        let body = files::ask(&known.changed(&now), *settings);
        let ask = self.watched.next_ask();
        self.watched.asking = Some((ask.clone(), now));
        self.asked(ask, body, EventScope::Main, None);
        true
    }

    /// Takes the answer, if the ask was about the files; `false` if it was not.
    pub(super) fn files_answered(&mut self, ask: &AskId, answer: &Answer) -> bool {
        let Some((_, now)) = self.watched.asking.take_if(|(asking, _)| asking == ask) else {
            return false;
        };
        let settings = self.watched.seen.as_ref().map_or(ProjectFilesMode::LeftOut, |(_, it)| *it);
        match (answer, settings) {
            (Answer::Allow { .. }, _) | (_, ProjectFilesMode::LeftOut) => {
                self.watched.seen = Some((now, settings));
                self.settle();
            }
            (_, ProjectFilesMode::Loaded) => {
                let message =
                    "files that the agent's program runs were changed, and nobody agreed to that";
                let error = ErrorInfo::new(ErrorClass::Policy, message)
                    .with_hint("look at the changes; a resumed run leaves the files out");
                self.begin_ending(Outcome::Failed, Some(error));
            }
        }
        true
    }
}
