//! One client that follows one run: events as they are logged, text in flight if it is wanted, and the end.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, stream};
use musher_core::RunId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::api::Api;
use crate::watch::frames;
use crate::watch::position::{FollowPosition, Next};
use musher_log::{Cursor, LogError};

/// How often a silent stream says that it is there.
pub(in crate::api) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How often a run that has no log yet is looked at.
const NO_LOG_YET: Duration = Duration::from_secs(1);

/// Everything that one subscriber costs, the connection aside.
pub(in crate::api) struct Subscription {
    api: Api,
    run: RunId,
    place: FollowPosition,
    deltas: Option<broadcast::Receiver<Arc<str>>>,
    beat: Interval,
    /// The place that the client was told last.
    told: Option<Cursor>,
    turns: frames::FairTurns,
    ended: bool,
    _place: OwnedSemaphorePermit,
}

/// What a follower waited for.
enum Woken {
    Grown,
    Delta(Arc<str>),
    Beat,
    Closing,
}

impl Subscription {
    pub(in crate::api) fn new(
        api: Api,
        run: RunId,
        place: FollowPosition,
        deltas: Option<broadcast::Receiver<Arc<str>>>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (beat, told) = (beats(HEARTBEAT_INTERVAL), place.cursor());
        Self {
            api,
            run,
            place,
            deltas,
            beat,
            told,
            turns: frames::FairTurns::default(),
            ended: false,
            _place: permit,
        }
    }

    /// The framed pieces; each is made when the client can take it.
    pub(in crate::api) fn pieces(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        // What is handed from piece to piece is moved each time, so it had better be small.
        stream::unfold(Box::new(self), |mut follow| async move {
            let piece = follow.next().await?;
            follow.turns.take(&piece).await;
            Some((Ok(piece), follow))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended {
            match self.place.next() {
                Ok(Next::Events(events)) if events.is_empty() => {
                    // A long stretch of other kinds must not keep the thread from its other work.
                    tokio::task::yield_now().await;
                    continue;
                }
                Ok(Next::Events(events)) => {
                    self.told = self.place.cursor();
                    return Some(events);
                }
                Ok(Next::Reset(to)) => {
                    self.told = Some(to);
                    return Some(reset(to));
                }
                Ok(Next::Over) => return Some(self.end()),
                Ok(Next::NoLog) if self.api.is_over(self.run).await => return Some(self.end()),
                Ok(Next::NoLog | Next::Nothing) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(broken(&error));
                }
            }
            match self.wait().await {
                Woken::Grown => {}
                Woken::Delta(line) => {
                    let mut out = Vec::with_capacity(line.len() + 24);
                    frames::named(&mut out, "delta", line.as_bytes());
                    return Some(out.into());
                }
                Woken::Beat => {
                    let cursor = self.place.cursor();
                    if let (Some(cursor), true) = (cursor, cursor != self.told) {
                        self.told = Some(cursor);
                        return Some(frames::moved(cursor));
                    }
                    return Some(Bytes::from_static(frames::HEARTBEAT));
                }
                Woken::Closing => return None,
            }
        }
        None
    }

    async fn wait(&mut self) -> Woken {
        // The connection is woken when the server ends, and it looks at this whenever it is woken; to be told once more
        // would cost each of thousands a place in a list that all of them share, each time that a log grows.
        let api = &self.api;
        let closing = poll_fn(|_| match api.closing.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        let has_no_log = self.place.has_no_log();
        let look_again = async {
            match has_no_log {
                true => tokio::time::sleep(NO_LOG_YET).await,
                false => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = closing => Woken::Closing,
            () = self.place.grown() => Woken::Grown,
            Some(line) = delta(&mut self.deltas) => Woken::Delta(line),
            _ = self.beat.tick() => Woken::Beat,
            () = look_again => Woken::Grown,
        }
    }

    fn end(&mut self) -> Bytes {
        self.ended = true;
        let mut out = Vec::new();
        frames::named(&mut out, "end", b"{}");
        out.into()
    }
}

/// A clock that ticks for the first time after a whole period.
pub(in crate::api) fn beats(period: Duration) -> Interval {
    let mut beat = interval_at(Instant::now() + period, period);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

/// Text in flight. What was missed is not made up for: the event with the whole text follows.
pub(in crate::api) async fn delta(
    deltas: &mut Option<broadcast::Receiver<Arc<str>>>,
) -> Option<Arc<str>> {
    let receiver = deltas.as_mut()?;
    loop {
        match receiver.recv().await {
            Ok(line) => return Some(line),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => {
                *deltas = None;
                return None;
            }
        }
    }
}

fn reset(to: Cursor) -> Bytes {
    format!("event: reset\nid: {to}\ndata: {{\"cursor\":\"{to}\"}}\n\n").into()
}

/// The log cannot be read on; the reply has long begun, so the problem comes as an event.
fn broken(error: &LogError) -> Bytes {
    let problem = crate::api::problem::ProblemReply::from(error);
    let mut out = Vec::new();
    frames::named(&mut out, "problem", &problem.json());
    out.into()
}
