//! Hands a command to whoever attends the run.

use super::Performer;
use musher_core::pool::{DeliveryKind, TextKey};
use musher_core::{Answer, CommandId, RunId};
use musher_log::wire::RunCommand;
use musher_os::fail;
use tracing::warn;

impl Performer {
    /// A command whose text nobody can read is not left on its way for ever.
    pub(super) fn deliver(&self, run: RunId, command: CommandId, kind: DeliveryKind) {
        fail::point("before_deliver");
        match self.with_text(&command, kind) {
            Ok(wish) => self.attendants.deliver(run, command, wish),
            Err(why) => {
                warn!(command.id = %command, cause = why, "command cannot be delivered");
                self.attendants.refuse(run, command, why);
            }
        }
    }

    fn with_text(&self, command: &CommandId, kind: DeliveryKind) -> Result<RunCommand, String> {
        let message = || self.written(&TextKey::Message(command.clone()));
        Ok(match kind {
            DeliveryKind::Prompt => RunCommand::Prompt { text: message()? },
            DeliveryKind::Steer => RunCommand::Steer { text: message()? },
            DeliveryKind::Answer { ask, who } => {
                RunCommand::Answer { ask, answer: self.answer(command)?, who }
            }
            DeliveryKind::TakeBack { prompt } => {
                RunCommand::TakeBack { prompt: prompt.as_str().into() }
            }
            DeliveryKind::Interrupt => RunCommand::Interrupt,
            DeliveryKind::Change { change } => RunCommand::Change { change },
            DeliveryKind::Stop => RunCommand::Stop,
            DeliveryKind::Kill => RunCommand::Kill,
        })
    }

    /// The answer that came with a command.
    pub(super) fn answer(&self, command: &CommandId) -> Result<Answer, String> {
        let text = self.written(&TextKey::Answer(command.clone()))?;
        serde_json::from_str(&text).map_err(|error| format!("it cannot be read: {error}"))
    }

    fn written(&self, key: &TextKey) -> Result<String, String> {
        match self.ground.text(key) {
            Ok(Some(text)) => Ok(text),
            Ok(None) => Err("its text was erased before it was delivered".to_owned()),
            Err(error) => Err(format!("its text cannot be read: {}", error.message)),
        }
    }
}
