//! What the tests of the run log share: a run's folder, events for it, and disks that fail on demand.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use musher_core::{Event, EventKind, EventScope, Level};
use musher_log::{Cursor, Lock, LogDisk, LogRead, LogReader, Os, Writer, line_seq, lines};
use tempfile::TempDir;

/// A run's folder, which is gone when the test is.
pub(crate) struct Folder {
    _home: TempDir,
    pub(crate) dir: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("r7");
        fs::create_dir(&dir).unwrap();
        Self { _home: home, dir }
    }

    pub(crate) fn lock(&self) -> Lock {
        Lock::take(&self.dir).unwrap()
    }

    pub(crate) fn create(&self) -> Writer {
        Writer::create(self.lock(), "r7").unwrap()
    }

    pub(crate) fn create_on<D: LogDisk>(&self, segment_bytes: u64, disk: D) -> Writer<D> {
        Writer::create_with(self.lock(), "r7", segment_bytes, disk).unwrap()
    }

    pub(crate) fn reopen(&self) -> Writer<Hasty> {
        Writer::reopen_with(self.lock(), 1 << 20, Hasty).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Another folder with the same files.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        copy_files(&self.dir, &copy.dir);
        copy
    }

    /// The newest segment.
    pub(crate) fn newest(&self) -> PathBuf {
        segments(&self.dir).pop().unwrap()
    }
}

pub(crate) fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

pub(crate) fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    found.sort();
    found
}

/// Bytes that cannot be compressed, the same every time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}

/// Changes a file's bytes.
pub(crate) fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub(crate) fn event(seq: u64, kind: EventKind) -> Event {
    let at = 1_000 + i64::try_from(seq).unwrap();
    Event { seq, at, kind, turn: None, scope: EventScope::Main, raw: None }
}

pub(crate) fn notice(seq: u64, text: impl Into<String>) -> Event {
    event(seq, EventKind::Notice { level: Level::Info, code: None, text: text.into() })
}

pub(crate) fn notices(numbers: impl IntoIterator<Item = u64>) -> Vec<Event> {
    numbers.into_iter().map(|seq| notice(seq, format!("number {seq}"))).collect()
}

/// The line that an event must have become.
pub(crate) fn line(event: &Event) -> String {
    serde_json::to_string(event).unwrap()
}

/// Everything after a place, with the resets on the way.
pub(crate) fn read_after(dir: &Path, after: Option<Cursor>) -> (Vec<String>, Vec<Cursor>) {
    drain(&mut LogReader::open(dir, after).unwrap())
}

/// Whatever the reader finds now.
pub(crate) fn drain(reader: &mut LogReader) -> (Vec<String>, Vec<Cursor>) {
    let (mut found, mut resets) = (Vec::new(), Vec::new());
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read(&mut buffer, 700).unwrap() {
            LogRead::Lines(batch) => {
                let mut next = batch.first;
                for line in lines(&buffer[batch.lines]) {
                    assert_eq!(line_seq(line), Some(next));
                    next += 1;
                    found.push(String::from_utf8_lossy(line).into_owned());
                }
                assert_eq!(batch.last + 1, next);
            }
            LogRead::Reset { to } => resets.push(to),
            LogRead::End => return (found, resets),
        }
    }
}

pub(crate) fn read_all(dir: &Path) -> Vec<String> {
    let (lines, resets) = read_after(dir, None);
    assert_eq!(resets, []);
    lines
}

/// A disk that never waits, for tests in which the power stays on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hasty;

impl LogDisk for Hasty {
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        Os.write_at(file, bytes, at)
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// A disk with little room; what does not fit is written in part, as a real one does.
#[derive(Debug, Clone)]
pub(crate) struct Small {
    pub(crate) room: Rc<Cell<u64>>,
}

impl LogDisk for Small {
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        let grows = (at + bytes.len() as u64).saturating_sub(file.metadata()?.len());
        if grows == 0 {
            return file.write_at(bytes, at);
        }
        let room = self.room.get();
        if room == 0 {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        let fits = usize::try_from(room.min(bytes.len() as u64)).unwrap();
        self.room.set(room - fits as u64);
        file.write_at(&bytes[..fits], at)
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// A disk whose syncs fail once, as those of a dying disk do, and are said to succeed afterwards.
#[derive(Debug, Clone)]
pub(crate) struct Dying {
    pub(crate) fail_next: Rc<Cell<bool>>,
    pub(crate) syncs: Rc<Cell<u32>>,
}

impl LogDisk for Dying {
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        Os.write_at(file, bytes, at)
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        self.syncs.set(self.syncs.get() + 1);
        match self.fail_next.replace(false) {
            true => Err(rustix::io::Errno::IO.into()),
            false => Ok(()),
        }
    }

    fn sync_names(&self, dir: &File) -> io::Result<()> {
        self.sync(dir)
    }
}
