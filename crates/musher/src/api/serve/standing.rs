//! Who is behind a connection: a stranger, until a request on it has shown a token.
//!
//! Strangers have a few places of their own. When these are taken, the one that was silent for the longest makes room for
//! the next, so that a person who comes is let in however many others wait. It gets a moment to speak first: ten thousand
//! clients that come back at once after a restart all have a token, and none of them is turned away.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::room::{LEAVING, Room};

/// A stranger is not asked to make room before it was silent for this long; the next one waits meanwhile.
const MIN_STRANGER_IDLE: Duration = Duration::from_millis(100);
/// A stranger has this long to say the first thing that it wants.
const INTRODUCED_WITHIN: Duration = Duration::from_secs(10);
/// It has this long to take the reply, and to say the next thing.
const NEXT_WITHIN: Duration = Duration::from_secs(30);

/// Everybody who is connected.
#[derive(Debug)]
pub(super) struct OpenConnections {
    /// The strangers by the time when they last said something whole, the one who was silent for the longest first.
    silent: Mutex<Silent>,
    strangers: usize,
    /// Told when a stranger has left, or is none any more.
    freed: Notify,
    /// Strangers whose connections are open, those who were told to go and are still on their way out included.
    doorstep: Arc<Semaphore>,
    known: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Silent {
    turns: u64,
    by_turn: BTreeMap<u64, Waiting>,
}

/// A stranger that has said nothing since then.
#[derive(Debug)]
struct Waiting {
    since: Instant,
    out: Arc<Notify>,
}

impl Silent {
    fn put(&mut self, out: &Arc<Notify>) -> u64 {
        self.turns += 1;
        let waiting = Waiting { since: Instant::now(), out: Arc::clone(out) };
        self.by_turn.insert(self.turns, waiting);
        self.turns
    }
}

/// What one connection is.
#[derive(Debug)]
pub(in crate::api) struct Standing {
    crowd: Arc<OpenConnections>,
    /// Whom the log names.
    pub(in crate::api) client: SocketAddr,
    is: Mutex<Is>,
    /// Told when it must make room.
    out: Arc<Notify>,
}

#[derive(Debug)]
enum Is {
    Stranger { turn: u64, until: Instant, _place: OwnedSemaphorePermit },
    Known { _place: OwnedSemaphorePermit },
}

/// There is no place for one more who has shown a token.
#[derive(Debug)]
pub(in crate::api) struct Full;

impl OpenConnections {
    pub(super) fn new(room: Room) -> Arc<Self> {
        let Room { strangers, known } = room;
        let doorstep = Arc::new(Semaphore::new(strangers + LEAVING));
        let known = Arc::new(Semaphore::new(known));
        let (silent, freed) = (Mutex::default(), Notify::new());
        Arc::new(Self { silent, strangers, freed, doorstep, known })
    }

    /// Waits for a place in which a connection may be taken. It is not long, because a silent stranger must go soon.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.doorstep).acquire_owned().await.ok()?;
        while let Some(until) = self.is_full_until() {
            tokio::select! {
                () = self.freed.notified() => {}
                () = sleep_until(until) => {}
            }
        }
        Some(place)
    }

    /// When the stranger that was silent for the longest may be asked to go, if there is no place without that.
    fn is_full_until(&self) -> Option<Instant> {
        let silent = lock(&self.silent);
        let (_, oldest) = silent.by_turn.first_key_value()?;
        let until = oldest.since + MIN_STRANGER_IDLE;
        (silent.by_turn.len() >= self.strangers && until > Instant::now()).then_some(until)
    }

    /// Takes a connection in, as a stranger's.
    pub(super) fn enter(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        client: SocketAddr,
    ) -> Arc<Standing> {
        let out = Arc::new(Notify::new());
        let turn = {
            let mut silent = lock(&self.silent);
            if silent.by_turn.len() >= self.strangers
                && let Some((_, oldest)) = silent.by_turn.pop_first()
            {
                oldest.out.notify_one();
            }
            silent.put(&out)
        };
        let until = Instant::now() + INTRODUCED_WITHIN;
        let is = Mutex::new(Is::Stranger { turn, until, _place: place });
        Arc::new(Standing { crowd: Arc::clone(self), client, is, out })
    }
}

impl Standing {
    /// It has said something whole; what it was is not known yet.
    pub(super) fn speaks(&self) {
        let Is::Stranger { turn, until, .. } = &mut *lock(&self.is) else { return };
        let mut silent = lock(&self.crowd.silent);
        // One that was told to go, and had spoken before it heard of that, is among them again.
        silent.by_turn.remove(turn);
        *turn = silent.put(&self.out);
        *until = Instant::now() + NEXT_WITHIN;
    }

    /// It has shown a token that counts.
    pub(in crate::api) fn is_known(&self) -> Result<(), Full> {
        let mut is = lock(&self.is);
        let Is::Stranger { turn, .. } = &*is else { return Ok(()) };
        let place = Arc::clone(&self.crowd.known).try_acquire_owned().map_err(|_| Full)?;
        lock(&self.crowd.silent).by_turn.remove(turn);
        self.crowd.freed.notify_one();
        *is = Is::Known { _place: place };
        Ok(())
    }

    /// Whether it is a stranger that was told to go and has said nothing since.
    fn must_go(&self) -> bool {
        match &*lock(&self.is) {
            Is::Known { .. } => false,
            Is::Stranger { turn, .. } => !lock(&self.crowd.silent).by_turn.contains_key(turn),
        }
    }

    /// Waits until it must go: there is no room for it, or it took too long. Who has shown a token stays.
    pub(super) async fn unwelcome(&self) {
        loop {
            let until = match &*lock(&self.is) {
                Is::Known { .. } => None,
                Is::Stranger { until, .. } => Some(*until),
            };
            match until {
                None => return std::future::pending().await,
                Some(until) if until <= Instant::now() => return,
                Some(until) => tokio::select! {
                    () = self.out.notified() => {
                        // What it has sent may be there, and nobody has looked yet.
                        tokio::task::yield_now().await;
                        if self.must_go() {
                            return;
                        }
                    }
                    () = sleep_until(until) => {}
                },
            }
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if let Is::Stranger { turn, .. } = &*lock(&self.is) {
            lock(&self.crowd.silent).by_turn.remove(turn);
            self.crowd.freed.notify_one();
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    async fn enter(crowd: &Arc<OpenConnections>) -> Arc<Standing> {
        crowd.enter(crowd.place().await.unwrap(), SocketAddr::from(([127, 0, 0, 1], 1)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_waits_for_those_who_are_about_to_show_a_token_and_sends_nobody_away() {
        let crowd = OpenConnections::new(Room { strangers: 2, known: 8 });
        let first = enter(&crowd).await;
        let second = enter(&crowd).await;
        let third = enter(&crowd);
        tokio::pin!(third);
        assert!(third.as_mut().now_or_never().is_none(), "there is no place yet");
        first.is_known().unwrap();
        let third = third.now_or_never().expect("the first one needs no place of a stranger");
        for standing in [&first, &second, &third] {
            assert!(!standing.must_go());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_makes_room_for_the_next_one_soon() {
        let crowd = OpenConnections::new(Room { strangers: 2, known: 8 });
        let silent = enter(&crowd).await;
        let speaking = enter(&crowd).await;
        let began = Instant::now();
        speaking.speaks();
        let third = enter(&crowd).await;
        assert!(began.elapsed() <= 2 * MIN_STRANGER_IDLE, "{:?}", began.elapsed());
        assert!(silent.must_go() && !speaking.must_go() && !third.must_go());
        silent.unwelcome().await;
    }
}
