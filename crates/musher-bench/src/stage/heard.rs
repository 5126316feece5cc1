//! How late what agents say is heard, in microseconds.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use tokio::sync::Notify;

use super::alone::monotonic;
use crate::measure::sorted;
use crate::slow::Slow;
use crate::stand_in::tick::told;

/// Nothing takes longer to be heard.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was heard since the last look.
#[derive(Debug)]
pub struct Heard {
    delays: Mutex<Vec<f64>>,
    more: Notify,
    slow: Slow,
}

impl Heard {
    pub fn new(slow: Slow) -> Self {
        Self { delays: Mutex::default(), more: Notify::new(), slow }
    }

    /// Takes in a line; one that tells no time is passed over.
    pub fn line(&self, line: &[u8]) {
        let Some(told) = told(line) else { return };
        // To hold the reader up would hold up every line behind this one, and those behind them ever more.
        let took = Duration::from_nanos(monotonic().saturating_sub(told));
        let took = took.mul_f64(self.slow.factor());
        self.delays().push(took.as_secs_f64() * 1e6);
        self.more.notify_one();
    }

    /// Waits until so many lines were heard, and gives their delays, least first.
    pub async fn wait(&self, lines: usize) -> anyhow::Result<Vec<f64>> {
        let waiting = async {
            while self.delays().len() < lines {
                self.more.notified().await;
            }
        };
        let heard = tokio::time::timeout(PATIENCE, waiting).await;
        let delays = std::mem::take(&mut *self.delays());
        ensure!(heard.is_ok(), "only {} of {lines} lines were heard", delays.len());
        Ok(sorted(delays))
    }

    fn delays(&self) -> std::sync::MutexGuard<'_, Vec<f64>> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
