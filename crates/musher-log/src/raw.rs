//! What an agent wrote, byte for byte, in compressed frames that can each be read alone.

mod find;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::error::LogError;
use super::folder;

pub use find::read;

/// How much of the stream is in one frame at most; small, because a runner holds as much in memory.
pub const FRAME_BYTES: usize = 128 * 1024;
/// A file is not made longer than this.
pub const FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Speed matters more than size here.
const LEVEL: i32 = 1;
/// Shorter matches are not worth looking for in what agents print: it packs as well without them, and a tenth faster.
const MATCH: CParameter = CParameter::MinMatch(7);
/// What the buffer keeps when the agent falls silent.
const KEPT: usize = 16 * 1024;

/// Writes the raw files of one run.
///
/// After [`LogError::Full`] the bytes are still held: stop pushing, and flush again when there is room. After any other
/// error nothing more is kept, and every call says so; a run can go on without its raw files.
#[derive(Debug)]
pub struct RawWriter {
    dir: PathBuf,
    file_bytes: u64,
    /// Where the buffer begins in the stream.
    offset: u64,
    buffer: Vec<u8>,
    state: State,
    compressor: Option<Packer>,
}

#[derive(Debug)]
enum State {
    /// Nothing was written yet.
    Fresh,
    Open {
        file: File,
        path: PathBuf,
        len: u64,
        index: Option<(File, u64)>,
        unsynced: bool,
    },
    Broken {
        why: String,
    },
}

struct Packer {
    compressor: Compressor<'static>,
    out: Vec<u8>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl RawWriter {
    /// A writer of a run's raw files; the first file is made with the first bytes.
    pub fn new(dir: &Path) -> Self {
        Self::with_file_bytes(dir, FILE_BYTES)
    }

    /// As [`RawWriter::new`], with files of another size.
    pub fn with_file_bytes(dir: &Path, file_bytes: u64) -> Self {
        Self {
            dir: dir.to_owned(),
            file_bytes,
            offset: 0,
            buffer: Vec::new(),
            state: State::Fresh,
            compressor: None,
        }
    }

    /// Takes the next bytes of the stream, with its secrets masked already. They are taken even if this fails.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), LogError> {
        self.usable()?;
        while self.buffer.len() + bytes.len() >= FRAME_BYTES {
            let (now, later) = bytes.split_at(FRAME_BYTES.saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if let Err(error) = self.write_frame() {
                if error.is_full() {
                    self.buffer.extend_from_slice(bytes);
                }
                return Err(error);
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what is held, so that readers find it; worth it when the agent falls silent, not after every line.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.usable()?;
        while !self.buffer.is_empty() {
            self.write_frame()?;
        }
        self.compressor = None;
        self.buffer.shrink_to(KEPT);
        Ok(())
    }

    /// Flushes, and returns when the file is on the disk.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.flush()?;
        self.state.sync(&self.dir).map_err(|error| self.broke(error))
    }

    /// How many bytes of the stream were taken.
    pub fn stream_len(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    fn usable(&self) -> Result<(), LogError> {
        match &self.state {
            State::Fresh | State::Open { .. } => Ok(()),
            State::Broken { why } => Err(LogError::Poisoned { why: why.clone() }),
        }
    }

    /// Writes one frame from the start of the buffer.
    fn write_frame(&mut self) -> Result<(), LogError> {
        match self.try_write_frame() {
            Err(error) if !error.is_full() => Err(self.broke(error)),
            other => other,
        }
    }

    fn try_write_frame(&mut self) -> Result<(), LogError> {
        let frame = &self.buffer[..self.buffer.len().min(FRAME_BYTES)];
        let packer = match &mut self.compressor {
            Some(packer) => packer,
            none => none.insert(Packer::new().map_err(|e| LogError::of("pack", &self.dir, e))?),
        };
        let packed = packer.pack(frame).map_err(|e| LogError::of("pack", &self.dir, e))?;
        let full = match &self.state {
            State::Fresh => true,
            State::Open { len, .. } => *len > 0 && len + packed as u64 > self.file_bytes,
            State::Broken { .. } => false,
        };
        if full {
            self.state.sync(&self.dir)?;
            self.state = State::open(&self.dir, self.offset)?;
        }
        if let State::Open { file, path, len, index, unsynced } = &mut self.state {
            if let Err(error) = file.write_all_at(&packer.out[..packed], *len) {
                let cut = file.set_len(*len);
                return Err(LogError::of("write", path, cut.err().unwrap_or(error)));
            }
            if let Some((index_file, at)) = index {
                let mut record = [0; 16];
                record[..8].copy_from_slice(&self.offset.to_le_bytes());
                record[8..].copy_from_slice(&len.to_le_bytes());
                match index_file.write_all_at(&record, *at) {
                    Ok(()) => *at += 16,
                    Err(_) => *index = None,
                }
            }
            *len += packed as u64;
            *unsynced = true;
        }
        self.offset += frame.len() as u64;
        let frame = frame.len();
        self.buffer.drain(..frame);
        Ok(())
    }

    /// Gives up: what cannot be written must not fill the memory.
    fn broke(&mut self, error: LogError) -> LogError {
        self.state = State::Broken { why: error.to_string() };
        self.buffer = Vec::new();
        self.compressor = None;
        error
    }
}

impl State {
    fn open(dir: &Path, offset: u64) -> Result<Self, LogError> {
        let path = folder::raw(dir, offset);
        let create = untrusted::create;
        let file = create(&path).map_err(|error| LogError::of("create", &path, error))?;
        let index = create(&folder::raw_index(dir, offset)).ok().map(|file| (file, 0));
        Ok(Self::Open { file, path, len: 0, index, unsynced: false })
    }

    fn sync(&mut self, dir: &Path) -> Result<(), LogError> {
        let Self::Open { file, path, unsynced, .. } = self else { return Ok(()) };
        if !std::mem::take(unsynced) {
            return Ok(());
        }
        let synced = file.sync_data().and_then(|()| untrusted::sync_folder(dir));
        // A full disk is no excuse here: what the kernel could not write is gone.
        synced.map_err(|source| LogError::Io { doing: "sync", path: path.clone(), source })
    }
}

impl Packer {
    fn new() -> io::Result<Self> {
        let out = Vec::with_capacity(zstd::zstd_safe::compress_bound(FRAME_BYTES));
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(MATCH)?;
        // A frame that is damaged is known by it.
        compressor.include_checksum(true)?;
        Ok(Self { compressor, out })
    }

    fn pack(&mut self, frame: &[u8]) -> io::Result<usize> {
        self.out.clear();
        self.compressor.compress_to_buffer(frame, &mut self.out)
    }
}
