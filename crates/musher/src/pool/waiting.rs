//! Those who wait for the last word on a command.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use musher_core::CommandId;
use musher_core::pool::CommandReply;

use super::PoolError;

pub(super) type Waiter = oneshot::Sender<Result<CommandReply, PoolError>>;

/// Who waits for what. One command may have been sent several times.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_command: BTreeMap<CommandId, Vec<Waiter>>,
}

impl Waiting {
    /// Somebody waits for the last word on a command.
    pub(super) fn add(
        &mut self,
        command: &CommandId,
    ) -> oneshot::Receiver<Result<CommandReply, PoolError>> {
        let (waiter, last_word) = oneshot::channel();
        let waiters = self.by_command.entry(command.clone()).or_default();
        // Those who left make room, so that asking again and again costs nothing.
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(waiter);
        last_word
    }

    /// Those who waited for the last word on a command, which is spoken now.
    pub(super) fn take(&mut self, command: &CommandId) -> Vec<Waiter> {
        self.by_command.remove(command).unwrap_or_default()
    }
}
