//! The newest part of one run's log, read and framed once for everybody who follows it.
//!
//! Whoever is at the end of a log waits for the same lines as everybody else there, so they share one reader, one set of
//! open files and the bytes themselves. Whoever is behind reads the log alone until the end is reached.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use musher_core::RunId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::frames;
use crate::bus::Bus;
use crate::runner::RunLogs;
use musher_log::{Cursor, LogError, LogRead, LogReader, is_damage, line_kind};

/// How many bytes of a log are read at once.
pub(crate) const PIECE: usize = 48 * 1024;
/// The same for one who is far behind. So much costs the kernel less for each byte, but whoever does not take it keeps it in
/// memory, so that only so many may have it at a time.
pub(crate) const LARGE_PIECE: usize = 256 * 1024;
pub(crate) const LARGE: usize = 32;
/// How many framed bytes are kept for those who come a little later.
const KEPT: usize = 64 * 1024;

/// The tails that somebody follows.
#[derive(Debug)]
pub(crate) struct Tails {
    by_run: Mutex<HashMap<RunId, Weak<LogTail>>>,
    large: Arc<Semaphore>,
}

impl Default for Tails {
    fn default() -> Self {
        Self { by_run: Mutex::default(), large: Arc::new(Semaphore::new(LARGE)) }
    }
}

impl Tails {
    /// The tail of a run, which all its followers share.
    pub(crate) fn of(&self, run: RunId, bus: &Bus) -> Arc<LogTail> {
        let mut tails = lock(&self.by_run);
        if let Some(tail) = tails.get(&run).and_then(Weak::upgrade) {
            return tail;
        }
        tails.retain(|_, tail| tail.strong_count() > 0);
        let (logs, wakes) = (bus.logs().clone(), bus.wakes(run));
        let large = Arc::clone(&self.large);
        let tail = Arc::new(LogTail { logs, run, wakes, newest: Mutex::default(), large });
        tails.insert(run, Arc::downgrade(&tail));
        tail
    }
}

/// The tail of one log.
#[derive(Debug)]
pub(crate) struct LogTail {
    logs: RunLogs,
    run: RunId,
    /// Changes when the log has grown. All followers count the same wakes, because it is held as long as one of them is.
    wakes: watch::Receiver<u64>,
    newest: Mutex<Option<Newest>>,
    large: Arc<Semaphore>,
}

#[derive(Debug)]
struct Newest {
    reader: LogReader,
    pieces: VecDeque<TailChunk>,
    kept: usize,
    /// Whether the last event was the end of the session, which nothing follows.
    over: bool,
    /// The wake after which the log was read to its end: until the next one there is nothing to read.
    read_at: Option<u64>,
}

/// Whole events, framed.
#[derive(Debug, Clone)]
pub(crate) struct TailChunk {
    after: Cursor,
    pub(crate) to: Cursor,
    pub(crate) framed: Bytes,
}

/// What the tail has for someone who stands at a place.
#[derive(Debug)]
pub(crate) enum Pull {
    Piece(TailChunk),
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    Over,
    /// The place is not one of the tail's: read the log alone.
    Behind,
}

/// Whether someone can wait with the others from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    Met,
    /// The log has grown in between: there is more to read alone.
    Passed,
    Apart,
}

impl LogTail {
    /// Tells when the log has grown.
    pub(crate) fn wakes(&self) -> watch::Receiver<u64> {
        self.wakes.clone()
    }

    /// Leave to read much at once, if not too many have it.
    pub(crate) fn large(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.large).try_acquire_owned().ok()
    }

    /// A reader of one's own, which shares the open files as far as it can.
    pub(crate) fn reader(&self, after: Option<Cursor>) -> Result<LogReader, LogError> {
        let mut newest = lock(&self.newest);
        self.opened(&mut newest)?.reader.beside(after)
    }

    fn opened<'a>(&self, newest: &'a mut Option<Newest>) -> Result<&'a mut Newest, LogError> {
        match newest {
            Some(newest) => Ok(newest),
            none => Ok(none.insert(Newest::open(self.logs.open_last(self.run, 1)?)?)),
        }
    }

    /// What comes after a place, for someone who has seen so many wakes.
    pub(crate) fn pull(&self, after: Cursor, wake: u64) -> Result<Pull, LogError> {
        let mut newest = lock(&self.newest);
        let newest = self.opened(&mut newest)?;
        if newest.reader.cursor() != after {
            // Most stand right before the last piece.
            let piece = newest.pieces.iter().rev().find(|piece| piece.after == after);
            return Ok(piece.map_or(Pull::Behind, |piece| Pull::Piece(piece.clone())));
        }
        Ok(match newest.advance(wake)? {
            Some(piece) => Pull::Piece(piece),
            None if newest.reader.cursor() != after => Pull::Behind,
            None if newest.over => Pull::Over,
            None => Pull::Nothing,
        })
    }

    /// Brings the tail up to someone who has read the log alone.
    pub(crate) fn meet(&self, reader: &LogReader, wake: u64) -> Result<Meeting, LogError> {
        let at = reader.cursor();
        let mut newest = lock(&self.newest);
        let newest = self.opened(&mut newest)?;
        while newest.reader.cursor() != at && newest.reader.cursor().seq <= at.seq {
            if newest.advance(wake)?.is_none() {
                break;
            }
        }
        let here = newest.reader.cursor();
        let is_kept = newest.pieces.iter().any(|piece| piece.after == at);
        Ok(match is_kept || here == at {
            true => Meeting::Met,
            false if here.seq > at.seq => Meeting::Passed,
            false => Meeting::Apart,
        })
    }
}

