//! The shape of a run: its turns, what is worth a look, and what took its time. It is kept, and read on when it is wanted again.

mod fold;
mod shape;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use musher_client::api::ApiNetwork;
use musher_core::{Lineage, RunId};

use super::{Watch, WatchError};
use crate::runner::RunLogs;
use crate::runner::spec::RunSpec;
use fold::Fold;
use musher_log::{Cursor, LogError, LogRead, lines};
pub(crate) use shape::Outline;

/// Runs whose outline is kept, so that the next look reads only what is new.
const KEPT: usize = 16;
/// How many bytes are read at once.
const PIECE: usize = 256 * 1024;

/// The outlines that were made last.
#[derive(Debug, Default)]
pub(crate) struct Outlines(Mutex<VecDeque<(RunId, Shared)>>);

/// An outline that whoever wants it reads on; none before the first look.
type Shared = Arc<Mutex<Option<Made>>>;

/// An outline, and how far it goes.
#[derive(Debug)]
struct Made {
    to: Cursor,
    fold: Fold,
}

impl Outlines {
    fn of(&self, run: RunId) -> Shared {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(known, _)| *known == run);
        let entry = known.and_then(|at| kept.remove(at));
        let (run, made) = entry.unwrap_or_else(|| (run, Shared::default()));
        kept.push_back((run, Arc::clone(&made)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        made
    }
}

fn read_on(
    made: Option<Made>,
    logs: &RunLogs,
    run: RunId,
    spec: Option<&RunSpec>,
) -> Result<Made, LogError> {
    let fresh = || {
        let resume = spec.and_then(|spec| spec.resume.as_ref());
        Fold::new(resume.map(|resume| resume.lineage.clone()).unwrap_or_default())
    };
    let (mut fold, after) = match made {
        Some(made) => (made.fold, Some(made.to)),
        None => (fresh(), None),
    };
    let mut reader = logs.open(run, after)?.past_damage();
    let mut piece = Vec::new();
    loop {
        piece.clear();
        match reader.read(&mut piece, PIECE)? {
            LogRead::Lines(batch) => lines(&piece[batch.lines]).for_each(|line| fold.take(line)),
            // What was read is gone, so nothing of it can be relied on.
            LogRead::Reset { .. } => {
                reader = reader.beside(None)?;
                fold = fresh();
            }
            LogRead::End => return Ok(Made { to: reader.cursor(), fold }),
        }
    }
}

impl Watch {
    /// What passed between the agent of a run and the hosts that it spoke to.
    pub(crate) async fn network(&self, run: RunId) -> Result<ApiNetwork, WatchError> {
        self.made(run, |fold, spec| fold.network.network(spec)).await
    }

    /// The shape of a run as it is now; a run that has no log has an empty one.
    pub(crate) async fn outline(&self, run: RunId) -> Result<Outline, WatchError> {
        self.made(run, |fold, _| fold.outline()).await
    }

    /// Reads the log of a run on to its end, and tells what is wanted of it.
    async fn made<T: Send + 'static>(
        &self,
        run: RunId,
        look: impl FnOnce(&Fold, Option<&RunSpec>) -> T + Send + 'static,
    ) -> Result<T, WatchError> {
        let (made, logs) = (self.outlines.of(run), self.bus.logs().clone());
        let looked = self.blocking(move || {
            let spec = logs.spec(run).ok();
            // Whoever comes meanwhile waits and finds it made.
            let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
            match read_on(made.take(), &logs, run, spec.as_ref()) {
                Ok(read) => Ok(look(&made.insert(read).fold, spec.as_ref())),
                Err(LogError::Missing { .. }) => {
                    Ok(look(&Fold::new(Lineage::default()), spec.as_ref()))
                }
                Err(error) => Err(error),
            }
        });
        Ok(looked.await??)
    }
}
