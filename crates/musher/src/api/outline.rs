//! `GET /runs/{run}/outline`: the shape of a run: its turns, what is worth a look, and what took its time.

mod fold;
mod shape;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use musher_core::RunId;

use super::Api;
use super::problem::ProblemReply;
use super::request::OfRun;
use crate::runner::spec::RunSpec;
use fold::Fold;
use musher_log::{Cursor, LogError, LogRead, LogReader, lines};
use shape::Outline;

/// Runs whose outline is kept, so that the next look reads only what is new.
const KEPT: usize = 16;
/// How many bytes are read at once.
const PIECE: usize = 256 * 1024;

/// The outlines that were made last.
#[derive(Debug, Default)]
pub(super) struct Outlines(Mutex<VecDeque<(RunId, Shared)>>);

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

#[utoipa::path(
    get,
    path = "/runs/{run}/outline",
    tag = "runs",
    operation_id = "outline",
    summary = "The shape of a run: its turns, what is worth a look, and what took its time",
    params(OfRun),
    responses((status = 200, body = Outline), ProblemReply)
)]
pub(super) async fn outline(
    State(api): State<Api>,
    OfRun(run): OfRun,
) -> Result<Json<Outline>, ProblemReply> {
    let run = api.run(&run).await?.id;
    let (made, folder) = (api.outlines.of(run), api.bus.folder(run));
    let outline = api.blocking(move || {
        // Whoever comes meanwhile waits and finds it made.
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        match read_on(made.take(), &folder) {
            Ok(read) => Ok(made.insert(read).fold.outline()),
            // A run that has no log has an empty one.
            Err(LogError::Missing { .. }) => Ok(Outline::default()),
            Err(error) => Err(error),
        }
    });
    Ok(Json(outline.await?.map_err(|error| ProblemReply::from(&error))?))
}

fn read_on(made: Option<Made>, folder: &Path) -> Result<Made, LogError> {
    let fresh = || {
        let spec = RunSpec::read(folder).ok();
        Fold::new(
            spec.and_then(|spec| spec.resume).map(|resume| resume.lineage).unwrap_or_default(),
        )
    };
    let (mut fold, after) = match made {
        Some(made) => (made.fold, Some(made.to)),
        None => (fresh(), None),
    };
    let mut reader = LogReader::open(folder, after)?.past_damage();
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
