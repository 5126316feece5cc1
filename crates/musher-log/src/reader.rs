//! A reader of a run log: it holds a place, never a buffer, and copies whole lines as they are.

mod past;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::cursor::Cursor;
use super::damage::sound;
use super::encode::MAX_LINE_BYTES;
use super::error::LogError;
use super::folder;
use super::head::{HeadFile, LogHead};
use super::line::numbered;
use super::locate::{Located, first, last, locate};
use super::segment::{FoundSegment, Segment, read_at};
use past::Passed;

/// Reads one run's log from a place on, while it is written and after.
#[derive(Debug)]
pub struct LogReader {
    log: Arc<Log>,
    place: Option<LogPosition>,
    seq: u64,
    /// What the reader must be told before anything else.
    reset: Option<Cursor>,
    reach: Reach,
    damage: OnDamage,
}

/// What a reader does where the log is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDamage {
    /// It reads no further, because whoever acts on what it reads must have all of it.
    Stop,
    /// It tells of it in place, and goes on behind it.
    Tell,
}

/// How far a reader goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// As far as the log is written.
    Written,
    /// Only as far as no loss of power can take anything back.
    Synced,
}

/// The folder that all readers of one run share.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) dir: PathBuf,
    head: HeadFile,
}

/// A place in a segment: everything before it was read.
#[derive(Debug, Clone)]
pub(super) struct LogPosition {
    pub(super) segment: Arc<Segment>,
    pub(super) offset: u64,
}

/// What a reader got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRead {
    Lines(LogBatch),
    /// There is nothing more yet.
    End,
    /// Whatever came after `to` is gone, because a crash took it before it was acknowledged; reading goes on from there.
    Reset {
        to: Cursor,
    },
}

/// Whole lines, one event each, numbered without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBatch {
    /// Where the lines stand in the buffer, each with its end.
    pub lines: Range<usize>,
    pub epoch: u32,
    pub first: u64,
    pub last: u64,
    /// Whether they were all there was.
    pub end: bool,
}

impl Log {
    pub(super) fn head(&self) -> Result<Option<LogHead>, LogError> {
        self.head.read(&self.dir)
    }

    pub(super) fn segments(&self) -> Result<Vec<u64>, LogError> {
        folder::segments(&self.dir).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return LogError::Missing { dir: self.dir.clone() };
            }
            LogError::of("list", &self.dir, error)
        })
    }
}

impl LogReader {
    /// A reader of what comes after a place, or of everything.
    pub fn open(dir: &Path, after: Option<Cursor>) -> Result<Self, LogError> {
        Self::of(Arc::new(Log { dir: dir.to_owned(), head: HeadFile::default() }), after)
    }

    /// A reader of the last `count` events and of what comes after them.
    pub fn open_last(dir: &Path, count: u64) -> Result<Self, LogError> {
        let reader = Self::open(dir, None)?;
        match reader.last()? {
            Some(Cursor { epoch, seq }) => {
                Self::of(reader.log, Some(Cursor { epoch, seq: seq.saturating_sub(count) }))
            }
            None => Ok(reader),
        }
    }

    /// Another reader of the same log, which shares the open files of this one.
    pub fn beside(&self, after: Option<Cursor>) -> Result<Self, LogError> {
        let mut reader = Self::of(Arc::clone(&self.log), after)?;
        reader.damage = self.damage;
        if let (Some(place), Some(ours)) = (&mut reader.place, &self.place)
            && place.segment.first == ours.segment.first
            && place.segment.epoch == ours.segment.epoch
        {
            place.segment = Arc::clone(&ours.segment);
        }
        Ok(reader)
    }

    fn of(log: Arc<Log>, after: Option<Cursor>) -> Result<Self, LogError> {
        let (reach, damage) = (Reach::Written, OnDamage::Stop);
        let mut reader = Self { log, place: None, seq: 0, reset: None, reach, damage };
        reader.go(after)?;
        Ok(reader)
    }

