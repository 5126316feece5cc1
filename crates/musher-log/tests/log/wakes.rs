//! One descriptor tells of many logs which of them have grown.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use musher_log::{WakeError, Wakes, WatchId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::rig::{Folder, notices};

fn readable(wakes: &Wakes) -> bool {
    let fd = wakes.as_fd();
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
}

fn changed(wakes: &mut Wakes) -> Vec<WatchId> {
    let mut changed = Vec::new();
    wakes.poll(&mut changed).unwrap();
    changed
}

#[test]
fn a_folder_whose_log_has_grown_is_told_once_however_much_it_has_grown() {
    let folders: Vec<Folder> = (0..5).map(|_| Folder::new()).collect();
    let mut writers: Vec<_> = folders.iter().map(Folder::create).collect();
    let mut wakes = Wakes::new().unwrap();
    let ids: Vec<WatchId> =
        folders.iter().map(|folder| wakes.watch(&folder.dir).unwrap()).collect();
    assert!(!readable(&wakes));
    assert_eq!(changed(&mut wakes), []);
    for seq in 1..=9 {
        writers[1].append(&notices([seq])).unwrap();
        writers[3].append(&notices([seq])).unwrap();
    }
    assert!(readable(&wakes));
    assert_eq!(changed(&mut wakes), [ids[1], ids[3]]);
    assert!(!readable(&wakes));
    wakes.unwatch(ids[1]);
    writers[1].append(&notices([10])).unwrap();
    writers[0].append(&notices([1])).unwrap();
    assert_eq!(changed(&mut wakes), [ids[0]]);
}

#[test]
fn one_append_is_one_wake_and_reading_is_none() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let mut wakes = Wakes::new().unwrap();
    let id = wakes.watch(&folder.dir).unwrap();
    writer.append(&notices(1..=3)).unwrap();
    assert_eq!(changed(&mut wakes), [id]);
    assert_eq!(crate::rig::read_all(&folder.dir).len(), 3);
    assert_eq!(changed(&mut wakes), []);
}

#[test]
fn when_the_kernel_loses_count_every_folder_is_told() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(limit < 1_000_000, "this would take too long here");
    let folders: Vec<Folder> = (0..3).map(|_| Folder::new()).collect();
    folders.iter().for_each(|folder| drop(folder.create()));
    let mut wakes = Wakes::new().unwrap();
    let ids: Vec<WatchId> =
        folders.iter().map(|folder| wakes.watch(&folder.dir).unwrap()).collect();
    let heads: Vec<File> = folders[..2]
        .iter()
        .map(|folder| File::options().write(true).open(folder.path("head")).unwrap())
        .collect();
    for _ in 0..limit / 2 + 2 {
        for head in &heads {
            head.write_at(b"M", 0).unwrap();
        }
    }
    assert_eq!(changed(&mut wakes), ids);
    assert_eq!(changed(&mut wakes), []);
}

#[test]
fn a_folder_can_be_watched_before_its_log_begins() {
    let folder = Folder::new();
    let mut wakes = Wakes::new().unwrap();
    let id = wakes.watch(&folder.dir).unwrap();
    let mut writer = folder.create();
    assert_eq!(changed(&mut wakes), [id]);
    writer.append(&notices([1])).unwrap();
    assert_eq!(changed(&mut wakes), [id]);
    fs::write(folder.path("other"), "").unwrap();
    assert_eq!(changed(&mut wakes), [], "only the log counts now");
    assert_eq!(wakes.watch(&folder.dir).unwrap(), id);
}

#[test]
fn a_folder_that_is_cleaned_away_is_told_and_does_no_harm() {
    let folder = Folder::new();
    drop(folder.create());
    let mut wakes = Wakes::new().unwrap();
    let id = wakes.watch(&folder.dir).unwrap();
    fs::remove_dir_all(&folder.dir).unwrap();
    assert_eq!(changed(&mut wakes), [id]);
    wakes.unwatch(id);
    assert!(matches!(wakes.watch(&folder.dir), Err(WakeError::Io { .. })));
}
