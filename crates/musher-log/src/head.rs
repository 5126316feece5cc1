//! The head: how far a run log goes, in one small record that is overwritten in place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

use musher_os::untrusted;

use super::error::LogError;
use super::folder;

const MAGIC: [u8; 4] = *b"MLH1";
pub(super) const SIZE: usize = 48;
/// A read may meet a write; it meets no second one.
const TRIES: u32 = 4;

/// How far a run log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHead {
    pub epoch: u32,
    /// The first number of the segment that is being written.
    pub segment: u64,
    /// The last event.
    pub seq: u64,
    /// Where its line ends in the segment.
    pub offset: u64,
    /// The last event that is known to be on the disk.
    pub synced: u64,
}

impl LogHead {
    pub(super) fn encode(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.epoch.to_le_bytes());
        for (at, number) in [self.segment, self.seq, self.offset, self.synced].iter().enumerate() {
            bytes[8 + at * 8..16 + at * 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[..SIZE - 4]);
        bytes[SIZE - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let small = |at: usize| Some(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
        let number = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        let sound = bytes[..4] == MAGIC && small(SIZE - 4)? == crc32fast::hash(&bytes[..SIZE - 4]);
        if !sound {
            return None;
        }
        Some(Self {
            epoch: small(4)?,
            segment: number(8)?,
            seq: number(16)?,
            offset: number(24)?,
            synced: number(32)?,
        })
    }
}

/// The head of a folder as readers see it; the file is opened when it first appears.
#[derive(Debug, Default)]
pub struct HeadFile(OnceLock<File>);

impl HeadFile {
    /// The head, if there is one that is whole. Without one, a reader goes by the lines themselves.
    pub fn read(&self, dir: &Path) -> Result<Option<LogHead>, LogError> {
        let path = folder::head(dir);
        let file = match self.0.get() {
            Some(file) => file,
            None => match untrusted::open(&path) {
                Ok(file) => self.0.get_or_init(|| file),
                Err(unfit) if unfit.is_missing() => return Ok(None),
                Err(unfit) => return Err(LogError::of("open", &path, unfit.into_io())),
            },
        };
        read(file).map_err(|error| LogError::of("read", &path, error))
    }
}

fn read(file: &File) -> io::Result<Option<LogHead>> {
    let mut bytes = [0; SIZE];
    for _ in 0..TRIES {
        if file.read_at(&mut bytes, 0)? == SIZE
            && let Some(head) = LogHead::decode(&bytes)
        {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back_and_one_changed_bit_makes_it_none() {
        let head = LogHead { epoch: 2, segment: 1, seq: 77, offset: 4096, synced: 70 };
        let bytes = head.encode();
        assert_eq!(LogHead::decode(&bytes), Some(head));
        for bit in 0..SIZE * 8 {
            let mut torn = bytes;
            torn[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(LogHead::decode(&torn), None, "bit {bit}");
        }
        assert_eq!(LogHead::decode(&[0; SIZE]), None);
    }
}
