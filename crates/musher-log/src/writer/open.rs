//! How a writer comes to be: at the beginning of a run, or after the last writer has died.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use musher_os::untrusted::{self, Unfit};
use rustix::fs::Mode;

use super::super::disk::{LogDisk, Os};
use super::super::error::LogError;
use super::super::head::{HeadFile, LogHead};
use super::super::index::IndexWriter;
use super::super::lock::Lock;
use super::super::segment::{FoundSegment, Segment, SegmentTail};
use super::super::{folder, outcome};
use super::{Cut, SEGMENT_BYTES, State, Writer};

impl Writer<Os> {
    /// Begins the log of a run. A run begins only once: it fails if a segment is there.
    pub fn create(lock: Lock, run: &str) -> Result<Self, LogError> {
        Self::create_with(lock, run, SEGMENT_BYTES, Os)
    }

    /// Opens the log of a writer that died, to close it: what was torn is cut, and a new segment with a higher epoch
    /// begins, so that no reader of the old one ever sees it change.
    pub fn reopen(lock: Lock) -> Result<Self, LogError> {
        Self::reopen_with(lock, SEGMENT_BYTES, Os)
    }
}

impl<D: LogDisk> Writer<D> {
    /// As [`Writer::create`], with segments of another size and on another disk.
    pub fn create_with(
        lock: Lock,
        run: &str,
        segment_bytes: u64,
        disk: D,
    ) -> Result<Self, LogError> {
        let dir = lock.dir();
        if let Some(first) = segments(dir)?.first() {
            return Err(LogError::Exists { path: folder::segment(dir, *first) });
        }
        outcome::keep_ballast(dir)?;
        let segment = Segment::create(dir, run, 1, 1, &disk)?;
        Self::begin(lock, segment, segment_bytes, disk, Cut::default())
    }

    /// As [`Writer::reopen`], with segments of another size and on another disk.
    pub fn reopen_with(lock: Lock, segment_bytes: u64, disk: D) -> Result<Self, LogError> {
        let dir = lock.dir();
        let head = HeadFile::default().read(dir)?;
        let mut epoch = head.map_or(0, |head| head.epoch);
        let mut run = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut cut = Cut::default();
        let mut last = 0;
        for first in segments(dir)?.into_iter().rev() {
            match Segment::open(dir, first)? {
                FoundSegment::Whole(segment) => {
                    let tail = segment.scan()?;
                    if head.is_some_and(|head| head.synced > tail.last) {
                        keep_aside(&segment);
                    }
                    cut_tail(&segment, tail, &disk)?;
                    epoch = epoch.max(segment.epoch);
                    cut.bytes += tail.len - tail.offset;
                    last = tail.last;
                    run = segment.run;
                    break;
                }
                // Nothing in it was ever acknowledged, for its header would have been synced before.
                FoundSegment::Torn => {
                    let path = folder::segment(dir, first);
                    fs::rename(&path, path.with_extension("torn"))
                        .map_err(|error| LogError::of("put aside", &path, error))?;
                    epoch = epoch.max(1);
                }
                FoundSegment::Absent => {}
            }
        }
        cut.synced = head.map_or(0, |head| head.synced.saturating_sub(last));
        let epoch = epoch.saturating_add(1);
        let segment = match Segment::create(dir, &run, epoch, last + 1, &disk) {
            Err(LogError::Full { .. }) => {
                outcome::drop_ballast(dir);
                Segment::create(dir, &run, epoch, last + 1, &disk)?
            }
            other => other?,
        };
        let mut writer = Self::begin(lock, segment, segment_bytes, disk, cut)?;
        // Whoever hears of an epoch must be able to rely on it.
        writer.sync()?;
        Ok(writer)
    }

    fn begin(
        lock: Lock,
        segment: Segment,
        segment_bytes: u64,
        disk: D,
        cut: Cut,
    ) -> Result<Self, LogError> {
        let dir = lock.dir();
        let head = open_head(dir)?;
        let index = IndexWriter::new(&folder::index(dir, segment.first));
        let last = segment.first - 1;
        let mut writer = Self {
            dir: untrusted::folder_at(dir)
                .map_err(|unfit| LogError::of("open", dir, unfit.into_io()))?,
            disk,
            head,
            index,
            segment_bytes,
            offset: segment.body,
            last,
            synced: last,
            unsynced_name: true,
            stale_head: true,
            buffer: Vec::new(),
            cut,
            state: State::Open,
            segment,
            lock,
        };
        writer.publish()?;
        Ok(writer)
    }
}

/// Says again how far a finished log goes, if its head does not: a loss of power may have taken it back.
pub(in super::super) fn mend_head(lock: &Lock) -> Result<(), LogError> {
    let dir = lock.dir();
    for first in segments(dir)?.into_iter().rev() {
        let FoundSegment::Whole(segment) = Segment::open(dir, first)? else { continue };
        let SegmentTail { last, offset, .. } = segment.scan()?;
        let Segment { epoch, first, .. } = segment;
        let whole = LogHead { epoch, segment: first, seq: last, offset, synced: last };
        if HeadFile::default().read(dir)? == Some(whole) {
            return Ok(());
        }
        let path = folder::head(dir);
        let file = open_head(dir)?;
        let written = Os.write_all_at(&file, &whole.encode(), 0).and_then(|()| Os.sync(&file));
        return written.map_err(|error| LogError::of("write", &path, error));
    }
    Ok(())
}

fn open_head(dir: &Path) -> Result<File, LogError> {
    let path = folder::head(dir);
    let file = untrusted::open_or_make(&path, Mode::from_raw_mode(0o666));
    file.map_err(|unfit| LogError::of("open", &path, unfit.into_io()))
}

fn segments(dir: &Path) -> Result<Vec<u64>, LogError> {
    folder::segments(dir).map_err(|error| LogError::of("list", dir, error))
}

/// A disk that lost what it had promised to keep may have more that somebody can still use.
fn keep_aside(segment: &Segment) {
    let aside = segment.path.with_extension("torn");
    let copied = || {
        let mut from = untrusted::open(&segment.path).map_err(Unfit::into_io)?;
        let mut to = untrusted::empty(&aside).map_err(Unfit::into_io)?;
        io::copy(&mut from, &mut to)
    };
    if let Err(error) = copied() {
        tracing::warn!(path = %aside.display(), cause = %error, "torn end of a log is not kept aside");
    }
}

/// Cuts what is torn, and makes sure that the rest stays.
fn cut_tail(segment: &Segment, tail: SegmentTail, disk: &impl LogDisk) -> Result<(), LogError> {
    let path = &segment.path;
    let file = untrusted::open_or_make(path, Mode::from_raw_mode(0o666))
        .map_err(|unfit| LogError::of("open", path, unfit.into_io()))?;
    if tail.len > tail.offset {
        file.set_len(tail.offset).map_err(|error| LogError::of("cut", path, error))?;
    }
    disk.sync(&file).map_err(|source| LogError::Io { doing: "sync", path: path.clone(), source })
}
