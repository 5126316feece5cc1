//! One run's log in a feed.

use std::sync::Arc;

use axum::body::Bytes;
use musher_core::RunId;
use tokio::sync::broadcast;

use super::super::Api;
use super::super::problem::ProblemReply;
use crate::api::runs::follow::delta;
use crate::watch::frames;
use crate::watch::position::{FollowPosition, Next};
use musher_log::Cursor;

/// A run that a feed follows.
#[derive(Debug)]
pub(super) struct WatchedRun {
    pub(super) run: RunId,
    place: FollowPosition,
    deltas: Option<broadcast::Receiver<Arc<str>>>,
    open: bool,
}

/// What a run has for its feed.
pub(super) enum RunNews {
    Grown,
    Delta(Bytes),
}

impl WatchedRun {
    pub(super) fn new(api: &Api, run: RunId, after: Option<Cursor>, deltas: bool) -> Self {
        let place = FollowPosition::new(api.tails.of(run, &api.bus), after, None);
        let deltas = deltas.then(|| api.bus.deltas(run));
        Self { run, place, deltas, open: true }
    }

    /// Whether more can come.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn cursor(&self) -> Option<Cursor> {
        self.place.cursor()
    }

    /// What is new in the log; `frame` writes one event that moves the feed's place in this run.
    pub(super) async fn next(
        &mut self,
        api: &Api,
        mut frame: impl FnMut(&mut Vec<u8>, RunId, Cursor, &str, &[u8]),
    ) -> Option<Bytes> {
        if !self.open {
            return None;
        }
        let run = self.run;
        let mut out = Vec::new();
        match self.place.next() {
            Ok(Next::Events(framed)) => {
                let mut data = Vec::new();
                for (place, line, _) in frames::events(&framed) {
                    let place = std::str::from_utf8(place).unwrap_or_default();
                    let Ok(cursor) = place.parse() else { continue };
                    data.clear();
                    data.extend_from_slice(
                        format!(r#"{{"run":"{run}","id":"{place}","event":"#).as_bytes(),
                    );
                    data.extend_from_slice(line);
                    data.push(b'}');
                    frame(&mut out, run, cursor, "run", &data);
                }
            }
            Ok(Next::Reset(to)) => {
                let data = format!(r#"{{"run":"{run}","cursor":"{to}"}}"#);
                frame(&mut out, run, to, "reset", data.as_bytes());
            }
            Ok(Next::Over) => self.end(&mut out),
            Ok(Next::NoLog) if api.is_over(run).await => self.end(&mut out),
            Ok(Next::NoLog | Next::Nothing) => return None,
            Err(error) => {
                self.open = false;
                frames::named(&mut out, "problem", &ProblemReply::from(&error).json());
            }
        }
        Some(out.into())
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.open = false;
        frames::named(out, "end", format!(r#"{{"run":"{}"}}"#, self.run).as_bytes());
    }

    /// Waits until the log has grown or text is in flight.
    pub(super) async fn news(&mut self) -> RunNews {
        let run = self.run;
        tokio::select! {
            biased;
            () = self.place.grown() => RunNews::Grown,
            Some(line) = delta(&mut self.deltas) => {
                let mut out = Vec::new();
                frames::named(&mut out, "delta", format!(r#"{{"run":"{run}","delta":{line}}}"#).as_bytes());
                RunNews::Delta(out.into())
            }
        }
    }
}
