//! How much memory the agents of runs hold, looked at once for everybody who asks at about the same time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use musher_core::RunId;
use musher_runtime::TreeOf;

use super::{ReadModels, Watch, WatchError};
use crate::runner::spec::RunSpec;

/// How long what was found counts.
const MEMORY_CACHE_MAX_AGE: Duration = Duration::from_secs(2);

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Option<Found>>);

#[derive(Debug)]
struct Found {
    at: Instant,
    runs: Vec<RunId>,
    bytes: HashMap<RunId, u64>,
}

impl Watch {
    /// The bytes that the agents of some runs hold; runs without a process are left out.
    pub(crate) async fn memory(&self, runs: Vec<RunId>) -> Result<HashMap<RunId, u64>, WatchError> {
        if runs.is_empty() {
            return Ok(HashMap::new());
        }
        let watch = self.clone();
        // Whoever comes meanwhile waits and finds it done.
        self.blocking(move || {
            let mut last = watch.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = last.as_ref()
                && found.at.elapsed() < MEMORY_CACHE_MAX_AGE
                && found.runs == runs
            {
                return found.bytes.clone();
            }
            let bytes = look(&watch, &runs);
            *last = Some(Found { at: Instant::now(), runs, bytes: bytes.clone() });
            bytes
        })
        .await
    }
}

fn look(watch: &ReadModels, runs: &[RunId]) -> HashMap<RunId, u64> {
    let spec = |run: &RunId| Some((*run, watch.bus.logs().spec(*run).ok()?));
    let specs: Vec<(RunId, RunSpec)> = runs.iter().filter_map(spec).collect();
    if specs.is_empty() {
        return HashMap::new();
    }
    let tree = |(_, spec): &(RunId, RunSpec)| (spec.mark.clone(), spec.group.clone());
    let trees: Vec<_> = specs.iter().map(tree).collect();
    let trees: Vec<TreeOf<'_>> =
        trees.iter().map(|(mark, group)| TreeOf { mark, group: group.as_deref() }).collect();
    let found = specs.iter().zip(musher_runtime::memory(&trees));
    found.filter_map(|((run, _), bytes)| Some((*run, bytes?))).collect()
}