    /// The same reader, which gives an event only when it is on the disk: whoever acts on what it reads must not be
    /// ahead of the log after a loss of power.
    pub fn only_synced(mut self) -> Self {
        self.reach = Reach::Synced;
        self
    }

    /// The same reader, which tells of damage in place and goes on behind it: for people, who want what there is.
    pub fn past_damage(mut self) -> Self {
        self.damage = OnDamage::Tell;
        self
    }

    /// The last event that was read.
    pub fn cursor(&self) -> Cursor {
        let epoch = self.place.as_ref().map_or(0, |place| place.segment.epoch);
        Cursor { epoch, seq: self.seq }
    }

    /// The number of the first event that is still in the log; those before it were cleaned away.
    pub fn first(&self) -> Result<Option<u64>, LogError> {
        first(&self.log)
    }

    /// The last event of the log.
    pub fn last(&self) -> Result<Option<Cursor>, LogError> {
        last(&self.log)
    }

    /// Whether nothing will be written any more.
    pub fn is_closed(&self) -> bool {
        folder::outcome(&self.log.dir).exists()
    }

    /// How far the writer says that the log goes, and how much of it is on the disk.
    pub fn head(&self) -> Result<Option<LogHead>, LogError> {
        self.log.head()
    }

    /// Appends whole lines to the buffer: at most `max_bytes` of them, but at least one if there is one.
    pub fn read(&mut self, buffer: &mut Vec<u8>, max_bytes: usize) -> Result<LogRead, LogError> {
        loop {
            if let Some(to) = self.reset.take() {
                return Ok(LogRead::Reset { to });
            }
            let Some(place) = &mut self.place else {
                self.go(None)?;
                match (&self.place, self.reset) {
                    (None, None) => return Ok(LogRead::End),
                    _ => continue,
                }
            };
            let head = self.log.head()?;
            let here = head.filter(|head| {
                head.segment == place.segment.first && head.epoch == place.segment.epoch
            });
            let limit = here.map_or(u64::MAX, |head| head.offset);
            let synced = place.synced(head);
            let most = match (self.reach, head) {
                (Reach::Synced, Some(_)) => synced,
                (Reach::Synced, None) | (Reach::Written, _) => u64::MAX,
            };
            let ask = Ask { max_bytes, limit, first: self.seq + 1, most };
            if let Some((lines, last)) = place.take(buffer, ask)? {
                let (epoch, first) = (place.segment.epoch, self.seq + 1);
                let end = place.offset == limit;
                self.seq = last;
                return Ok(LogRead::Lines(LogBatch { lines, epoch, first, last, end }));
            }
            let stuck = match here {
                Some(_) => None,
                None => match self.cross(head) {
                    Ok(true) => continue,
                    Ok(false) => None,
                    Err(error @ LogError::Damaged { .. }) => Some(error),
                    Err(error) => return Err(error),
                },
            };
            match self.pass(head)? {
                Passed::Nothing => return stuck.map_or(Ok(LogRead::End), Err),
                Passed::Stray => {}
                Passed::All => return Ok(LogRead::End),
                Passed::Lost(damage, at) => return self.told(&damage, at, buffer),
            }
        }
    }

    /// Goes on into the next segment, if there is one.
    fn cross(&mut self, head: Option<LogHead>) -> Result<bool, LogError> {
        let Some(place) = &self.place else { return Ok(false) };
        let (path, offset) = (place.segment.path.clone(), place.offset);
        let (epoch, next) = (place.segment.epoch, self.seq + 1);
        let damaged = LogError::Damaged { path, offset, seq: next };
        if head.is_some_and(|head| head.epoch > epoch) {
            let before = (place.segment.first, epoch);
            self.go(Some(Cursor { epoch, seq: self.seq }))?;
            let after = self.place.as_ref().map(|place| (place.segment.first, place.segment.epoch));
            let moved = after != Some(before) || self.reset.is_some();
            return if moved { Ok(true) } else { Err(damaged) };
        }
        if next > place.segment.first
            && let FoundSegment::Whole(segment) = Segment::open(&self.log.dir, next)?
        {
            let offset = segment.body;
            self.place = Some(LogPosition { segment: Arc::new(segment), offset });
            return Ok(true);
        }
        match head {
            // The writer is further on, so this segment should be whole and is not.
            Some(head) if head.epoch == epoch && head.segment > place.segment.first => Err(damaged),
            Some(_) | None => Ok(false),
        }
    }

