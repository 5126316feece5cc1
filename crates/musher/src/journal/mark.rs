//! How far a journal has come, in a small record outside of it: a journal that lost its end cannot tell so itself.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const MAGIC: [u8; 4] = *b"MJM1";
const SIZE: usize = 56;

/// The numbers that a journal has given away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GivenNumbers {
    pub(super) fact: u64,
    pub(super) run: u64,
    pub(super) story: u64,
}

/// The record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRecord {
    /// Which journal it is about.
    pub(super) journal: u128,
    /// Runs that name no journal are this one's.
    pub(super) unnamed: bool,
    pub(super) given: GivenNumbers,
}

impl NumberRecord {
    fn encode(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4] = u8::from(self.unnamed);
        bytes[8..24].copy_from_slice(&self.journal.to_le_bytes());
        let GivenNumbers { fact, run, story } = self.given;
        for (at, number) in [fact, run, story].iter().enumerate() {
            bytes[24 + at * 8..32 + at * 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[..SIZE - 4]);
        bytes[SIZE - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let sum = u32::from_le_bytes(bytes[SIZE - 4..].try_into().ok()?);
        if bytes[..4] != MAGIC || sum != crc32fast::hash(&bytes[..SIZE - 4]) {
            return None;
        }
        let number = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        Some(Self {
            journal: u128::from_le_bytes(bytes[8..24].try_into().ok()?),
            unnamed: bytes[4] == 1,
            given: GivenNumbers { fact: number(24)?, run: number(32)?, story: number(40)? },
        })
    }
}

/// The file that holds the record. It is overwritten after each commit and not synced: the journal is, and a record that is
/// behind raises no false alarm.
#[derive(Debug)]
pub(super) struct MarkFile(File);

impl MarkFile {
    /// Opens the file, and gives what it says, if it says anything.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<NumberRecord>)> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(path)?;
        let mut bytes = [0; SIZE];
        let whole = file.read_at(&mut bytes, 0)? == SIZE;
        let mark = whole.then(|| NumberRecord::decode(&bytes)).flatten();
        Ok((Self(file), mark))
    }

    pub(super) fn write(&self, mark: NumberRecord) -> io::Result<()> {
        self.0.write_all_at(&mark.encode(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_one_changed_bit_makes_it_none() {
        let given = GivenNumbers { fact: 500, run: 7, story: 3 };
        let mark = NumberRecord { journal: 0x1234 << 64, unnamed: true, given };
        let bytes = mark.encode();
        assert_eq!(NumberRecord::decode(&bytes), Some(mark));
        for bit in 0..SIZE * 8 {
            let mut torn = bytes;
            torn[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(NumberRecord::decode(&torn), None, "bit {bit}");
        }
    }
}
