//! Sees to it that a runner which is told to end does so, and that none sleeps: an agent can stop the runner above it.

use std::path::PathBuf;
use std::time::Duration;

use musher_core::CommandId;
use musher_runtime::OtherProcess;
use tokio::time::Instant;

use crate::runner::force::{self, EndDeadlines};
use musher_log::wire::RunCommand;

/// How often a runner is looked at that was told to end, and any other one.
const ENDING_RUNNER_POLL_INTERVAL: Duration = Duration::from_secs(1);
const RUNNER_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// A runner that is found stopped so often in a row is stopped by somebody who does not leave off.
const MAX_STOPPED_SIGHTINGS: u32 = 6;

/// What is known of one runner beside what it says.
#[derive(Debug)]
pub(super) struct Insistence {
    folder: PathBuf,
    ending: Option<Ending>,
    /// The process that last greeted us. It may have lied, so it is looked at and never signalled.
    pub(super) greeted: Option<u32>,
    /// It waits for room on its disk, and is spared until then: what it has not written would be lost.
    pub(super) paused: bool,
    /// How often in a row it was found stopped.
    stopped: u32,
    pub(super) look_at: Instant,
}

/// The end that a runner was told.
#[derive(Debug)]
struct Ending {
    command: CommandId,
    bounds: EndDeadlines,
    since: Instant,
    answered: bool,
}

impl Insistence {
    pub(super) fn on(folder: PathBuf) -> Self {
        let look_at = Instant::now() + RUNNER_POLL_INTERVAL;
        Self { folder, ending: None, greeted: None, paused: false, stopped: 0, look_at }
    }

    /// A command is on its way; one that ends the run is followed up.
    pub(super) fn posted(&mut self, id: &CommandId, command: &RunCommand) {
        let Some(bounds) = EndDeadlines::of(command) else { return };
        let now = Instant::now();
        let sooner = |ending: &Ending| ending.since + ending.bounds.gone <= now + bounds.gone;
        if self.ending.as_ref().is_some_and(sooner) {
            return;
        }
        self.ending = Some(Ending { command: id.clone(), bounds, since: now, answered: false });
        self.look_at = self.look_at.min(now + ENDING_RUNNER_POLL_INTERVAL);
    }

    pub(super) fn answered(&mut self, id: &CommandId) {
        if let Some(ending) = self.ending.as_mut().filter(|ending| ending.command == *id) {
            ending.answered = true;
        }
    }

    /// Looks at the runner: one that sleeps is woken, and one that does not end is killed. Gives what to tell people.
    pub(super) async fn look(&mut self) -> Option<String> {
        let now = Instant::now();
        let overdue = self.ending.as_ref().and_then(|ending| ending.overdue(now, self.paused));
        self.look_at = now
            + if self.ending.is_some() {
                ENDING_RUNNER_POLL_INTERVAL
            } else {
                RUNNER_POLL_INTERVAL
            };
        if let Some(why) = overdue {
            return self.kill(why).await;
        }
        if !self.may_sleep() {
            self.stopped = 0;
            return None;
        }
        let folder = self.folder.clone();
        let woken = tokio::task::spawn_blocking(move || force::wake(&folder)).await;
        if !woken.unwrap_or(false) {
            self.stopped = 0;
            return None;
        }
        self.stopped += 1;
        if self.stopped < MAX_STOPPED_SIGHTINGS || self.ending.is_some() {
            return Some("its runner was stopped by a signal, and was woken".to_owned());
        }
        self.kill("it was stopped by a signal again and again, so it was killed".to_owned()).await
    }

    /// Whether it is worth a closer look. Most runners are awake, and one file tells it.
    fn may_sleep(&self) -> bool {
        let pid = self.greeted.and_then(|pid| i32::try_from(pid).ok());
        match pid.and_then(OtherProcess::of) {
            Some(runner) => runner.is_stopped(),
            None => true,
        }
    }

    async fn kill(&mut self, why: String) -> Option<String> {
        let folder = self.folder.clone();
        self.stopped = 0;
        let killed = tokio::task::spawn_blocking(move || force::kill(&folder, &why)).await;
        match killed {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("its runner cannot be killed: {error}")),
            Err(error) => Some(format!("its runner could not be killed: {error}")),
        }
    }
}

impl Ending {
    /// Why the runner is no longer waited for, if it is not.
    fn overdue(&self, now: Instant, paused: bool) -> Option<String> {
        let Self { bounds: EndDeadlines { answer, gone }, since, answered, .. } = self;
        let waited = now.saturating_duration_since(*since);
        if !answered && waited >= *answer {
            let seconds = answer.as_secs();
            return Some(format!("it did not answer a stop for {seconds} s, so it was killed"));
        }
        (waited >= *gone && !paused)
            .then(|| format!("it did not stop within {} s, so it was killed", gone.as_secs()))
    }
}
