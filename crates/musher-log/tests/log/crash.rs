//! Crashes: whatever is torn at the end of a log, what was acknowledged stays and the numbers have no gap.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;

use musher_core::Event;
use musher_log::{Cursor, LogReader, Writer};
use proptest::prelude::*;

use crate::rig::{
    Dying, Folder, Hasty, copy_files, drain, edit, line, notice, notices, read_after, read_all,
    segments,
};

/// What a crash leaves behind the last byte that is sound.
#[derive(Debug, Clone)]
enum Tear {
    /// The file ends there.
    Cut,
    /// The file has its length, but zeros from there on.
    Zeros,
    /// Some bytes are zeros, and what comes after them is there.
    Hole(usize),
    /// Other bytes follow.
    Noise(Vec<u8>),
}

/// What became of the head.
#[derive(Debug, Clone, Copy)]
enum HeadFile {
    Current,
    Torn,
    Absent,
}

fn tears() -> impl Strategy<Value = Tear> {
    prop_oneof![
        Just(Tear::Cut),
        Just(Tear::Zeros),
        (1..200_usize).prop_map(Tear::Hole),
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Tear::Noise),
        prop::collection::vec(prop::sample::select(b"\n{}\"seq:0123456789,".to_vec()), 0..60)
            .prop_map(Tear::Noise),
    ]
}

fn heads() -> impl Strategy<Value = HeadFile> {
    prop_oneof![Just(HeadFile::Current), Just(HeadFile::Torn), Just(HeadFile::Absent)]
}

fn tear(folder: &Folder, at: usize, how: &Tear) {
    edit(&folder.newest(), |bytes| match how {
        Tear::Cut => bytes.truncate(at),
        Tear::Zeros => bytes[at..].fill(0),
        Tear::Hole(len) => {
            let end = (at + len).min(bytes.len());
            bytes[at..end].fill(0);
        }
        Tear::Noise(noise) => {
            bytes.truncate(at);
            bytes.extend_from_slice(noise);
        }
    });
}

/// Opens a torn log again and holds it to the promise. `sound` lines lie before the tear.
fn reopened(folder: &Folder, events: &[Event], sound: usize, at_least_one_line_less: bool) {
    let mut writer = folder.reopen();
    assert_eq!(writer.epoch(), 2);
    let kept = usize::try_from(writer.next_seq() - 1).unwrap();
    assert!(kept >= sound, "{kept} of {sound} sound events were kept");
    assert!(kept <= events.len() - usize::from(at_least_one_line_less));
    let next = writer.next_seq();
    let more = [notice(next, "after the crash"), notice(next + 1, "and on")];
    writer.append(&more).unwrap();
    writer.sync().unwrap();
    let expected: Vec<String> = events[..kept].iter().chain(&more).map(line).collect();
    assert_eq!(read_all(&folder.dir), expected);
    let before = Cursor { epoch: 1, seq: kept as u64 };
    assert_eq!(read_after(&folder.dir, Some(before)), (expected[kept..].to_vec(), vec![]));
    let beyond = Cursor { epoch: 1, seq: kept as u64 + 1 };
    let reset = Cursor { epoch: 2, seq: kept as u64 };
    assert_eq!(read_after(&folder.dir, Some(beyond)), (expected[kept..].to_vec(), vec![reset]));
}

/// The offsets at which the lines of the newest segment end, its header included.
fn ends(folder: &Folder) -> Vec<usize> {
    let bytes = fs::read(folder.newest()).unwrap();
    (1..=bytes.len()).filter(|end| bytes[end - 1] == b'\n').collect()
}

#[test]
fn a_torn_tail_is_cut_at_the_last_whole_line_wherever_it_is_torn() {
    let folder = Folder::new();
    let events = notices(1..=6);
    folder.create().append(&events).unwrap();
    let ends = ends(&folder);
    let len = *ends.last().unwrap();
    for at in ends[3]..=len {
        let torn = folder.copy();
        tear(&torn, at, &Tear::Cut);
        let sound = ends.iter().filter(|end| **end <= at).count() - 1;
        let writer = torn.reopen();
        assert_eq!(writer.next_seq(), sound as u64 + 1, "torn at byte {at}");
        assert_eq!(writer.cut().bytes, (at - ends[sound]) as u64);
        drop(writer);
        let torn = folder.copy();
        tear(&torn, at, &Tear::Cut);
        reopened(&torn, &events, sound, at < len);
    }
}

