//! Finds a piece of an agent's output again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use musher_core::RawRef;
use musher_os::untrusted;
use zstd::zstd_safe;

use super::super::error::LogError;
use super::super::folder;
use super::super::index;
use super::super::segment::read_at;

/// No frame holds more of the stream; other writers may make longer ones than ours.
const MAX_RAW_FRAME_BYTES: usize = 256 * 1024;

/// A frame: where it stands in its file, and in the stream.
#[derive(Debug, Clone, Copy)]
struct Frame {
    at: u64,
    packed: usize,
    offset: u64,
    len: usize,
}

/// The bytes of the stream that a reference names. What was not flushed when the writer died is missing at the end.
pub fn read(dir: &Path, wanted: RawRef) -> Result<Vec<u8>, LogError> {
    let failed = |error| LogError::of("read", dir, error);
    let end = wanted.offset.saturating_add(wanted.len);
    let mut next = wanted.offset;
    let mut found = Vec::new();
    let files = folder::raws(dir).map_err(failed)?;
    for (at, first) in files.iter().enumerate() {
        let until = files.get(at + 1).copied().unwrap_or(u64::MAX);
        if until <= next || *first >= end {
            continue;
        }
        let path = folder::raw(dir, *first);
        let failed = |error| LogError::of("read", &path, error);
        let file = untrusted::open(&path).map_err(|unfit| failed(unfit.into_io()))?;
        let mut packed = Vec::new();
        let mut frame = start(dir, &file, *first, next, &mut packed).map_err(failed)?;
        let mut at = 0;
        while let Some(here) = frame.filter(|frame| frame.offset < end) {
            let here_end = here.offset + here.len as u64;
            if here_end > next {
                let bytes = zstd::bulk::decompress(&packed[..here.packed], here.len);
                let damaged = |_| LogError::RawDamaged {
                    path: path.clone(),
                    offset: here.at,
                    from: next.max(here.offset),
                    to: here_end,
                };
                let bytes = bytes.map_err(damaged)?;
                let from = usize::try_from(next.saturating_sub(here.offset)).unwrap_or(0);
                let to = usize::try_from(end - here.offset).unwrap_or(usize::MAX).min(bytes.len());
                found.extend_from_slice(bytes.get(from..to).unwrap_or_default());
                next = here_end;
            }
            at = here.at + here.packed as u64;
            frame = frame_at(&file, at, here_end, &mut packed).map_err(failed)?;
        }
        // A writer that died may have left half a frame at the very end, and nowhere else.
        let here = frame.map_or(next.max(*first), |frame| frame.offset);
        let is_last = until == u64::MAX;
        if frame.is_none()
            && here < end.min(until)
            && (!is_last || more_frames(&file, at).map_err(failed)?)
        {
            let to = until.min(end);
            return Err(LogError::RawDamaged { path, offset: at, from: here, to });
        }
    }
    Ok(found)
}

/// Whether another frame begins after a place at which there is none.
fn more_frames(file: &File, at: u64) -> io::Result<bool> {
    let mut bytes = Vec::new();
    read_at(file, &mut bytes, 2 * zstd_safe::compress_bound(MAX_RAW_FRAME_BYTES), at)?;
    let magic = zstd_safe::MAGICNUMBER.to_le_bytes();
    let mut later = memchr::memmem::find_iter(bytes.get(1..).unwrap_or_default(), &magic);
    Ok(later.any(|found| zstd_safe::find_frame_compressed_size(&bytes[found + 1..]).is_ok()))
}

/// The frame to begin with: as the index says if that can be true, else the first of the file.
fn start(
    dir: &Path,
    file: &File,
    first: u64,
    wanted: u64,
    packed: &mut Vec<u8>,
) -> io::Result<Option<Frame>> {
    if let Some((offset, at)) = index::before(&folder::raw_index(dir, first), wanted)
        && offset >= first
        && let Some(frame) = frame_at(file, at, offset, packed)?
        && frame.offset + frame.len as u64 > wanted
        && follows(file, at)?
    {
        return Ok(Some(frame));
    }
    frame_at(file, 0, first, packed)
}

/// Whether a frame can begin here: at the start of the file, or where the magic number stands.
fn follows(file: &File, at: u64) -> io::Result<bool> {
    let mut magic = [0; 4];
    let got = file.read_at(&mut magic, at)?;
    Ok(got == magic.len() && u32::from_le_bytes(magic) == zstd_safe::MAGICNUMBER)
}

/// The frame that begins at `at`, if there is a whole one.
fn frame_at(file: &File, at: u64, offset: u64, packed: &mut Vec<u8>) -> io::Result<Option<Frame>> {
    packed.clear();
    read_at(file, packed, zstd_safe::compress_bound(MAX_RAW_FRAME_BYTES), at)?;
    let Ok(size) = zstd_safe::find_frame_compressed_size(packed) else { return Ok(None) };
    let len = zstd_safe::get_frame_content_size(&packed[..size]).ok().flatten();
    let len =
        len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= MAX_RAW_FRAME_BYTES);
    Ok(len.filter(|len| *len > 0).map(|len| Frame { at, packed: size, offset, len }))
}
