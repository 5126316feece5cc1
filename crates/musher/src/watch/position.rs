//! Where one follower stands in one run's log, and what comes next for it.

use std::future::pending;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::frames;
use super::tail::{LARGE_PIECE, LogTail, Meeting, PIECE, Pull};
use musher_log::{Cursor, Kinds, LogError, LogRead, LogReader};

/// A follower's place.
#[derive(Debug)]
pub(crate) struct FollowPosition {
    tail: Arc<LogTail>,
    wakes: watch::Receiver<u64>,
    stand: ReadingState,
    kinds: Option<Kinds>,
}

#[derive(Debug)]
enum ReadingState {
    /// The log was not looked at yet, or there is none yet.
    Before(Option<Cursor>),
    /// Behind the others, with a reader of its own, and with leave to read much at once if it is far behind.
    Alone(LogReader, Option<OwnedSemaphorePermit>),
    /// At the end, with the others.
    Together(Cursor),
}

/// What a follower gets.
#[derive(Debug)]
pub(crate) enum Next {
    /// Framed events; empty if none was of a chosen kind.
    Events(Bytes),
    /// What came after this place is gone.
    Reset(Cursor),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    Over,
    /// There is no log.
    NoLog,
}

impl FollowPosition {
    pub(crate) fn new(tail: Arc<LogTail>, after: Option<Cursor>, kinds: Option<Kinds>) -> Self {
        let wakes = tail.wakes();
        Self { tail, wakes, stand: ReadingState::Before(after), kinds }
    }

    /// The last event that was given, or passed over.
    pub(crate) fn cursor(&self) -> Option<Cursor> {
        match &self.stand {
            ReadingState::Before(after) => *after,
            ReadingState::Alone(reader, _) => Some(reader.cursor()),
            ReadingState::Together(cursor) => Some(*cursor),
        }
    }

    /// Whether no log was found so far.
    pub(crate) fn has_no_log(&self) -> bool {
        match self.stand {
            ReadingState::Before(_) => true,
            ReadingState::Alone(..) | ReadingState::Together(_) => false,
        }
    }

    /// Waits until the log has grown since it was looked at; for ever, if nobody looks after it any more.
    pub(crate) async fn grown(&mut self) {
        if self.wakes.changed().await.is_err() {
            pending::<()>().await;
        }
    }

    /// Reads on, without waiting for anything but the disk.
    pub(crate) fn next(&mut self) -> Result<Next, LogError> {
        // Seen before the log is looked at, so that what grows in between wakes us again.
        let wake = *self.wakes.borrow_and_update();
        let mut passed = false;
        loop {
            match &mut self.stand {
                ReadingState::Before(after) => match self.tail.reader(*after) {
                    Ok(reader) => self.stand = ReadingState::Alone(reader, None),
                    Err(LogError::Missing { .. }) => return Ok(Next::NoLog),
                    Err(error) => return Err(error),
                },
                ReadingState::Alone(reader, large) => {
                    let mut lines = Vec::new();
                    let most = if large.is_some() { LARGE_PIECE } else { PIECE };
                    match reader.read(&mut lines, most)? {
                        LogRead::Lines(batch) => {
                            match batch.end {
                                true => *large = None,
                                false => *large = large.take().or_else(|| self.tail.large()),
                            }
                            let lines = &lines[batch.lines];
                            let mut framed = Vec::with_capacity(lines.len() + lines.len() / 4);
                            let kinds = self.kinds.as_ref();
                            frames::frame(&mut framed, batch.epoch, batch.first, lines, kinds);
                            return Ok(Next::Events(framed.into()));
                        }
                        LogRead::Reset { to } => return Ok(Next::Reset(to)),
                        LogRead::End => match self.tail.meet(reader, wake)? {
                            Meeting::Met => self.stand = ReadingState::Together(reader.cursor()),
                            Meeting::Passed if !passed => passed = true,
                            // The next wake will find it still alone.
                            Meeting::Passed | Meeting::Apart => return Ok(Next::Nothing),
                        },
                    }
                }
                ReadingState::Together(cursor) => match self.tail.pull(*cursor, wake)? {
                    Pull::Piece(piece) => {
                        *cursor = piece.to;
                        return Ok(Next::Events(frames::chosen(
                            &piece.framed,
                            self.kinds.as_ref(),
                        )));
                    }
                    Pull::Nothing => return Ok(Next::Nothing),
                    Pull::Over => return Ok(Next::Over),
                    Pull::Behind => {
                        self.stand = ReadingState::Alone(self.tail.reader(Some(*cursor))?, None);
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use musher_core::{Event, EventKind, EventScope, Level, RunId};

    use super::*;
    use crate::bus::Bus;
    use crate::watch::tail::{LARGE, Tails};
    use musher_log::{Lock, Writer};

    fn piece(place: &mut FollowPosition) -> usize {
        let Next::Events(events) = place.next().unwrap() else { panic!("there is no piece") };
        events.len()
    }

    #[tokio::test]
    async fn whoever_is_far_behind_reads_much_at_once_and_too_many_of_them_read_little() {
        let folder = tempfile::tempdir().unwrap();
        let (bus, run) = (Bus::start(folder.path().to_owned()), RunId::minted(1));
        std::fs::create_dir(bus.folder(run)).unwrap();
        let mut writer = Writer::create(Lock::take(&bus.folder(run)).unwrap(), "r1").unwrap();
        for seq in 1..=1_000 {
            let kind = EventKind::Notice { level: Level::Info, code: None, text: "x".repeat(500) };
            let scope = EventScope::Main;
            writer.append(&[Event { seq, at: 1, kind, turn: None, scope, raw: None }]).unwrap();
        }
        let tails = Tails::default();
        let tail = tails.of(run, &bus);
        let mut places: Vec<FollowPosition> =
            (0..=LARGE).map(|_| FollowPosition::new(tail.clone(), None, None)).collect();
        for place in &mut places {
            assert!(piece(place) < 2 * PIECE, "nobody knows yet that there is much");
        }
        let (last, others) = places.split_last_mut().unwrap();
        for place in &mut *others {
            assert!(piece(place) > LARGE_PIECE / 2);
        }
        assert!(piece(last) < 2 * PIECE, "too many have more already");
        // One who has come to the end leaves it to another.
        while !matches!(others[0].next().unwrap(), Next::Nothing) {}
        piece(last);
        assert!(piece(last) > LARGE_PIECE / 2);
    }
}
