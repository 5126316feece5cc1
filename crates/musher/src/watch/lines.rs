//! How many lines runs have changed, counted in the background, one run at a time.
//!
//! Counting takes a few calls of git. A live run is counted again at most every ten seconds, while something happens in
//! it and somebody looks; a run that is over is counted once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_client::api::ApiLineCount;
use musher_core::RunId;
use tokio::time::Instant;

use super::Watch;
use super::changes;
use crate::journal::RunView;

/// A live run is not counted more often than this.
const LIVE_RECOUNT_INTERVAL: Duration = Duration::from_secs(10);
/// Runs that are over and remembered; the least useful are forgotten together.
const REMEMBERED: usize = 20_000;
/// Runs that may wait to be counted. Of more, those that were asked for first are forgotten: they are out of sight.
const WAITING: usize = 2_000;

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct LineCounts(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    live: HashMap<RunId, Live>,
    /// `None` for those that cannot be counted, as when the branch is gone.
    over: HashMap<RunId, Option<ApiLineCount>>,
    waiting: VecDeque<RunId>,
    is_waiting: HashSet<RunId>,
    /// Somebody counts.
    counting: bool,
}

#[derive(Debug, Clone, Copy)]
struct Live {
    lines: Option<ApiLineCount>,
    counted_at: Instant,
}

impl LineCounts {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a run that is not over has changed, when it was counted last.
    pub(crate) fn live(&self, run: RunId) -> Option<ApiLineCount> {
        self.counted().live.get(&run)?.lines
    }

    /// The next run to count; none if there is none, and then nobody counts.
    fn next(&self) -> Option<RunId> {
        let mut counted = self.counted();
        let next = counted.waiting.pop_back();
        match next {
            Some(run) => drop(counted.is_waiting.remove(&run)),
            None => counted.counting = false,
        }
        next
    }

    fn keep(&self, run: RunId, is_over: bool, lines: Option<ApiLineCount>) {
        let mut counted = self.counted();
        match is_over {
            true => {
                counted.live.remove(&run);
                if counted.over.len() >= REMEMBERED {
                    counted.over.clear();
                }
                counted.over.insert(run, lines);
            }
            false => {
                if counted.live.len() >= REMEMBERED {
                    counted.live.clear();
                }
                counted.live.insert(run, Live { lines, counted_at: Instant::now() });
            }
        }
    }
}

impl Watch {
    /// What a run has changed, as far as it is known; if it is over and was not counted, it will be.
    pub(crate) fn lines(&self, run: RunId, is_over: bool) -> Option<ApiLineCount> {
        if !is_over {
            return self.lines.live(run);
        }
        let known = self.lines.counted().over.get(&run).copied();
        known.unwrap_or_else(|| {
            self.count(run);
            // What was counted while it was live is near enough until then.
            self.lines.live(run)
        })
    }

    /// Wants a live run to be counted; `false` if that was done a moment ago.
    pub(crate) fn want_live_lines(&self, run: RunId) -> bool {
        let known = self.lines.counted().live.get(&run).copied();
        let is_due = known.is_none_or(|live| live.counted_at.elapsed() >= LIVE_RECOUNT_INTERVAL);
        if is_due {
            self.count(run);
        }
        is_due
    }

    fn count(&self, run: RunId) {
        let mut counted = self.lines.counted();
        if !counted.is_waiting.insert(run) {
            return;
        }
        counted.waiting.push_back(run);
        if counted.waiting.len() > WAITING
            && let Some(forgotten) = counted.waiting.pop_front()
        {
            counted.is_waiting.remove(&forgotten);
        }
        if !std::mem::replace(&mut counted.counting, true) {
            let (watch, closing) = (self.clone(), self.closing.clone());
            self.tasks.spawn(async move {
                tokio::select! {
                    () = watch.count_all() => {}
                    () = closing.cancelled() => {}
                }
            });
        }
    }

    async fn count_all(&self) {
        while let Some(run) = self.lines.next() {
            let began = Instant::now();
            let Ok(Some(view)) = self.view(move |views| views.run(run)).await else { continue };
            let is_over = view.phase.is_over();
            let lines = changes::count(self, &view).await.inspect_err(|problem| {
                tracing::debug!(run.id = %run, cause = %problem, "changed lines are not counted");
            });
            let lines = lines.ok();
            self.lines.keep(run, is_over, lines);
            if let (true, Some(lines)) = (is_over, lines) {
                self.activities.counted(run, view.ended_at.unwrap_or_default(), lines);
            }
            // Others want the machine too.
            tokio::time::sleep(began.elapsed()).await;
        }
    }
}

/// Whether a run can have changed anything.
pub(crate) fn has_begun(run: &RunView) -> bool {
    run.branch.is_some() && run.head.is_some()
}
