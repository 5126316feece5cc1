//! Commands on their way to one runner. They outlive whoever attends it, so that none is lost with one that breaks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use musher_core::CommandId;
use tokio::sync::Notify;

use musher_log::wire::RunCommand;

/// A command for a runner, under the name by which it is done once.
pub(super) type RunnerCommand = (CommandId, RunCommand);

/// Where commands for a run are put. Each is durable in the pool, which bounds them.
#[derive(Debug, Clone, Default)]
pub(super) struct Mailbox {
    orders: Arc<Mutex<Orders>>,
    posted: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Orders {
    /// Those that the attendant has not taken yet.
    new: Vec<RunnerCommand>,
    /// Those that the runner has not replied to. A new connection gets them again; the runner does each once.
    waiting: Vec<RunnerCommand>,
}

impl Mailbox {
    pub(super) fn post(&self, order: RunnerCommand) {
        self.orders().new.push(order);
        self.posted.notify_one();
    }

    /// Waits until something is posted.
    pub(super) async fn posted(&self) {
        self.posted.notified().await;
    }

    /// What is new. It waits for a reply from now on.
    pub(super) fn take(&self) -> Vec<RunnerCommand> {
        let mut orders = self.orders();
        let mut taken = Vec::new();
        for (id, command) in std::mem::take(&mut orders.new) {
            if !orders.waiting.iter().any(|(known, _)| *known == id) {
                orders.waiting.push((id.clone(), command.clone()));
                taken.push((id, command));
            }
        }
        taken
    }

    /// What the runner has not replied to.
    pub(super) fn waiting(&self) -> Vec<RunnerCommand> {
        self.orders().waiting.clone()
    }

    /// The last word on a command was said; whether anybody waited for it.
    pub(super) fn replied(&self, id: &CommandId) -> bool {
        let mut orders = self.orders();
        let before = orders.waiting.len();
        orders.waiting.retain(|(waiting, _)| waiting != id);
        orders.waiting.len() < before
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
