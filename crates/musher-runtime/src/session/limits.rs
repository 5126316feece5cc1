//! The clocks that end a run which does not end by itself.

use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo, HintCode};
use tokio::time::Instant;

use super::RunLimits;

/// Silence and the wall clock.
#[derive(Debug)]
pub(super) struct Clocks {
    inactivity: Option<Duration>,
    wall_clock: Option<Duration>,
    started: Instant,
    heard: Instant,
    /// Silence is expected until then.
    excused: Instant,
}

impl Clocks {
    pub(super) fn new(limits: &RunLimits) -> Self {
        let now = Instant::now();
        Self {
            inactivity: limits.inactivity,
            wall_clock: limits.wall_clock,
            started: now,
            heard: now,
            excused: now,
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The agent gave a sign of life.
    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// The agent has said that it will be silent for this long.
    pub(super) fn excuse(&mut self, silence: Duration) {
        let until = Instant::now().checked_add(silence);
        self.excused = self.excused.max(until.unwrap_or(self.excused));
    }

    /// When it will have been silent for this long.
    pub(super) fn silent_for(&self, time: Duration) -> Option<Instant> {
        self.heard.checked_add(time)
    }

    fn silent_until(&self) -> Option<Instant> {
        // A time beyond all time is no limit.
        self.inactivity.and_then(|limit| self.heard.max(self.excused).checked_add(limit))
    }

    fn wall_until(&self) -> Option<Instant> {
        self.wall_clock.and_then(|limit| self.started.checked_add(limit))
    }

    /// When to look again. Silence counts only while the agent is expected to speak.
    pub(super) fn next(&self, expected_to_speak: bool) -> Option<Instant> {
        let silence = self.silent_until().filter(|_| expected_to_speak);
        silence.into_iter().chain(self.wall_until()).min()
    }

    /// The limit that has passed, in words.
    pub(super) fn passed(&self, expected_to_speak: bool) -> Option<ErrorInfo> {
        let now = Instant::now();
        if self.wall_until().is_some_and(|until| until <= now) {
            let limit = self.wall_clock.unwrap_or_default();
            return Some(
                ErrorInfo::new(ErrorClass::Stalled, format!("the run took longer than {limit:?}"))
                    .with_code("wall_clock")
                    .hinting(HintCode::RaiseTimeout),
            );
        }
        if expected_to_speak && self.silent_until().is_some_and(|until| until <= now) {
            let limit = self.inactivity.unwrap_or_default();
            return Some(
                ErrorInfo::new(ErrorClass::Stalled, format!("nothing was heard for {limit:?}"))
                    .with_code("inactivity")
                    .hinting(HintCode::RaiseInactivity),
            );
        }
        None
    }
}
