//! Hands a command to whoever attends its run.

use super::Performer;
use musher_core::pool::{DeliveryKind, TextKey};
use musher_core::{Answer, CommandId, RunId};
use musher_log::wire::RunCommand;
use musher_os::fail;
use tracing::warn;

impl Performer {
    /// Puts a command with its text into the mailbox of its run. One whose text nobody can read is not left on its way for
    /// ever.
    pub(super) fn deliver(&self, run: RunId, command: CommandId, kind: DeliveryKind) {
        fail::point("before_deliver");
        let message = || self.written(&TextKey::Message(command.clone()));
        let wish = match kind {
            DeliveryKind::Prompt => message().map(|text| RunCommand::Prompt { text }),
            DeliveryKind::Steer => message().map(|text| RunCommand::Steer { text }),
            DeliveryKind::Answer { ask, who } => {
                self.answer(&command).map(|answer| RunCommand::Answer { ask, answer, who })
            }
            DeliveryKind::TakeBack { prompt } => {
                Ok(RunCommand::TakeBack { prompt: prompt.as_str().into() })
            }
            DeliveryKind::Interrupt => Ok(RunCommand::Interrupt),
            DeliveryKind::Change { change } => Ok(RunCommand::Change { change }),
            DeliveryKind::Stop => Ok(RunCommand::Stop),
            DeliveryKind::Kill => Ok(RunCommand::Kill),
        };
        match (wish, self.attendants.mailbox(run)) {
            (Ok(wish), Some(mailbox)) => mailbox.post((command, wish)),
            // A run that is not attended gets it when it is, by what the pool owes.
            (Ok(_), None) => {}
            (Err(why), _) => {
                warn!(command.id = %command, cause = why, "command cannot be delivered");
                self.attendants.refuse(run, command, why);
            }
        }
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
