//! A full disk: nothing is lost, the writer goes on when there is room, and a run can always say how it ended.

#![expect(clippy::disallowed_methods, reason = "only the mount program can make a small disk")]

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use musher_core::{ErrorClass, ErrorInfo, Event, Outcome, RawRef, SessionEnded};
use musher_log::raw::{FRAME_BYTES, RawWriter, read};
use musher_log::{Lock, LogError, LogReader, Lost, Writer, close_lost, outcome};

use crate::rig::{Folder, Small, drain, line, noise, notice, notices, read_all, segments};

fn expected(events: &[Event]) -> Vec<String> {
    events.iter().map(line).collect()
}

#[test]
fn a_full_disk_takes_nothing_away_and_the_same_batch_is_written_when_there_is_room() {
    for first_room in (0..700).step_by(7) {
        let folder = Folder::new();
        let room = Rc::new(Cell::new(10_000));
        let mut writer = folder.create_on(1 << 20, Small { room: Rc::clone(&room) });
        let mut live = LogReader::open(&folder.dir, None).unwrap();
        let events = notices(1..=9);
        writer.append(&events[..2]).unwrap();
        room.set(first_room);
        match writer.append(&events[2..]) {
            Ok(_) => assert!(first_room >= 7 * 60),
            Err(error) => assert!(error.is_full(), "{error}"),
        }
        let seen = drain(&mut live).0;
        assert_eq!(seen, expected(&events[..seen.len()]), "no torn line is ever seen");
        let told = live.head().unwrap().unwrap().offset;
        assert_eq!(fs::metadata(folder.newest()).unwrap().len(), told, "no torn line stays");
        writer.sync().unwrap();
        room.set(10_000);
        if seen.len() < events.len() {
            writer.append(&events[2..]).unwrap();
        }
        assert_eq!(read_all(&folder.dir), expected(&events));
        assert_eq!(drain(&mut live).0, expected(&events[seen.len()..]));
        writer.append(&notices([10])).unwrap();
        let bytes = fs::read(folder.newest()).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 11);
    }
}

#[test]
fn a_disk_that_fills_up_in_the_middle_of_many_segments_takes_nothing_away() {
    let folder = Folder::new();
    let room = Rc::new(Cell::new(1_000));
    let mut writer = folder.create_on(600, Small { room: Rc::clone(&room) });
    let events = notices(1..=80);
    let mut tries = 0;
    while let Err(error) = writer.append(&events) {
        assert!(error.is_full(), "{error}");
        tries += 1;
        room.set(37 * tries);
    }
    assert!(tries > 3);
    assert_eq!(read_all(&folder.dir), expected(&events));
    assert!(segments(&folder.dir).len() > 5);
    let twice = writer.append(&events);
    assert!(matches!(twice, Err(LogError::Gap { .. })), "only what failed may come again");
}

#[test]
fn an_empty_batch_does_not_make_the_writer_forget_what_must_come_again() {
    let folder = Folder::new();
    let room = Rc::new(Cell::new(700));
    let mut writer = folder.create_on(400, Small { room: Rc::clone(&room) });
    let events = notices(1..=20);
    assert!(writer.append(&events).unwrap_err().is_full());
    assert!(writer.next_seq() > 1, "a part of it fitted");
    writer.append(&[]).unwrap();
    room.set(100_000);
    writer.append(&events).unwrap();
    assert_eq!(read_all(&folder.dir), expected(&events));
}

/// A disk of its own with the given size, if this machine lets us have one.
struct Disk(PathBuf);

impl Disk {
    #[expect(clippy::print_stdout, reason = "whoever reads the test's output must know")]
    fn mounted(at: &Path, bytes: u64) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "musher-test"])
            .arg(at)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            Ok(_) | Err(_) => {
                println!("no small disk could be mounted; only the simulated one was tried");
                None
            }
        }
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
        while filler.write_all(&[1]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_real_disk_that_is_full_pauses_the_log_and_still_takes_the_last_words() {
    let home = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mounted(&home.path().join("disk"), 1 << 20) else { return };
    let dir = disk.0.join("r7");
    fs::create_dir(&dir).unwrap();
    let mut writer = Writer::create(Lock::take(&dir).unwrap(), "r7").unwrap();
    let text = "x".repeat(3_000);
    let events: Vec<Event> = (1..=20).map(|seq| notice(seq, text.as_str())).collect();
    writer.append(&events[..2]).unwrap();
    disk.fill();
    let full = writer.append(&events[2..]).unwrap_err();
    assert!(full.is_full(), "{full}");
    assert_eq!(read_all(&dir), expected(&events[..2]));
    disk.make_room();
    writer.append(&events[2..]).unwrap();
    writer.sync().unwrap();
    assert_eq!(read_all(&dir), expected(&events));

    disk.fill();
    let last = [notice(21, text.as_str()), notice(22, text.as_str())];
    assert!(writer.append(&last).unwrap_err().is_full());
    writer.append_last(&last).unwrap();
    writer.finish(&"done").unwrap();
    assert_eq!(outcome::read::<String>(&dir).unwrap().as_deref(), Some("done"));
    assert_eq!(read_all(&dir).len(), 22);
    assert!(!dir.join("ballast").exists());
}

#[test]
fn raw_output_waits_in_memory_while_a_real_disk_is_full() {
    let home = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mounted(&home.path().join("disk"), 1 << 20) else { return };
    let dir = disk.0.join("r7");
    fs::create_dir(&dir).unwrap();
    let mut raw = RawWriter::new(&dir);
    raw.push(b"before").unwrap();
    raw.flush().unwrap();
    disk.fill();
    let noise = noise(FRAME_BYTES + 99);
    assert!(raw.push(&noise).unwrap_err().is_full());
    assert!(raw.flush().unwrap_err().is_full());
    disk.make_room();
    raw.push(b"after").unwrap();
    raw.sync().unwrap();
    let len = raw.stream_len();
    let whole = read(&dir, RawRef::new(0, len)).unwrap();
    assert!(whole == [b"before", noise.as_slice(), b"after"].concat());
}

#[test]
fn a_lost_run_is_closed_on_a_real_disk_that_is_full() {
    let home = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mounted(&home.path().join("disk"), 1 << 20) else { return };
    let dir = disk.0.join("r7");
    fs::create_dir(&dir).unwrap();
    let mut writer = Writer::create(Lock::take(&dir).unwrap(), "r7").unwrap();
    writer.append(&notices(1..=3)).unwrap();
    drop(writer);
    disk.fill();
    let reason = ErrorInfo::new(ErrorClass::ProcessExit, "the runner died");
    let lost = Lost { reason, now_ms: 5_000, lineage: Default::default(), asks_a_model: true };
    let ended = close_lost(Lock::take(&dir).unwrap(), lost).unwrap();
    assert_eq!(ended.outcome, Outcome::Lost);
    assert_eq!(outcome::read::<SessionEnded>(&dir).unwrap(), Some(ended));
    assert_eq!(read_all(&dir).len(), 4);
}
