//! A page that is read backwards: the events that stand before a number, given in their order.

use std::collections::VecDeque;

use super::{Close, Ends, MAX_SCANNED_BYTES, PAGE_BYTES, PIECE};
use musher_log::{Cursor, Kinds, LogError, LogRead, LogReader, is_damage, lines};

/// At least so many events are looked at in one stride, so that rare kinds are found in few of them.
const STRIDE: u64 = 512;

/// The last events before a number, found from the end of the log.
pub(super) fn page(
    end: LogReader,
    before: u64,
    limit: usize,
    kinds: Option<&Kinds>,
) -> Result<Vec<u8>, LogError> {
    let reader = end.past_damage();
    let ends = Ends::of(&reader)?;
    let epoch = reader.cursor().epoch;
    let (first, last) = (ends.first.unwrap_or(1), ends.last.unwrap_or(0));
    let stride = STRIDE.max(u64::try_from(limit).unwrap_or(STRIDE));
    let mut low = before.clamp(first, last.max(first - 1) + 1);
    let end = low > last;
    let mut found = Found { limit, ..Found::default() };
    let mut next = Cursor { epoch, seq: low - 1 };
    while low > first && !found.is_full() && found.looked < MAX_SCANNED_BYTES {
        let high = low;
        low = high.saturating_sub(stride).max(first);
        let after = Cursor { epoch, seq: low - 1 };
        let stretch = Stretch::read(reader.beside(Some(after))?, high, kinds)?;
        found.looked += stretch.looked;
        for (place, line) in stretch.events.into_iter().rev() {
            found.put(place, line);
        }
        found.overfull |= stretch.overfull;
    }
    if let Some((last, _)) = found.events.back() {
        next = *last;
    }
    // What did not fit stands before what did; otherwise everything down to `low` was looked at.
    let down_to = match found.overfull {
        true => found.events.front().map_or(low, |(place, _)| place.seq),
        false => low,
    };
    let prev = Some(down_to).filter(|down_to| *down_to > first);
    let mut out = br#"{"events":["#.to_vec();
    for (at, (_, line)) in found.events.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(line);
    }
    Close { next, end, reset: false, prev, ends }.write(&mut out);
    Ok(out)
}

/// What was found so far, the newest last.
#[derive(Default)]
struct Found {
    events: VecDeque<(Cursor, Vec<u8>)>,
    limit: usize,
    bytes: usize,
    /// Something did not fit.
    overfull: bool,
    looked: usize,
}

impl Found {
    fn is_full(&self) -> bool {
        self.overfull || self.events.len() >= self.limit
    }

    fn put(&mut self, place: Cursor, line: Vec<u8>) {
        let too_long = !self.events.is_empty() && self.bytes + line.len() > PAGE_BYTES;
        if self.is_full() || too_long {
            self.overfull = true;
            return;
        }
        self.bytes += line.len();
        self.events.push_front((place, line));
    }
}

/// The last events of a stretch of the log that are of the chosen kinds.
#[derive(Default)]
struct Stretch {
    events: VecDeque<(Cursor, Vec<u8>)>,
    bytes: usize,
    /// The first ones were dropped, because a page could not hold them anyway.
    overfull: bool,
    looked: usize,
}

impl Stretch {
    fn read(mut reader: LogReader, before: u64, kinds: Option<&Kinds>) -> Result<Self, LogError> {
        let mut stretch = Self::default();
        let mut piece = Vec::new();
        loop {
            piece.clear();
            let from = reader.cursor().seq + 1;
            let batch = match reader.read(&mut piece, PIECE)? {
                LogRead::Lines(batch) => batch,
                LogRead::Reset { .. } => continue,
                LogRead::End => return Ok(stretch),
            };
            for (seq, line) in (batch.first..).zip(lines(&piece[batch.lines.clone()])) {
                if seq >= before {
                    // What is lost may begin before the number and end after it.
                    if from < before && is_damage(line) {
                        stretch.push(Cursor { epoch: batch.epoch, seq }, line);
                    }
                    return Ok(stretch);
                }
                stretch.looked += line.len();
                if kinds.is_none_or(|kinds| kinds.has(line)) {
                    stretch.push(Cursor { epoch: batch.epoch, seq }, line);
                }
            }
        }
    }

    fn push(&mut self, place: Cursor, line: &[u8]) {
        self.bytes += line.len();
        self.events.push_back((place, line.to_vec()));
        while self.bytes > PAGE_BYTES && self.events.len() > 1 {
            let Some((_, gone)) = self.events.pop_front() else { break };
            self.bytes -= gone.len();
            self.overfull = true;
        }
    }
}
