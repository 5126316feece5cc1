//! What can be told of a line without parsing it: every event starts `{"seq":N,"at":T,"type":"…"`.

use memchr::{memchr, memchr_iter, memrchr};

use super::damage::is_damage;

/// The number of the event in a line.
pub fn line_seq(line: &[u8]) -> Option<u64> {
    seq_and_rest(line).map(|(seq, _)| seq)
}

/// The kind of the event in a line, as it is written there; kinds that we do not know yet included.
pub fn line_kind(line: &[u8]) -> Option<&str> {
    let (_, rest) = seq_and_rest(line)?;
    let rest = rest.strip_prefix(b"\"at\":")?;
    let time = memchr(b',', rest)?;
    let rest = rest[time..].strip_prefix(b",\"type\":\"")?;
    let kind = &rest[..memchr(b'"', rest)?];
    std::str::from_utf8(kind).ok()
}

/// The time of the event in a line.
pub(super) fn line_at(line: &[u8]) -> Option<i64> {
    let (_, rest) = seq_and_rest(line)?;
    let rest = rest.strip_prefix(b"\"at\":")?;
    std::str::from_utf8(&rest[..memchr(b',', rest)?]).ok()?.parse().ok()
}

fn seq_and_rest(line: &[u8]) -> Option<(u64, &[u8])> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let mut seq: u64 = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'0'..=b'9' => seq = seq.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            b',' if at > 0 => return Some((seq, &rest[at + 1..])),
            _ => return None,
        }
    }
    None
}

/// The lines of a batch, each without its end.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', bytes).map(move |end| {
        let line = &bytes[start..end];
        start = end + 1;
        line
    })
}

/// A choice of kinds, by name, so that readers can pass over the rest without parsing it.
#[derive(Debug, Clone, Default)]
pub struct Kinds(Vec<Box<str>>);

impl Kinds {
    /// Only these; none means every kind.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Whether the event in a line is of a kind that was chosen. What stands for events that are lost always is, because
    /// nobody knows of what kind those were.
    pub fn has(&self, line: &[u8]) -> bool {
        self.0.is_empty()
            || line_kind(line).is_some_and(|kind| self.0.iter().any(|name| **name == *kind))
            || is_damage(line)
    }
}

/// How many bytes of `bytes` are whole lines that are numbered `first`, `first + 1` …, and the last number.
///
/// Only the edges are looked at when they agree with the count of lines; each line, when they do not.
pub(super) fn numbered(bytes: &[u8], first: u64) -> Option<(usize, u64)> {
    let end = memrchr(b'\n', bytes)?;
    let last_line = memrchr(b'\n', &bytes[..end]).map_or(0, |before| before + 1);
    let last = first.saturating_add(memchr_iter(b'\n', bytes).count() as u64 - 1);
    if line_seq(bytes) == Some(first) && line_seq(&bytes[last_line..end]) == Some(last) {
        return Some((end + 1, last));
    }
    let (mut good, mut next) = (0, first);
    for line in lines(bytes) {
        if line_seq(line) != Some(next) {
            break;
        }
        good += line.len() + 1;
        next += 1;
    }
    (good > 0).then(|| (good, next - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_kind_are_read_from_the_start_of_a_line() {
        let line = br#"{"seq":42,"at":-17,"type":"from_the_future","x":"\"type\":\"no\""}"#;
        assert_eq!(line_seq(line), Some(42));
        assert_eq!(line_kind(line), Some("from_the_future"));
        assert!(Kinds::new(["from_the_future"]).has(line));
        assert!(!Kinds::new(["notice"]).has(line));
        assert!(Kinds::default().has(line));
    }

    #[test]
    fn what_is_no_event_has_neither_number_nor_kind() {
        let lines: [&[u8]; 8] = [
            b"",
            b"\0\0\0\0",
            b"{\"seq\":,",
            b"{\"seq\":12",
            b"{\"seq\":-1,\"at\":1,",
            b"{\"seq\":99999999999999999999999,",
            b"{\"musher_log\":1}",
            b" {\"seq\":1,\"at\":1,\"type\":\"notice\"}",
        ];
        for line in lines {
            assert_eq!(line_seq(line), None);
            assert_eq!(line_kind(line), None);
        }
        assert_eq!(line_kind(b"{\"seq\":1,\"at\":1,\"type\":\"noti"), None);
    }

    #[test]
    fn a_batch_is_good_up_to_the_first_line_that_does_not_follow() {
        let good = b"{\"seq\":5,\"a\n{\"seq\":6,\"a\n";
        assert_eq!(numbered(good, 5), Some((good.len(), 6)));
        let gap = b"{\"seq\":5,\"a\n{\"seq\":7,\"a\n";
        assert_eq!(numbered(gap, 5), Some((good.len() / 2, 5)));
        assert_eq!(numbered(gap, 4), None);
        assert_eq!(numbered(b"{\"seq\":5,", 5), None);
    }
}