impl Newest {
    /// Stands at the end of the log, having looked at its last event.
    fn open(end: LogReader) -> Result<Self, LogError> {
        let reader = end.past_damage();
        let mut newest =
            Self { reader, pieces: VecDeque::new(), kept: 0, over: false, read_at: None };
        newest.advance(0)?;
        newest.read_at = None;
        Ok(newest)
    }

    /// Reads on for someone who has seen so many wakes. What is written after a read brings a wake that nobody had seen
    /// before it, so the log is read once for each wake, however many wait for it.
    fn advance(&mut self, wake: u64) -> Result<Option<TailChunk>, LogError> {
        if self.read_at.is_some_and(|read_at| read_at >= wake) {
            return Ok(None);
        }
        let after = self.reader.cursor();
        let mut lines = Vec::new();
        let batch = match self.reader.read(&mut lines, PIECE)? {
            LogRead::Lines(batch) => batch,
            LogRead::End => {
                self.read_at = Some(wake);
                return Ok(None);
            }
            LogRead::Reset { .. } => {
                // Each follower finds out alone what of its own past is gone.
                self.pieces.clear();
                (self.kept, self.over) = (0, false);
                return Ok(None);
            }
        };
        self.read_at = batch.end.then_some(wake);
        let lines = &lines[batch.lines];
        let last = lines.len().saturating_sub(1);
        let last = memchr::memrchr(b'\n', &lines[..last]).map_or(0, |end| end + 1);
        let last = &lines[last..];
        // The end of a log may be what is lost of it.
        self.over =
            line_kind(last) == Some("session_ended") || is_damage(last) && self.reader.is_closed();
        let mut framed = Vec::with_capacity(lines.len() + lines.len() / 4);
        frames::frame(&mut framed, batch.epoch, batch.first, lines, None);
        let to = Cursor { epoch: batch.epoch, seq: batch.last };
        let piece = TailChunk { after, to, framed: framed.into() };
        self.keep(piece.clone());
        Ok(Some(piece))
    }

    fn keep(&mut self, piece: TailChunk) {
        self.kept += piece.framed.len();
        self.pieces.push_back(piece);
        while self.kept > KEPT {
            let Some(old) = self.pieces.pop_front() else { break };
            self.kept -= old.framed.len();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic left half done is only a cache.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use musher_core::{Event, EventKind, EventScope, Level};

    use super::*;
    use musher_log::{Lock, Writer};

    fn say(writer: &mut Writer) {
        let kind = EventKind::Notice { level: Level::Info, code: None, text: "hello".into() };
        let (seq, at, turn, scope, raw) = (writer.next_seq(), 1, None, EventScope::Main, None);
        let event = Event { seq, at, kind, turn, scope, raw };
        writer.append([&event]).unwrap();
    }

    #[tokio::test]
    async fn a_log_is_read_once_for_each_wake_however_many_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (bus, run) = (Bus::start(folder.path().to_owned()), RunId::minted(1));
        std::fs::create_dir(bus.folder(run)).unwrap();
        let mut writer =
            Writer::create(Lock::take(&bus.folder(run)).unwrap(), &run.to_string()).unwrap();
        say(&mut writer);
        let (tails, first) = (Tails::default(), Cursor { epoch: writer.epoch(), seq: 1 });
        let tail = tails.of(run, &bus);
        assert!(matches!(tail.pull(first, 1), Ok(Pull::Nothing)));
        say(&mut writer);
        // Whoever has seen no other wake than those before him would only find what they have found.
        assert!(matches!(tail.pull(first, 1), Ok(Pull::Nothing)));
        let Ok(Pull::Piece(piece)) = tail.pull(first, 2) else { panic!("the wake was not heeded") };
        assert_eq!(piece.to.seq, 2);
        say(&mut writer);
        assert!(matches!(tail.pull(piece.to, 2), Ok(Pull::Nothing)));
        assert!(matches!(tail.pull(first, 3), Ok(Pull::Piece(_))));
        assert!(matches!(tail.pull(piece.to, 3), Ok(Pull::Piece(piece)) if piece.to.seq == 3));
    }
}
