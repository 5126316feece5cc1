//! Damage in a run log: where it is, what is lost by it, and the line that stands in its place.
//!
//! Readers for people go on behind it. What they get in its place is a notice of level `error` with the code `unreadable`,
//! numbered as the last event that is lost, so that every client shows it without knowing of it.

use std::fmt;
use std::path::Path;

use memchr::memchr;
use serde::Serialize;
use serde::de::IgnoredAny;

use super::encode::MAX_LINE_BYTES;
use super::error::LogError;
use super::line::{line_at, line_seq};
use super::segment::{Segment, read_at};

/// How much is looked at at a time.
const PIECE: usize = 256 * 1024;
/// How a line of a kind stands that tells of damage, after its number and time.
const TOLD: &[u8] = br#""type":"notice","level":"error","code":"unreadable","#;

/// A stretch of a log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The first and the last event that are lost.
    pub from: u64,
    pub to: u64,
    /// The file, by its name in the run's folder, and the byte after which it is damaged.
    pub segment: String,
    pub offset: u64,
    pub why: Why,
}

/// What is wrong with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// What stands there is no event, or not the next one.
    Garbled,
    /// The file ends too early.
    Short,
    /// The file is not there, or does not begin as it should.
    Missing,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, segment, offset, why } = self;
        match from == to {
            true => write!(f, "event {from} cannot be read: ")?,
            false => write!(f, "events {from} to {to} cannot be read: ")?,
        }
        match why {
            Why::Garbled => write!(f, "{segment} is damaged after byte {offset}")?,
            Why::Short => write!(f, "{segment} ends too early, after byte {offset}")?,
            Why::Missing => write!(f, "{segment} is missing, or the file before it is short")?,
        }
        write!(f, "; the log continues with event {}", to + 1)
    }
}