#[test]
fn a_torn_header_is_made_anew_wherever_it_is_torn() {
    let folder = Folder::new();
    drop(folder.create());
    let len = fs::metadata(folder.newest()).unwrap().len();
    for at in 0..usize::try_from(len).unwrap() {
        for how in [Tear::Cut, Tear::Zeros] {
            let torn = folder.copy();
            tear(&torn, at, &how);
            assert_eq!(drain(&mut LogReader::open(&torn.dir, None).unwrap()).0.len(), 0);
            reopened(&torn, &[], 0, false);
            assert!(segments(&torn.dir).len() == 1);
        }
    }
}

#[test]
fn a_second_segment_without_a_whole_header_gives_way_and_the_first_is_kept() {
    let folder = Folder::new();
    let mut writer = folder.create_on(400, Hasty);
    let mut events = notices(1..=3);
    writer.append(&events).unwrap();
    let before = folder.copy();
    writer.append(&notices(4..=8)).unwrap();
    let second = segments(&folder.dir)[1].clone();
    let name = second.file_name().unwrap().to_owned();
    for left in [0, 1, 20] {
        let torn = before.copy();
        let header = fs::read(&second).unwrap();
        let first: u64 = name.to_str().unwrap()[7..15].parse().unwrap();
        events = notices(1..first);
        copy_files(&folder.dir, &torn.dir);
        for extra in segments(&torn.dir).into_iter().skip(2) {
            fs::remove_file(extra).unwrap();
        }
        fs::write(torn.dir.join(&name), &header[..left]).unwrap();
        reopened(&torn, &events, events.len(), false);
    }
}

#[test]
fn a_crash_while_a_log_was_being_reopened_does_no_harm() {
    let folder = Folder::new();
    let events = notices(1..=4);
    folder.create().append(&events).unwrap();
    let head = fs::read(folder.path("head")).unwrap();
    fs::write(folder.path("events.new"), b"{\"musher_lo").unwrap();
    drop(folder.reopen());
    // The new segment was made, and the head does not know of it.
    fs::write(folder.path("head"), head).unwrap();
    let mut live = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(drain(&mut live).0.len(), 4);
    let mut writer = folder.reopen();
    assert_eq!((writer.epoch(), writer.next_seq()), (3, 5));
    writer.append(&notices(5..=6)).unwrap();
    assert_eq!(drain(&mut live).0.len(), 2);
    assert_eq!(read_all(&folder.dir).len(), 6);
}

#[test]
fn what_was_written_and_not_yet_told_by_the_head_is_kept() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let events = notices(1..=5);
    writer.append(&events[..3]).unwrap();
    let head = fs::read(folder.path("head")).unwrap();
    writer.append(&events[3..]).unwrap();
    drop(writer);
    fs::write(folder.path("head"), head).unwrap();
    reopened(&folder, &events, 5, false);
}

#[test]
fn a_line_that_is_glued_to_a_later_one_is_cut_though_it_has_a_number_and_an_end() {
    let folder = Folder::new();
    let events = notices(1..=6);
    folder.create().append(&events).unwrap();
    let ends = ends(&folder);
    for (from, to) in [(ends[3] + 60, ends[4] + 30), (ends[3] + 60, ends[3] + 62)] {
        let torn = folder.copy();
        tear(&torn, from, &Tear::Hole(to - from));
        assert_eq!(torn.reopen().next_seq(), 4);
    }
}

#[test]
fn a_new_epoch_and_all_that_was_kept_are_on_the_disk_before_anybody_hears_of_them() {
    let folder = Folder::new();
    folder.create().append(&notices(1..=3)).unwrap();
    let disk = Dying { fail_next: Rc::new(Cell::new(false)), syncs: Rc::new(Cell::new(0)) };
    let writer = Writer::reopen_with(folder.lock(), 1 << 20, disk.clone()).unwrap();
    assert_eq!(disk.syncs.get(), 3, "the old segment, the new one and the folder");
    drop(writer);
    disk.fail_next.set(true);
    assert!(Writer::reopen_with(folder.lock(), 1 << 20, disk).is_err());
}

