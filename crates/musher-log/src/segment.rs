//! One segment of a run log: its header, its making, and the search for its last whole line.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::memchr;
use musher_os::untrusted;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::disk::LogDisk;
use super::encode::MAX_LINE_BYTES;
use super::error::LogError;
use super::line::{line_kind, line_seq};
use super::looked_at::LookedAt;
use super::{VERSION, folder};

/// No header is longer.
const MAX_HEADER_BYTES: usize = 4096;
/// How much is read at a time when every line is looked at.
const PIECE: usize = 256 * 1024;

/// The first line of a segment.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    musher_log: u32,
    #[serde(default)]
    run: String,
    #[serde(default)]
    epoch: u32,
    #[serde(default)]
    first: u64,
}

/// A segment whose header is whole.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) run: String,
    pub(super) epoch: u32,
    pub(super) first: u64,
    /// Where the first event begins.
    pub(super) body: u64,
    /// Up to here its lines were looked at and found sound, so that each is looked at once however many read it.
    pub(super) sound: LookedAt,
}

/// What stands under a segment's name.
#[derive(Debug)]
pub(super) enum FoundSegment {
    Whole(Segment),
    /// A crash tore it before it held anything.
    Torn,
    Absent,
}

/// How far a segment is sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentTail {
    /// The last event; the number before the first, if there is none.
    pub(super) last: u64,
    /// Where its line ends.
    pub(super) offset: u64,
    /// Where the file ends.
    pub(super) len: u64,
}

impl Segment {
    pub(super) fn open(dir: &Path, first: u64) -> Result<FoundSegment, LogError> {
        let path = folder::segment(dir, first);
        let file = match untrusted::open(&path) {
            Ok(file) => file,
            Err(unfit) if unfit.is_missing() => return Ok(FoundSegment::Absent),
            Err(unfit) => return Err(LogError::of("open", &path, unfit.into_io())),
        };
        let mut bytes = Vec::new();
        read_at(&file, &mut bytes, MAX_HEADER_BYTES, 0)
            .map_err(|error| LogError::of("read", &path, error))?;
        let Some(end) = memchr(b'\n', &bytes) else {
            return Ok(FoundSegment::Torn);
        };
        let Ok(header) = serde_json::from_slice::<Header>(&bytes[..end]) else {
            return Ok(FoundSegment::Torn);
        };
        if header.musher_log > VERSION {
            return Err(LogError::Newer { path, version: header.musher_log });
        }
        if header.first != first {
            return Ok(FoundSegment::Torn);
        }
        let Header { run, epoch, .. } = header;
        let body = end as u64 + 1;
        let sound = LookedAt::of(&file, body);
        Ok(FoundSegment::Whole(Self { file, path, run, epoch, first, body, sound }))
    }

    /// Makes a segment with its header, in place of whatever had its name. It appears as a whole.
    pub(super) fn create(
        dir: &Path,
        run: &str,
        epoch: u32,
        first: u64,
        disk: &impl LogDisk,
    ) -> Result<Self, LogError> {
        let unborn = folder::unborn_segment(dir);
        let path = folder::segment(dir, first);
        let file = untrusted::empty(&unborn)
            .map_err(|unfit| LogError::of("create", &unborn, unfit.into_io()))?;
        let header = Header { musher_log: VERSION, run: run.to_owned(), epoch, first };
        let mut line = serde_json::to_vec(&header)
            .map_err(|error| LogError::Encode { seq: first, why: error.to_string() })?;
        line.push(b'\n');
        let made = disk.write_all_at(&file, &line, 0).and_then(|()| fs::rename(&unborn, &path));
        made.map_err(|error| LogError::of("create", &path, error))?;
        let (run, body) = (run.to_owned(), line.len() as u64);
        let sound = LookedAt::of(&file, body);
        Ok(Self { file, path, run, epoch, first, body, sound })
    }

    /// Looks at every line and stops at the first that is not whole, not JSON or not the next event.
    ///
    /// After a loss of power a file may end in zeros, and a line may be glued to the end of a later one.
    pub(super) fn scan(&self) -> Result<SegmentTail, LogError> {
        let failed = |error| LogError::of("read", &self.path, error);
        let len = self.file.metadata().map_err(failed)?.len();
        let mut tail = SegmentTail { last: self.first - 1, offset: self.body, len };
        let mut buffer = Vec::new();
        let mut want = PIECE;
        loop {
            buffer.clear();
            let got = read_at(&self.file, &mut buffer, want, tail.offset).map_err(failed)?;
            let mut used = 0;
            while let Some(end) = memchr(b'\n', &buffer[used..got]) {
                let line = &buffer[used..used + end];
                if !is_event(line, tail.last + 1) {
                    return Ok(tail);
                }
                tail.last += 1;
                used += end + 1;
                tail.offset += end as u64 + 1;
            }
            if got < want {
                return Ok(tail);
            }
            match used {
                0 if want > MAX_LINE_BYTES => return Ok(tail),
                0 => want = (want * 4).min(MAX_LINE_BYTES + 1),
                _ => want = PIECE,
            }
        }
    }
}

fn is_event(line: &[u8], seq: u64) -> bool {
    line_seq(line) == Some(seq)
        && line_kind(line).is_some()
        && std::str::from_utf8(line).is_ok()
        && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// Appends up to `want` bytes of a file to the buffer and tells how many; fewer only at the file's end.
pub(super) fn read_at(
    file: &File,
    buffer: &mut Vec<u8>,
    want: usize,
    at: u64,
) -> io::Result<usize> {
    let start = buffer.len();
    buffer.reserve(want);
    while buffer.len() - start < want {
        let done = buffer.len() - start;
        let at = at + done as u64;
        let got = if buffer.capacity() - start > 2 * want {
            // So much room is not to be filled for so little, so the file is read into a part of it.
            buffer.resize(start + want, 0);
            let got = file.read_at(&mut buffer[start + done..], at);
            buffer.truncate(start + done + got.as_ref().copied().unwrap_or(0));
            got
        } else {
            rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), at).map_err(Into::into)
        };
        match got {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(start + want);
    Ok(buffer.len() - start)
}
