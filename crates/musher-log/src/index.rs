//! The sparse index of a segment: where some of its lines begin. It saves time, and nothing depends on it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use musher_os::untrusted;

/// An entry is made after this much of a segment, or after this many events.
const INDEX_ENTRY_BYTES: u64 = 64 * 1024;
const INDEX_ENTRY_EVENTS: u64 = 512;
const RECORD: usize = 16;
/// More than any index of a segment of 64 MiB.
const MAX_INDEX_BYTES: u64 = 1024 * 1024;

/// The index that is being written.
#[derive(Debug)]
pub(super) struct IndexWriter {
    /// Absent when it could not be made or written: readers then scan.
    file: Option<File>,
    written: u64,
    bytes: u64,
    events: u64,
    /// Entries of lines that are not written yet, with offsets inside their batch.
    pending: Vec<(u64, u64)>,
    record: Vec<u8>,
}

impl IndexWriter {
    pub(super) fn new(path: &Path) -> Self {
        let mut index = Self {
            file: None,
            written: 0,
            bytes: 0,
            events: 0,
            pending: Vec::new(),
            record: Vec::new(),
        };
        index.begin(path);
        index
    }

    /// Begins the index of another segment; what is pending goes there.
    pub(super) fn begin(&mut self, path: &Path) {
        self.file = untrusted::empty(path).ok();
        self.written = 0;
    }

    /// Notes a line that begins at `offset` of the batch.
    pub(super) fn line(&mut self, seq: u64, offset: usize, len: usize) {
        if self.bytes >= INDEX_ENTRY_BYTES || self.events >= INDEX_ENTRY_EVENTS {
            self.pending.push((seq, offset as u64));
            (self.bytes, self.events) = (0, 0);
        }
        self.bytes += len as u64;
        self.events += 1;
    }

    /// The batch was written at `base`.
    pub(super) fn commit(&mut self, base: u64) {
        let Some(file) = self.file.as_ref().filter(|_| !self.pending.is_empty()) else {
            self.pending.clear();
            return;
        };
        self.record.clear();
        for (seq, offset) in self.pending.drain(..) {
            self.record.extend(seq.to_le_bytes());
            self.record.extend((base + offset).to_le_bytes());
        }
        match file.write_all_at(&self.record, self.written) {
            Ok(()) => self.written += self.record.len() as u64,
            Err(_) => self.file = None,
        }
    }

    /// The batch was not written.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }
}

/// The last entry at or before `seq`: a number, and where its line should begin.
pub(super) fn before(path: &Path, seq: u64) -> Option<(u64, u64)> {
    let file = untrusted::open(path).ok()?;
    let len = usize::try_from(file.metadata().ok()?.len().min(MAX_INDEX_BYTES)).ok()?;
    let mut bytes = vec![0; len / RECORD * RECORD];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut found = None;
    for record in bytes.chunks_exact(RECORD) {
        let (entry, offset) = record.split_at(RECORD / 2);
        if number(entry) > seq {
            break;
        }
        found = Some((number(entry), number(offset)));
    }
    found
}
