//! The writer of a run log: one write for a batch of events, then the head.

mod open;

use std::fs::File;
use std::io;
use std::path::Path;

use musher_core::Event;

use super::disk::{LogDisk, Os};
use super::encode::encode;
use super::error::{LogError, is_full};
use super::head::LogHead;
use super::index::IndexWriter;
use super::lock::Lock;
use super::segment::Segment;
use super::urgency::Urgency;
use super::{folder, outcome};

pub(super) use open::mend_head;

/// A segment is not made longer than this.
pub const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;
/// A batch that is longer is written in pieces, so that memory stays small.
const PIECE: usize = 256 * 1024;
/// What the buffer keeps between batches.
const KEPT: usize = 64 * 1024;

/// The one writer of a run's log. Dropping it gives the lock back.
#[derive(Debug)]
pub struct Writer<D: LogDisk = Os> {
    disk: D,
    lock: Lock,
    dir: File,
    head: File,
    segment: Segment,
    index: IndexWriter,
    segment_bytes: u64,
    offset: u64,
    last: u64,
    synced: u64,
    /// A segment was made, and its name is not synced yet.
    unsynced_name: bool,
    /// The head on the disk does not tell of all that was written.
    stale_head: bool,
    buffer: Vec<u8>,
    cut: Cut,
    state: State,
}

/// Whether the writer can be used.
#[derive(Debug)]
enum State {
    Open,
    /// The disk was full in the middle of a batch that began with this number; it may come again.
    Retrying {
        from: u64,
    },
    Poisoned {
        why: String,
    },
}

/// What was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The last event of the log.
    pub last: u64,
    /// How soon it must be synced.
    pub urgency: Urgency,
}

/// What had to be cut when the log was opened again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cut {
    pub bytes: u64,
    /// Events among them that had been synced; more than none only if the disk failed.
    pub synced: u64,
}

impl<D: LogDisk> Writer<D> {
    /// Appends events that are numbered on from the last.
    ///
    /// On [`LogError::Full`] nothing is lost, and the writer stays usable: append the same events again later.
    pub fn append<'e>(
        &mut self,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> Result<Appended, LogError> {
        let retried_from = match &self.state {
            State::Open => u64::MAX,
            State::Retrying { from } => *from,
            State::Poisoned { why } => return Err(LogError::Poisoned { why: why.clone() }),
        };
        let mut urgency = Urgency::default();
        let mut last = self.last;
        let mut from = None;
        self.buffer.clear();
        self.index.forget();
        for event in events {
            urgency = urgency.max(Urgency::of(&event.kind));
            from.get_or_insert(event.seq);
            if event.seq >= retried_from && event.seq <= self.last {
                continue;
            }
            if event.seq != last + 1 {
                return Err(LogError::Gap { last, found: event.seq });
            }
            let start = self.buffer.len();
            encode(event, &mut self.buffer)
                .map_err(|error| LogError::Encode { seq: event.seq, why: error.to_string() })?;
            self.index.line(event.seq, start, self.buffer.len() - start);
            last = event.seq;
            if self.buffer.len() as u64 >= self.segment_bytes.min(PIECE as u64) {
                self.commit(last).map_err(|error| self.failed(error, from))?;
            }
        }
        self.commit(last).map_err(|error| self.failed(error, from))?;
        if from.is_some() {
            self.state = State::Open;
        }
        if self.buffer.capacity() > PIECE {
            self.buffer = Vec::with_capacity(KEPT);
        }
        Ok(Appended { last: self.last, urgency })
    }

    /// Appends the last events of a run; if the disk is full, the room that was kept for them is used.
    pub fn append_last(&mut self, events: &[Event]) -> Result<Appended, LogError> {
        match self.append(events) {
            Err(LogError::Full { .. }) => {
                outcome::drop_ballast(self.lock.dir());
                self.append(events)
            }
            other => other,
        }
    }

