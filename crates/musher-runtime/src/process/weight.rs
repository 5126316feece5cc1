//! What is under way between an agent and its host, counted in bytes: long lines fill a queue sooner than short ones.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much may be under way in one session. One line may be longer; then it goes alone.
const BYTES: usize = 4 * 1024 * 1024;
const UNIT: usize = 1024;

/// The room there is for what is under way.
#[derive(Debug, Clone)]
pub(crate) struct Weights(Arc<Semaphore>);

/// A part of that room, given back when it is dropped.
pub type Weight = OwnedSemaphorePermit;

impl Default for Weights {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BYTES / UNIT)))
    }
}

impl Weights {
    /// Waits for room for this many bytes; `None` if there will never be any.
    pub(crate) async fn room_for(&self, bytes: usize) -> Option<Weight> {
        let units = u32::try_from(units(bytes)).unwrap_or(u32::MAX);
        self.0.clone().acquire_many_owned(units).await.ok()
    }
}

/// How much room so many bytes take.
pub(super) fn units(bytes: usize) -> usize {
    (bytes / UNIT + 1).min(BYTES / UNIT)
}
