//! Finds the place in a run log that belongs to a cursor, or tells that it is gone.

use std::sync::Arc;

use memchr::memchr_iter;

use super::cursor::Cursor;
use super::damage::again;
use super::error::LogError;
use super::folder;
use super::index;
use super::line::line_seq;
use super::reader::{Log, LogPosition};
use super::segment::{FoundSegment, Segment, read_at};

const PIECE: usize = 64 * 1024;

/// Where a cursor stands.
#[derive(Debug)]
pub(super) enum Located {
    /// There is no log yet.
    Nowhere,
    At {
        place: LogPosition,
        seq: u64,
    },
    /// What the cursor stands for is gone; this is where to go on.
    Reset {
        place: Option<LogPosition>,
        to: Cursor,
    },
}

pub(super) fn locate(log: &Log, after: Option<Cursor>) -> Result<Located, LogError> {
    let segments = whole_segments(log)?;
    let (Some(first), Some(newest)) = (segments.first(), segments.last()) else {
        if let Some(head) = log.head()?.filter(|head| head.synced > 0) {
            // There was a log, and nothing of it can be read.
            let path = folder::segment(&log.dir, head.segment);
            return Err(LogError::Damaged { path, offset: 0, seq: head.segment });
        }
        return Ok(match after.filter(|cursor| cursor.seq > 0) {
            None => Located::Nowhere,
            Some(_) => Located::Reset { place: None, to: Cursor { epoch: 1, seq: 0 } },
        });
    };
    let before_all = *first - 1;
    let newest = open(log, *newest)?;
    let at = |seq| place(log, &segments, seq).map(|place| Located::At { place, seq });
    let reset = |to: Cursor| {
        place(log, &segments, to.seq).map(|place| Located::Reset { place: Some(place), to })
    };
    let Some(cursor) = after else {
        return at(before_all);
    };
    if cursor.seq < before_all {
        let epoch = open(log, *first)?.epoch;
        return reset(Cursor { epoch, seq: before_all });
    }
    if cursor.epoch > newest.epoch {
        // It belongs to another log, so nothing of what its reader has can be relied on.
        return reset(Cursor { epoch: newest.epoch, seq: before_all });
    }
    // The last event of the cursor's epoch that is still in the log.
    let common = if cursor.epoch == newest.epoch {
        Cursor { epoch: newest.epoch, seq: last_of(log, &newest)? }
    } else {
        let mut common = Cursor { epoch: newest.epoch, seq: newest.first - 1 };
        for first in segments.iter().rev().skip(1) {
            let segment = open(log, *first)?;
            if segment.epoch <= cursor.epoch {
                break;
            }
            common = Cursor { epoch: segment.epoch, seq: segment.first - 1 };
        }
        common
    };
    if cursor.seq > common.seq { reset(common) } else { at(cursor.seq) }
}

/// The number of the first event of the log; none if it has none.
pub(super) fn first(log: &Log) -> Result<Option<u64>, LogError> {
    let segments = whole_segments(log)?;
    let last = last(log)?.map(|cursor| cursor.seq);
    Ok(segments.first().copied().filter(|first| last.is_some_and(|last| *first <= last)))
}

/// The last event of the log; none if it has none.
pub(super) fn last(log: &Log) -> Result<Option<Cursor>, LogError> {
    let segments = whole_segments(log)?;
    let Some(first) = segments.last() else { return Ok(None) };
    let newest = open(log, *first)?;
    let seq = last_of(log, &newest)?;
    Ok((seq > 0).then_some(Cursor { epoch: newest.epoch, seq }))
}

/// The last event of the newest segment, which the head tells, or else the lines themselves.
fn last_of(log: &Log, newest: &Segment) -> Result<u64, LogError> {
    let failed = |error| LogError::of("read", &newest.path, error);
    let len = newest.file.metadata().map_err(failed)?.len();
    match log.head()?.filter(|head| head.epoch == newest.epoch) {
        Some(head) if head.segment == newest.first && head.offset <= len => Ok(head.seq),
        // What was on the disk for certain counts, whether it can be read or not.
        Some(head) if head.segment >= newest.first => Ok(newest.scan()?.last.max(head.synced)),
        Some(_) | None => Ok(newest.scan()?.last),
    }
}

