//! How a reader gets past what it cannot read: what is lost by it is found out, and told or refused.

use std::sync::Arc;

use super::super::cursor::Cursor;
use super::super::damage::{Damage, ResumePoint, Why, again, time_before};
use super::super::error::LogError;
use super::super::folder;
use super::super::head::LogHead;
use super::super::segment::{FoundSegment, Segment};
use super::{Log, LogBatch, LogPosition, LogRead, LogReader, OnDamage};

/// What stood where a reader could not go on.
pub(super) enum Passed {
    /// Nothing that should be there.
    Nothing,
    /// All that was lost to the end of the log; it was told before.
    All,
    /// Something that is no event, and nothing is lost by it.
    Stray,
    /// Events that are lost, and the time at which they should stand.
    Lost(Damage, i64),
}

impl Log {
    /// The name of the file in which an event should be.
    fn segment_of(&self, seq: u64) -> Result<String, LogError> {
        let there = self.segments()?.into_iter().rev().find(|first| *first <= seq);
        // One that is there and whole ends before the event, so the event began the next one.
        let torn = there.filter(|first| {
            !matches!(Segment::open(&self.dir, *first), Ok(FoundSegment::Whole(_)))
        });
        Ok(folder::name(&folder::segment(&self.dir, torn.unwrap_or(seq))))
    }
}

impl LogReader {
    /// What a reader gets in place of what is lost.
    pub(super) fn told(
        &self,
        damage: &Damage,
        at: i64,
        buffer: &mut Vec<u8>,
    ) -> Result<LogRead, LogError> {
        if self.damage == OnDamage::Stop {
            return Err(damage.error(&self.log.dir));
        }
        let start = buffer.len();
        damage.line(at, buffer)?;
        let Cursor { epoch, seq } = self.cursor();
        let lines = start..buffer.len();
        Ok(LogRead::Lines(LogBatch { lines, epoch, first: seq, last: seq, end: false }))
    }

    /// Steps over what cannot be read where something must be; a reader that stops at damage stays where it is.
    pub(super) fn pass(&mut self, head: Option<LogHead>) -> Result<Passed, LogError> {
        let Some(place) = &self.place else { return Ok(Passed::Nothing) };
        let (segment, offset, next) = (Arc::clone(&place.segment), place.offset, self.seq + 1);
        let here = head.filter(|head| (head.segment, head.epoch) == (segment.first, segment.epoch));
        if here.is_some_and(|head| next > head.synced) {
            // What is not on the disk for certain may still be taken back.
            return Ok(Passed::Nothing);
        }
        let later = match here {
            Some(_) => None,
            None => self.later(&segment, next)?,
        };
        if head.is_none() && later.is_none() && !self.is_closed() {
            // Nobody says how far the log goes, and whoever closes it cuts what a crash has torn.
            return Ok(Passed::Nothing);
        }
        let most = match (here, &later) {
            (Some(head), _) => head.seq,
            (None, Some(later)) => later.first - 1,
            (None, None) => u64::MAX,
        };
        let limit = here.map_or(u64::MAX, |head| head.offset);
        let found = match next <= most {
            true => again(&segment, offset, limit, next..=most)?,
            false => None,
        };
        let len = segment.file.metadata().map_or(0, |meta| meta.len());
        let (to, place, at) = match (found, here, later) {
            (Some(ResumePoint { offset, seq, at }), _, _) => {
                (seq - 1, LogPosition { segment: Arc::clone(&segment), offset }, Some(at))
            }
            (None, Some(head), _) => {
                let offset = head.offset;
                (head.synced, LogPosition { segment: Arc::clone(&segment), offset }, None)
            }
            (None, None, Some(later)) => {
                let offset = later.body;
                (later.first - 1, LogPosition { segment: Arc::new(later), offset }, None)
            }
            // The file that is being written, or was last, is gone.
            (None, None, None) => match head {
                Some(head) if head.segment > segment.first && head.epoch == segment.epoch => {
                    if next > head.synced {
                        return Ok(Passed::All);
                    }
                    (head.synced, LogPosition { segment: Arc::clone(&segment), offset: len }, None)
                }
                Some(_) | None => return Ok(Passed::Nothing),
            },
        };
        if to < next {
            // Nothing is lost; only what stands in between is none of ours.
            let moved = (place.segment.first, place.offset) != (segment.first, offset);
            self.place = Some(place);
            return Ok(if moved && to + 1 == next { Passed::Stray } else { Passed::Nothing });
        }
        let (why, name, offset) = match (offset < len, next < segment.first) {
            (_, true) => (Why::Missing, self.log.segment_of(next)?, 0),
            (true, false) => (Why::Garbled, folder::name(&segment.path), offset),
            (false, false) if place.segment.first != segment.first || here.is_none() => {
                (Why::Missing, self.log.segment_of(next)?, 0)
            }
            (false, false) => (Why::Short, folder::name(&segment.path), offset),
        };
        let at = at.or_else(|| time_before(&segment, offset)).unwrap_or(0);
        if self.damage == OnDamage::Tell {
            (self.place, self.seq) = (Some(place), to);
        }
        Ok(Passed::Lost(Damage { from: next, to, segment: name, offset, why }, at))
    }

    /// The next segment that can be read, if there is one behind this one and at or behind this number.
    fn later(&self, segment: &Segment, next: u64) -> Result<Option<Segment>, LogError> {
        for first in self.log.segments()? {
            if first > segment.first
                && first >= next
                && let FoundSegment::Whole(later) = Segment::open(&self.log.dir, first)?
                && later.epoch >= segment.epoch
            {
                return Ok(Some(later));
            }
        }
        Ok(None)
    }
}