impl Damage {
    /// Writes the line that stands for what is lost.
    pub(super) fn line(&self, at: i64, out: &mut Vec<u8>) -> Result<(), LogError> {
        let failed =
            |error: serde_json::Error| LogError::Encode { seq: self.to, why: error.to_string() };
        out.extend_from_slice(format!(r#"{{"seq":{},"at":{at},"#, self.to).as_bytes());
        out.extend_from_slice(TOLD);
        out.extend_from_slice(br#""text":"#);
        serde_json::to_writer(&mut *out, &self.to_string()).map_err(failed)?;
        out.extend_from_slice(br#","damage":"#);
        serde_json::to_writer(&mut *out, self).map_err(failed)?;
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    pub(super) fn error(&self, dir: &Path) -> LogError {
        let path = dir.join(&self.segment);
        LogError::Damaged { path, offset: self.offset, seq: self.from }
    }
}

/// Whether a line stands for events that are lost.
pub fn is_damage(line: &[u8]) -> bool {
    let after_number = memchr(b',', line).map(|end| &line[end + 1..]);
    let after_time = after_number.and_then(|rest| Some(&rest[memchr(b',', rest)? + 1..]));
    after_time.is_some_and(|rest| rest.starts_with(TOLD))
}

/// How many bytes at the beginning of whole lines are events that can be read, numbered from `first` on.
pub(super) fn sound(lines: &[u8], first: u64) -> usize {
    let text = match std::str::from_utf8(lines) {
        Ok(text) => text,
        // What comes before the letter that is none may be sound.
        Err(error) => std::str::from_utf8(&lines[..error.valid_up_to()]).unwrap_or_default(),
    };
    let (mut good, mut seq) = (0, first);
    while let Some(end) = memchr(b'\n', &text.as_bytes()[good..]) {
        let line = &text[good..good + end];
        if line_seq(line.as_bytes()) != Some(seq)
            || serde_json::from_str::<IgnoredAny>(line).is_err()
        {
            break;
        }
        good += end + 1;
        seq += 1;
    }
    good
}

/// Where a segment can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResumePoint {
    pub(super) offset: u64,
    pub(super) seq: u64,
    pub(super) at: i64,
}

/// The first event from a place on that can be read and is one of those that are looked for. Its number must fit the line
/// after it, because a number can be damaged too.
pub(super) fn again(
    segment: &Segment,
    from: u64,
    limit: u64,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<Option<ResumePoint>, LogError> {
    let mut found: Option<ResumePoint> = None;
    let mut lines = Lines { segment, next: from, limit, buffer: Vec::new(), used: 0, skip: false };
    while let Some((offset, line)) = lines.next()? {
        let seq = line_seq(line).filter(|_| sound_line(line));
        if let Some(before) = found
            && seq == Some(before.seq + 1)
        {
            return Ok(found);
        }
        let fits = |seq: &u64| numbers.contains(seq);
        found =
            seq.filter(fits).map(|seq| ResumePoint { offset, seq, at: line_at(line).unwrap_or(0) });
    }
    Ok(found)
}

fn sound_line(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| serde_json::from_str::<IgnoredAny>(line).is_ok())
}

/// The time of the last event before a place.
pub(super) fn time_before(segment: &Segment, offset: u64) -> Option<i64> {
    let from = segment.body.max(offset.saturating_sub(PIECE as u64));
    let want = usize::try_from(offset.saturating_sub(from)).ok()?;
    let mut buffer = Vec::new();
    read_at(&segment.file, &mut buffer, want, from).ok()?;
    super::line::lines(&buffer).filter_map(line_at).last()
}

/// The whole lines of a stretch of a segment, each with where it begins; what is longer than a line can be is passed over.
struct Lines<'a> {
    segment: &'a Segment,
    /// Where the buffer ends in the file.
    next: u64,
    limit: u64,
    buffer: Vec<u8>,
    used: usize,
    /// What was passed over has not ended yet.
    skip: bool,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<(u64, &[u8])>, LogError> {
        loop {
            if let Some(end) = memchr(b'\n', &self.buffer[self.used..]) {
                let line = self.used..self.used + end;
                self.used = line.end + 1;
                if std::mem::take(&mut self.skip) {
                    continue;
                }
                let offset = self.next - (self.buffer.len() - line.start) as u64;
                return Ok(Some((offset, &self.buffer[line])));
            }
            self.buffer.drain(..self.used);
            self.used = 0;
            if self.buffer.len() > MAX_LINE_BYTES {
                self.buffer.clear();
                self.skip = true;
            }
            let left = usize::try_from(self.limit.saturating_sub(self.next)).unwrap_or(usize::MAX);
            let got = read_at(&self.segment.file, &mut self.buffer, PIECE.min(left), self.next)
                .map_err(|error| LogError::of("read", &self.segment.path, error))?;
            if got == 0 {
                return Ok(None);
            }
            self.next += got as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{line_kind, line_seq};
    use super::*;

    #[test]
    fn the_line_of_a_damage_is_an_event_that_tells_where_and_what() {
        let segment = "events-00000001.jsonl".to_owned();
        let damage = Damage { from: 5, to: 9, segment, offset: 77, why: Why::Garbled };
        let mut line = Vec::new();
        damage.line(1_000, &mut line).unwrap();
        let event: musher_core::Event = serde_json::from_slice(&line).unwrap();
        assert_eq!((event.seq, event.at), (9, 1_000));
        assert_eq!((line_seq(&line), line_kind(&line)), (Some(9), Some("notice")));
        assert!(is_damage(&line));
        let read: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let text = "events 5 to 9 cannot be read: events-00000001.jsonl is damaged after byte 77; \
                    the log continues with event 10";
        assert_eq!(read["text"], text);
        assert_eq!(read["damage"]["from"], 5);
        assert_eq!(read["damage"]["why"], "garbled");
    }

    #[test]
    fn lines_are_sound_up_to_the_first_that_is_no_json() {
        let good = b"{\"seq\":6,\"at\":1}\n";
        let after = |rest: &[u8]| [good, &b"{\"seq\":7,"[..], rest].concat();
        let whole = after(b"\"b\":\"\xc3\xa4\"}\n");
        assert_eq!(sound(&whole, 6), whole.len());
        assert_eq!(sound(&whole, 5), 0);
        let bad: [&[u8]; 5] =
            [b"\"b\":\"\0\"}\n", b"\"b\":\"\xff\"}\n", b"\"b:1}\n", b"\"b\":1}}\n", b"\n"];
        for bad in bad {
            assert_eq!(sound(&after(bad), 6), good.len(), "{bad:?}");
        }
        assert_eq!(sound(&[&good[..], good].concat(), 6), good.len());
        assert!(!is_damage(br#"{"seq":1,"at":1,"type":"notice","level":"error","code":"x"}"#));
    }
}