    /// Returns when all that was appended is on the disk. A failure is final: what the kernel then says is not true.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.usable()?;
        if self.synced == self.last && !self.unsynced_name {
            return if self.stale_head { self.publish() } else { Ok(()) };
        }
        if let Err(error) = self.check_whole() {
            self.poison(error.to_string());
            return Err(error);
        }
        let mut done = self.disk.sync(&self.segment.file);
        if done.is_ok() && self.unsynced_name {
            done = self.disk.sync_names(&self.dir);
        }
        if let Err(source) = done {
            let path = self.segment.path.clone();
            self.poison(format!("{} could not be synced: {source}", path.display()));
            return Err(LogError::Io { doing: "sync", path, source });
        }
        self.unsynced_name = false;
        self.synced = self.last;
        self.publish()
    }

    /// Syncs the log and records how the run ended. If the disk has no room even for that, it may be tried again.
    pub fn finish(&mut self, outcome: &impl serde::Serialize) -> Result<(), LogError> {
        self.sync()?;
        let dir = self.lock.dir();
        // Nobody looks at the lines of a run that has its outcome, so its head must not go back.
        self.disk.sync(&self.head).map_err(|source| LogError::Io {
            doing: "sync",
            path: folder::head(dir),
            source,
        })?;
        outcome::write(dir, outcome)?;
        outcome::drop_ballast(dir);
        Ok(())
    }

    /// The folder of the run.
    pub fn dir(&self) -> &Path {
        self.lock.dir()
    }

    /// The number that the next event must have.
    pub fn next_seq(&self) -> u64 {
        self.last + 1
    }

    /// The last event that is known to be on the disk.
    pub fn synced_seq(&self) -> u64 {
        self.synced
    }

    pub fn epoch(&self) -> u32 {
        self.segment.epoch
    }

    /// What was cut when the log was opened again.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Writes the buffer, up to the event `last`.
    fn commit(&mut self, last: u64) -> Result<(), LogError> {
        if !self.buffer.is_empty() {
            let len = self.buffer.len() as u64;
            if self.last >= self.segment.first && self.offset + len > self.segment_bytes {
                self.rotate()?;
            }
            self.check_whole()?;
            let written = self.disk.write_all_at(&self.segment.file, &self.buffer, self.offset);
            if let Err(error) = written {
                return Err(self.take_back(error));
            }
            self.index.commit(self.offset);
            self.offset += len;
            self.last = last;
            self.buffer.clear();
            return self.publish();
        }
        if self.stale_head { self.publish() } else { Ok(()) }
    }

    /// Nobody else may write the file, and yet somebody can: what was cut off was promised to be kept, and what would be
    /// written behind it could not be read.
    fn check_whole(&self) -> Result<(), LogError> {
        let path = &self.segment.path;
        let found = self.segment.file.metadata();
        let found = found.map_err(|error| LogError::of("look at", path, error))?.len();
        match found < self.offset {
            true => Err(LogError::Shortened { path: path.clone(), found, written: self.offset }),
            false => Ok(()),
        }
    }

    /// Takes a part of a batch out of the file again.
    fn take_back(&mut self, error: io::Error) -> LogError {
        let path = &self.segment.path;
        if let Err(error) = self.segment.file.set_len(self.offset) {
            self.poison(format!("a torn line could not be cut: {error}"));
        } else if !is_full(&error) {
            self.poison(format!("{} could not be written: {error}", path.display()));
        }
        LogError::of("write", &self.segment.path, error)
    }

    /// Begins the next segment. The one before it is whole on the disk by then.
    fn rotate(&mut self) -> Result<(), LogError> {
        self.sync()?;
        let (dir, first) = (self.lock.dir(), self.last + 1);
        let Segment { run, epoch, .. } = &self.segment;
        let next = Segment::create(dir, run, *epoch, first, &self.disk)?;
        self.index.begin(&folder::index(dir, first));
        self.offset = next.body;
        self.segment = next;
        self.unsynced_name = true;
        Ok(())
    }

    /// Lets readers go as far as we have written.
    fn publish(&mut self) -> Result<(), LogError> {
        self.stale_head = true;
        let head = LogHead {
            epoch: self.segment.epoch,
            segment: self.segment.first,
            seq: self.last,
            offset: self.offset,
            synced: self.synced,
        };
        let path = folder::head(self.lock.dir());
        self.disk
            .write_all_at(&self.head, &head.encode(), 0)
            .map_err(|error| LogError::of("write", &path, error))?;
        self.stale_head = false;
        Ok(())
    }

    fn usable(&self) -> Result<(), LogError> {
        match &self.state {
            State::Open | State::Retrying { .. } => Ok(()),
            State::Poisoned { why } => Err(LogError::Poisoned { why: why.clone() }),
        }
    }

    /// Notes where a batch began that could not be written, and poisons the writer unless it may come again.
    fn failed(&mut self, error: LogError, from: Option<u64>) -> LogError {
        match (&self.state, from) {
            (State::Open, Some(from)) if error.is_full() => self.state = State::Retrying { from },
            (State::Open | State::Retrying { .. }, _) if !error.is_full() => {
                self.poison(error.to_string());
            }
            (State::Open | State::Retrying { .. } | State::Poisoned { .. }, _) => {}
        }
        error
    }

    fn poison(&mut self, why: String) {
        if let State::Open | State::Retrying { .. } = self.state {
            self.state = State::Poisoned { why };
        }
    }
}