    /// Finds a place in the log.
    fn go(&mut self, after: Option<Cursor>) -> Result<(), LogError> {
        match locate(&self.log, after)? {
            Located::Nowhere => {}
            Located::At { place, seq } => (self.place, self.seq) = (Some(place), seq),
            Located::Reset { place, to } => {
                self.place = place;
                self.seq = to.seq;
                self.reset = Some(to);
            }
        }
        Ok(())
    }
}

/// What is wanted of a segment.
#[derive(Debug, Clone, Copy)]
struct Ask {
    max_bytes: usize,
    /// Where the segment ends for readers.
    limit: u64,
    /// The number of the next event.
    first: u64,
    /// The last event that is wanted.
    most: u64,
}

impl LogPosition {
    /// How far this segment is known to be on the disk. Those before the one that is being written all are.
    fn synced(&self, head: Option<LogHead>) -> u64 {
        let ours = (self.segment.epoch, self.segment.first);
        match head {
            Some(head) if (head.epoch, head.segment) == ours => head.synced,
            Some(head) if (head.epoch, head.segment) > ours => u64::MAX,
            Some(_) | None => 0,
        }
    }

    /// How much of these lines, which begin here, can be read, and the last of them. Each is looked at once.
    fn sound(&self, lines: &[u8], first: u64, last: u64) -> Option<(usize, u64)> {
        let end = self.offset + lines.len() as u64;
        let known = self.segment.sound.until();
        if end <= known {
            return Some((lines.len(), last));
        }
        let good = sound(lines, first);
        if self.offset <= known {
            self.segment.sound.reaches(&self.segment.file, self.offset + good as u64);
        }
        match good {
            0 => None,
            whole if whole == lines.len() => Some((whole, last)),
            part => Some((part, first + memchr_iter(b'\n', &lines[..part]).count() as u64 - 1)),
        }
    }

    /// Copies the lines from here on and steps over them.
    fn take(
        &mut self,
        buffer: &mut Vec<u8>,
        ask: Ask,
    ) -> Result<Option<(Range<usize>, u64)>, LogError> {
        let Ask { max_bytes, limit, first, most } = ask;
        let start = buffer.len();
        let there = usize::try_from(limit.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        if there == 0 || first > most {
            return Ok(None);
        }
        let mut want = max_bytes.clamp(1, there);
        loop {
            let got = read_at(&self.segment.file, buffer, want, self.offset)
                .map_err(|error| LogError::of("read", &self.segment.path, error))?;
            if want > max_bytes {
                // A line that is longer than what was asked for comes alone.
                let line = memchr(b'\n', &buffer[start..]).map_or(0, |end| end + 1);
                buffer.truncate(start + line);
            }
            if memrchr(b'\n', &buffer[start..]).is_some() {
                let Some((good, last)) = numbered(&buffer[start..], first) else { break };
                let Some((good, last)) = self.sound(&buffer[start..start + good], first, last)
                else {
                    break;
                };
                let (good, last) = match last > most {
                    true => (len_of(&buffer[start..start + good], most + 1 - first), most),
                    false => (good, last),
                };
                buffer.truncate(start + good);
                self.offset += good as u64;
                return Ok(Some((start..start + good, last)));
            }
            buffer.truncate(start);
            if got < want || want == there || want > MAX_LINE_BYTES {
                break;
            }
            want = want.saturating_mul(4).min(MAX_LINE_BYTES + 1).min(there);
        }
        buffer.truncate(start);
        Ok(None)
    }
}

/// How long the first lines are, each with its end.
fn len_of(bytes: &[u8], count: u64) -> usize {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    memchr_iter(b'\n', bytes).take(count).last().map_or(0, |end| end + 1)
}
