//! What doors and performers hold of the pool: one method for each kind of message.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use musher_core::pool::{CommandReply, PoolInput, State, Team};
use musher_core::{Actor, AskId, CommandId, RunId};

use super::log_lines::CommandLine;
use super::round::{SaidWish, StateQuery, Wake};
use super::unsaid::UnsaidPrompts;
use super::{PoolError, RunName, Wish};

/// How long the pool may be behind what a person has read in a log.
const MAX_POOL_LAG: Duration = Duration::from_secs(2);

/// Why the loop broke, if it did.
pub(super) type PoolFailure = Arc<OnceLock<String>>;

/// The end of the loop, and why it came.
#[derive(Debug, Clone)]
pub(super) struct PoolEnd {
    /// The number of the last fact; its sender goes when the loop has ended.
    pub(super) facts: watch::Receiver<u64>,
    pub(super) broken: PoolFailure,
}

impl PoolEnd {
    /// Why nobody answers. An answer is dropped a moment before the loop has said why it ends.
    async fn why(&self) -> PoolError {
        let mut facts = self.facts.clone();
        while facts.changed().await.is_ok() {}
        match self.broken.get() {
            Some(why) => PoolError::Broken { why: why.clone() },
            None => PoolError::Closed,
        }
    }
}

/// Sends to the pool. Every method waits while too many inputs wait, and one that is dropped before it was sent was
/// never sent.
#[derive(Debug, Clone)]
pub struct PoolHandle {
    wake: mpsc::Sender<Wake>,
    end: PoolEnd,
    unsaid: watch::Receiver<UnsaidPrompts>,
}

/// The sender's own name for a request, so that sending it twice does it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    /// Tells whether it is the same request.
    pub request_hash: String,
}

/// A command was taken, and that is durable.
#[derive(Debug)]
pub enum AcceptedCommand {
    Final(CommandReply),
    /// It is on its way.
    Pending(PendingCommand),
}

/// Waits for the last word on a command. Who does not want to wait may drop it; the command goes its way.
#[derive(Debug)]
pub struct PendingCommand {
    pub command: CommandId,
    pub(super) last_word: oneshot::Receiver<Result<CommandReply, PoolError>>,
    pub(super) end: PoolEnd,
}

impl PendingCommand {
    /// The last word. To wait for a while only, put a time limit around it.
    pub async fn last_word(self) -> Result<CommandReply, PoolError> {
        match self.last_word.await {
            Ok(word) => word,
            Err(_) => Err(self.end.why().await),
        }
    }
}

impl PoolHandle {
    pub(super) fn new(
        wake: mpsc::Sender<Wake>,
        end: PoolEnd,
        unsaid: watch::Receiver<UnsaidPrompts>,
    ) -> Self {
        Self { wake, end, unsaid }
    }

    /// The prompts that are kept for a run until it has a runner, in the order in which they were said.
    pub fn unsaid(&self, run: RunId) -> Vec<CommandId> {
        self.unsaid.borrow().get(&run).cloned().unwrap_or_default()
    }

    /// Wishes something. The reply comes when what follows from it is durable.
    pub async fn command(
        &self,
        wish: Wish,
        id: CommandId,
        by: Actor,
        idempotency: Option<Idempotency>,
    ) -> Result<AcceptedCommand, PoolError> {
        let line = CommandLine::of(&wish, &id);
        let (answer, answered) = oneshot::channel();
        let said = SaidWish { id, by, wish, idempotency };
        let replied = match self.send(Wake::Wish { said, answer }).await {
            Ok(()) => match answered.await {
                Ok(result) => result,
                Err(_) => Err(self.end.why().await),
            },
            Err(error) => Err(error),
        };
        replied.inspect_err(|error| line.refused(error))
    }

    /// Waits a moment for an ask that its reader may know of before the pool does: both read the same log.
    pub async fn until_heard(&self, run: &RunName, ask: &AskId) {
        let mut facts = self.facts();
        let heard = async {
            loop {
                facts.borrow_and_update();
                let (run, ask) = (run.clone(), ask.clone());
                let unheard = self.inspect(move |state| {
                    let live = run.among(state).and_then(|run| state.runs.get(&run));
                    live.is_some_and(|run| !run.asks.contains_key(&ask))
                });
                if !unheard.await.unwrap_or(false) || facts.changed().await.is_err() {
                    return;
                }
            }
        };
        // Then it is one that nobody knows of, and the pool says so.
        let _unknown = tokio::time::timeout(MAX_POOL_LAG, heard).await;
    }

    /// Tells what happened in the world. When this returns it is in line, and not yet durable.
    pub async fn tell(&self, input: PoolInput) -> Result<(), PoolError> {
        self.send(Wake::World(input)).await
    }

    /// The team has changed; the queue is looked at again.
    pub async fn set_team(&self, team: Team) -> Result<(), PoolError> {
        self.send(Wake::Team(team)).await
    }

    /// Looks at the state, of which everything is durable. The loop stands still meanwhile, so take what you need and
    /// go.
    pub async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let (answer, answered) = oneshot::channel();
        let look = StateQuery(Box::new(move |state| {
            // Nobody need wait for the answer any more.
            let _left = answer.send(look(state));
        }));
        self.send(Wake::Look(look)).await?;
        match answered.await {
            Ok(seen) => Ok(seen),
            Err(_) => Err(self.end.why().await),
        }
    }

    /// The number of the last durable fact, and every later one. It ends with the loop.
    pub fn facts(&self) -> watch::Receiver<u64> {
        self.end.facts.clone()
    }

    /// Why the loop broke, if it did.
    pub fn broken(&self) -> Option<&str> {
        self.end.broken.get().map(String::as_str)
    }

    /// Ends the loop when everything that is in line before this is done.
    pub async fn close(&self) {
        // A loop that is gone is closed.
        let _closed = self.wake.send(Wake::Close).await;
    }

    async fn send(&self, wake: Wake) -> Result<(), PoolError> {
        match self.wake.send(wake).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end.why().await),
        }
    }
}
