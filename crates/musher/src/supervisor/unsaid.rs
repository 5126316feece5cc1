//! What a lost run was told and never began, for the run that takes its place.

use musher_core::pool::TextKey;
use musher_core::{CommandId, ErrorInfo, PromptId, RunKind};

use super::SupervisorContext;
use crate::runner::spec::{RunSpec, SpecPrompt};
use musher_log::{LogError, OpenEnds, open_ends};

/// What nobody knows an agent to have heard.
#[derive(Debug, Default)]
pub(super) struct UnheardPrompts {
    /// The words that the lost run was to begin with, and those for an agent that has forgotten everything.
    pub(super) opening: Option<(String, String)>,
    /// Prompts that were acknowledged and waited.
    pub(super) pending: Vec<SpecPrompt>,
}

impl SupervisorContext {
    /// What is still to be said in a run of this kind. A prompt that began is in the session, and is not said again.
    pub(super) fn unsaid(&self, kind: &RunKind) -> Result<UnheardPrompts, ErrorInfo> {
        let RunKind::Restart { of, .. } = kind else { return Ok(UnheardPrompts::default()) };
        let folder = self.home.run(*of);
        let Ok(spec) = RunSpec::read(&folder) else { return Ok(UnheardPrompts::default()) };
        let ends = match open_ends(&folder, Default::default()) {
            Ok(ends) => ends,
            // Its runner died before its first word.
            Err(LogError::Missing { .. }) => OpenEnds::default(),
            // Nobody can tell what began, and to say a thing twice is worse than to have it asked for again.
            Err(_) => return Ok(UnheardPrompts::default()),
        };
        let whole = spec.resume.and_then(|resume| resume.fresh_prompt);
        let opening = (ends.turns == 0).then(|| {
            let whole = whole.unwrap_or_else(|| spec.prompt.clone());
            (spec.prompt, whole)
        });
        let mut ids: Vec<PromptId> = Vec::new();
        // What waited from its start may not have come as far as its log.
        let known = spec.pending.into_iter().filter(|prompt| !prompt.offered);
        let inherited = known.map(|prompt| prompt.id);
        for id in inherited.filter(|id| !ends.begun.contains(id)).chain(ends.unbegun) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let mut pending = Vec::new();
        for id in ids {
            if let Some(text) = self.message(&id)? {
                pending.push(SpecPrompt { id, text, offered: false });
            }
        }
        Ok(UnheardPrompts { opening, pending })
    }

    /// Prompts that were given to a run before it began. One whose text was erased is refused when it is handed over.
    pub(super) fn offered(&self, prompts: &[CommandId]) -> Result<Vec<SpecPrompt>, ErrorInfo> {
        let mut pending = Vec::new();
        for command in prompts {
            if let Some(text) = self.text(&TextKey::Message(command.clone()))? {
                pending.push(SpecPrompt { id: command.as_str().into(), text, offered: true });
            }
        }
        Ok(pending)
    }

    /// What a person said under this name: the log has it cut and masked, the journal has it as it was. What a run
    /// began with is not among it.
    fn message(&self, prompt: &PromptId) -> Result<Option<String>, ErrorInfo> {
        match CommandId::parse(prompt.as_str()) {
            Ok(command) => self.text(&TextKey::Message(command)),
            Err(_) => Ok(None),
        }
    }
}