/// The segments, without one that a crash tore before it held anything.
fn whole_segments(log: &Log) -> Result<Vec<u64>, LogError> {
    let mut segments = log.segments()?;
    while let Some(first) = segments.last() {
        match Segment::open(&log.dir, *first)? {
            FoundSegment::Whole(_) => break,
            FoundSegment::Torn | FoundSegment::Absent => segments.pop(),
        };
    }
    Ok(segments)
}

fn open(log: &Log, first: u64) -> Result<Segment, LogError> {
    match Segment::open(&log.dir, first)? {
        FoundSegment::Whole(segment) => Ok(segment),
        FoundSegment::Torn | FoundSegment::Absent => {
            Err(LogError::Damaged { path: folder::segment(&log.dir, first), offset: 0, seq: first })
        }
    }
}

/// The place after the event `seq`, which is in the log.
fn place(log: &Log, segments: &[u64], seq: u64) -> Result<LogPosition, LogError> {
    let at = segments.partition_point(|first| *first <= seq + 1).saturating_sub(1);
    let segment = match open(log, segments.get(at).copied().unwrap_or(1)) {
        Err(error @ LogError::Damaged { .. }) => {
            // From the next one on there is something to read; the reader finds out what is lost before it.
            let later = segments.iter().skip(at + 1).find_map(|first| open(log, *first).ok());
            let segment = later.ok_or(error)?;
            return Ok(LogPosition { offset: segment.body, segment: Arc::new(segment) });
        }
        opened => opened?,
    };
    let head = log.head()?.filter(|head| {
        head.segment == segment.first && head.epoch == segment.epoch && head.seq == seq
    });
    let offset = match head {
        Some(head) => head.offset,
        None => after(log, &segment, seq)?,
    };
    Ok(LogPosition { segment: Arc::new(segment), offset })
}

/// Where the line of the event `seq` ends; if it is not there, where the last line before it ends.
fn after(log: &Log, segment: &Segment, seq: u64) -> Result<u64, LogError> {
    let failed = |error| LogError::of("read", &segment.path, error);
    let mut buffer = Vec::new();
    let hint = index::before(&folder::index(&log.dir, segment.first), seq);
    let (mut next, mut offset) = match hint {
        Some((entry, offset)) if begins(segment, entry, offset, &mut buffer).map_err(failed)? => {
            (entry, offset)
        }
        Some(_) | None => (segment.first, segment.body),
    };
    let mut unread = offset;
    while next <= seq {
        buffer.clear();
        let got = read_at(&segment.file, &mut buffer, PIECE, unread).map_err(failed)?;
        if got == 0 {
            break;
        }
        let missing = usize::try_from(seq + 1 - next).unwrap_or(usize::MAX);
        for end in memchr_iter(b'\n', &buffer).take(missing) {
            next += 1;
            offset = unread + end as u64 + 1;
        }
        unread += got as u64;
    }
    if begins(segment, seq + 1, offset, &mut buffer).map_err(failed)? {
        return Ok(offset);
    }
    // The lines do not tell by their count, so their numbers must.
    let numbers = seq + 1..=u64::MAX;
    let again = again(segment, segment.body, u64::MAX, numbers)?;
    Ok(again.map_or(offset, |again| again.offset))
}

/// Whether an entry of an index is true: the line of that event begins there.
fn begins(segment: &Segment, seq: u64, offset: u64, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
    if seq < segment.first || offset < segment.body {
        return Ok(false);
    }
    buffer.clear();
    read_at(&segment.file, buffer, 40, offset - 1)?;
    Ok(buffer.split_first().is_some_and(|(end, line)| *end == b'\n' && line_seq(line) == Some(seq)))
}