#[test]
fn synced_events_that_a_broken_disk_took_are_counted() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&notices(1..=5)).unwrap();
    writer.sync().unwrap();
    drop(writer);
    let ends = ends(&folder);
    tear(&folder, ends[3] + 5, &Tear::Zeros);
    let before = fs::read(folder.newest()).unwrap();
    let writer = folder.reopen();
    assert_eq!((writer.next_seq(), writer.cut().synced), (4, 2));
    let aside = fs::read(folder.path("events-00000001.torn")).unwrap();
    assert!(aside == before, "what can still be used is not destroyed");
}

#[test]
fn the_power_may_fail_again_and_again() {
    let folder = Folder::new();
    drop(folder.create());
    let mut next = 1;
    for epoch in 2..=9 {
        let mut writer = folder.reopen();
        assert_eq!((writer.epoch(), writer.next_seq()), (epoch, next));
        writer.append(&notices(next..next + 3)).unwrap();
        drop(writer);
        edit(&folder.newest(), |bytes| bytes.truncate(bytes.len() - 4));
        next += 2;
    }
    drop(folder.reopen());
    let numbers: Vec<String> = notices(1..next).iter().map(line).collect();
    assert_eq!(read_all(&folder.dir), numbers);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_acknowledged_event_survives_any_tear_behind_it_and_numbers_have_no_gap(
        texts in prop::collection::vec("\\PC{0,40}", 1..30),
        sizes in prop::collection::vec(1..6_usize, 1..30),
        synced in any::<prop::sample::Index>(),
        torn_at in any::<prop::sample::Index>(),
        how in tears(),
        head in heads(),
        small in any::<bool>(),
    ) {
        let folder = Folder::new();
        let events: Vec<Event> =
            (1..).zip(&texts).map(|(seq, text)| notice(seq, text.as_str())).collect();
        let segment_bytes = if small { 700 } else { 1 << 20 };
        let mut writer =
            Writer::create_with(folder.lock(), "r7", segment_bytes, Hasty).unwrap();
        let synced = synced.index(events.len() + 1);
        let mut sizes = sizes.into_iter().cycle();
        let mut done = 0;
        while done < events.len() {
            let mut end = (done + sizes.next().unwrap()).min(events.len());
            if done < synced {
                end = end.min(synced);
            }
            writer.append(&events[done..end]).unwrap();
            done = end;
            if done == synced {
                writer.sync().unwrap();
            }
        }
        let acknowledged = writer.synced_seq();
        drop(writer);
        // Only what was not synced can be torn.
        let ends = ends(&folder);
        let in_newest = ends.len() - 1;
        let before = events.len() - in_newest;
        let safe = usize::try_from(acknowledged).unwrap().saturating_sub(before);
        let len = *ends.last().unwrap();
        let at = ends[safe] + torn_at.index(len - ends[safe] + 1);
        tear(&folder, at, &how);
        match head {
            HeadFile::Current => {}
            HeadFile::Torn => edit(&folder.path("head"), |bytes| bytes[9] ^= 0x10),
            HeadFile::Absent => fs::remove_file(folder.path("head")).unwrap(),
        }
        let sound = before + ends.iter().filter(|end| **end <= at).count() - 1;
        // Readers live with what is there before anybody closes the log.
        let early = drain(&mut LogReader::open(&folder.dir, None).unwrap()).0;
        prop_assert!(matches!(how, Tear::Noise(_)) || !early.concat().contains('\0'));
        prop_assert!(early.len() >= usize::try_from(acknowledged).unwrap());
        let mut writer = folder.reopen();
        let kept = usize::try_from(writer.next_seq() - 1).unwrap();
        prop_assert!(kept >= sound && kept as u64 >= acknowledged);
        prop_assert_eq!(writer.cut().synced, 0);
        let more = [notice(writer.next_seq(), "on")];
        writer.append(&more).unwrap();
        let all = read_all(&folder.dir);
        prop_assert_eq!(all.len(), kept + 1);
        for line in &all {
            prop_assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{}", line);
        }
        let expected: Vec<String> = events[..sound].iter().map(line).collect();
        prop_assert_eq!(&all[..sound], &expected[..]);
        prop_assert_eq!(all.last().unwrap(), &line(&more[0]));
    }
}
