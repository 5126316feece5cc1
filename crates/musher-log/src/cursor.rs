//! A place in a run log that a reader can come back to.

use std::fmt;
use std::str::FromStr;

/// The last event that a reader has: its number, and the epoch in which it was read. Written `epoch.seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub epoch: u32,
    /// 0 stands before the first event.
    pub seq: u64,
}

/// A text that is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place in a run log; write `epoch.seq`, such as 1.42")]
pub struct CursorError(String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        // A reader's own words come back to us in an error, so only a little of them is kept.
        let wrong = || CursorError(text.chars().take(40).collect());
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let (epoch, seq) = text.split_once('.').ok_or_else(wrong)?;
        if !digits(epoch) || !digits(seq) {
            return Err(wrong());
        }
        let epoch = epoch.parse().map_err(|_| wrong())?;
        let seq = seq.parse().map_err(|_| wrong())?;
        Ok(Self { epoch, seq })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        let cursor = Cursor { epoch: 3, seq: 1_000_000 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for wrong in ["", "1", "1.", ".1", "+1.2", "1.-2", "1.2.3", "99999999999.1", "1.x", " 1.2"]
        {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
