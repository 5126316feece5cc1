//! What live runs are at this moment, in one line each, for as long as a feed is open.
//!
//! Nothing of this is kept: one task looks at the logs that have grown, once a second, and ends when nobody listens.

mod probe;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use musher_client::api::{ApiConflict, ApiLineCount};
use musher_core::{RunId, RunPhase, SlotId, StoryId};
use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::Watch;
use super::WatchError;
use super::frames;
use probe::ActivityProbe;

/// How often the logs are looked at, and so how often a run is spoken of at most.
const ACTIVITY_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Looks that a slow feed may be behind; it is told everything anew then.
const BEHIND: usize = 16;
/// How long a feed that begins waits for the first look.
const FIRST_PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The last action of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LastAction {
    pub(crate) run: RunId,
    /// Unix milliseconds.
    pub(crate) at: i64,
    /// One line; empty if only the lines were counted.
    pub(crate) text: String,
    pub(crate) lines: Option<ApiLineCount>,
}

/// What a feed says of an activity.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Headline<'a> {
    Activity(&'a LastAction),
    /// A field of a story, told alone: the story as it is now may be told at the same moment.
    Merge {
        story: &'a StoryId,
        conflict: Option<&'a ApiConflict>,
    },
}

impl LastAction {
    fn frame(&self, out: &mut Vec<u8>) {
        let json = serde_json::to_vec(&Headline::Activity(self)).unwrap_or_default();
        frames::named(out, "headline", &json);
    }
}

/// What was seen last, and those who listen.
#[derive(Debug)]
pub(crate) struct Activities {
    seen: Mutex<Seen>,
    frames: broadcast::Sender<Bytes>,
    /// How often the logs were looked at since somebody listens.
    looks: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    watched: bool,
    runs: HashMap<RunId, LastAction>,
}

impl Default for Activities {
    fn default() -> Self {
        let (frames, looks) = (broadcast::channel(BEHIND).0, watch::channel(0).0);
        Self { seen: Mutex::default(), frames, looks }
    }
}

impl Seen {
    fn frames(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut runs: Vec<&LastAction> = self.runs.values().collect();
        runs.sort_by_key(|activity| activity.run);
        runs.iter().for_each(|activity| activity.frame(&mut out));
        out
    }
}

impl Activities {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was seen last, framed.
    pub(crate) fn all(&self) -> Vec<u8> {
        self.seen().frames()
    }

    /// Tells what a run that is over has changed.
    pub(crate) fn counted(&self, run: RunId, at: i64, lines: ApiLineCount) {
        let mut out = Vec::new();
        LastAction { run, at, text: String::new(), lines: Some(lines) }.frame(&mut out);
        let _nobody = self.frames.send(out.into());
    }

    /// Tells whether the finished work of a story would merge.
    pub(crate) fn mergeable(&self, story: &StoryId, conflict: Option<&ApiConflict>) {
        let mut out = Vec::new();
        let json = serde_json::to_vec(&Headline::Merge { story, conflict }).unwrap_or_default();
        frames::named(&mut out, "headline", &json);
        let _nobody = self.frames.send(out.into());
    }

    /// Whether nobody listens any more; then the watch is over.
    fn is_left(&self) -> bool {
        let mut seen = self.seen();
        if self.frames.receiver_count() > 0 {
            return false;
        }
        *seen = Seen::default();
        self.looks.send_replace(0);
        true
    }
}

impl Watch {
    /// Listens, and sees to it that somebody looks.
    pub(crate) fn activity(&self) -> broadcast::Receiver<Bytes> {
        let mut seen = self.activities.seen();
        let listener = self.activities.frames.subscribe();
        if !std::mem::replace(&mut seen.watched, true) {
            let (watch, closing) = (self.clone(), self.closing.clone());
            self.tasks.spawn(async move {
                tokio::select! {
                    () = watch_runs(&watch) => {}
                    () = watch.watch_base() => {}
                    () = closing.cancelled() => {}
                }
            });
        }
        listener
    }

    /// What every live run is at, framed, for a feed that begins; its listener then hears only what is newer.
    pub(crate) async fn activities(&self, listener: &mut broadcast::Receiver<Bytes>) -> Vec<u8> {
        let mut looks = self.activities.looks.subscribe();
        // What is not seen by then comes later.
        let _late =
            tokio::time::timeout(FIRST_PROBE_TIMEOUT, looks.wait_for(|looks| *looks > 0)).await;
        let seen = self.activities.seen();
        *listener = self.activities.frames.subscribe();
        seen.frames()
    }
}

async fn watch_runs(watch: &Watch) {
    let mut eyes: HashMap<RunId, ActivityProbe> = HashMap::new();
    let mut ticks = interval(ACTIVITY_POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if watch.activities.is_left() {
            return;
        }
        // What failed once is looked at anew.
        eyes = look(watch, eyes).await.unwrap_or_default();
        watch.activities.looks.send_modify(|looks| *looks += 1);
    }
}

/// Looks once at all live runs, and tells what is new.
async fn look(
    watch: &Watch,
    mut eyes: HashMap<RunId, ActivityProbe>,
) -> Result<HashMap<RunId, ActivityProbe>, WatchError> {
    let live = watch.pool.inspect(|state| {
        let slot = |phase: &RunPhase| match phase {
            RunPhase::Live { slot } | RunPhase::Closing { slot } => Some(*slot),
            RunPhase::Queued
            | RunPhase::Preparing { .. }
            | RunPhase::Starting { .. }
            | RunPhase::Finishing { .. } => None,
        };
        let runs = state.runs.iter().filter_map(|(id, run)| Some((*id, slot(&run.phase)?)));
        runs.collect::<HashMap<RunId, SlotId>>()
    });
    let live = live.await?;
    eyes.retain(|run, _| live.contains_key(run));
    for (run, slot) in live {
        eyes.entry(run).or_insert_with(|| ActivityProbe::new(watch, run, slot));
    }
    let eyes = watch.blocking(move || {
        eyes.values_mut().for_each(ActivityProbe::look);
        eyes
    });
    let mut eyes = eyes.await?;
    let mut out = Vec::new();
    let mut seen = watch.activities.seen();
    seen.runs.retain(|run, _| eyes.contains_key(run));
    for (run, eye) in &mut eyes {
        let lines = watch.lines.live(*run);
        // What cannot be counted yet is counted later, even if nothing more happens.
        eye.news = eye.news && !watch.want_live_lines(*run);
        let Some((at, text)) = &eye.last else { continue };
        let now = LastAction { run: *run, at: *at, text: text.clone(), lines };
        if seen.runs.get(run) != Some(&now) {
            now.frame(&mut out);
            seen.runs.insert(*run, now);
        }
    }
    // Told before anybody else can look, so that a feed that begins hears it once.
    if !out.is_empty() {
        let _nobody = watch.activities.frames.send(out.into());
    }
    Ok(eyes)
}
