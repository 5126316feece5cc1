//! The shape of a run: its turns, what is worth a look, and what took its time. It is kept, and read on when it is wanted again.

mod fold;
mod shape;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use musher_core::RunId;

use super::{Watch, WatchError};
use crate::runner::RunLogs;
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

fn read_on(made: Option<Made>, logs: &RunLogs, run: RunId) -> Result<Made, LogError> {
    let fresh = || {
        let spec = logs.spec(run).ok();
        Fold::new(
            spec.and_then(|spec| spec.resume).map(|resume| resume.lineage).unwrap_or_default(),
        )
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
    /// The shape of a run as it is now; a run that has no log has an empty one.
    pub(crate) async fn outline(&self, run: RunId) -> Result<Outline, WatchError> {
        let (made, logs) = (self.outlines.of(run), self.bus.logs().clone());
        let outline = self.blocking(move || {
            // Whoever comes meanwhile waits and finds it made.
            let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
            match read_on(made.take(), &logs, run) {
                Ok(read) => Ok(made.insert(read).fold.outline()),
                Err(LogError::Missing { .. }) => Ok(Outline::default()),
                Err(error) => Err(error),
            }
        });
        Ok(outline.await??)
    }
}
