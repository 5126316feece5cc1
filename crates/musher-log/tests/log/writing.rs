//! What the writer promises: one line for each event, numbers without gaps, and no second chance for a failed sync.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;
use std::time::Instant;

use musher_core::{Activity, EventKind, EventScope, Origin};
use musher_log::{
    Cursor, Lock, LockError, LogError, LogRead, LogReader, MAX_FIELD_BYTES, Urgency, Writer,
};

use crate::rig::{Dying, Folder, Hasty, event, line, notice, notices, read_all, segments};

#[test]
fn only_one_process_can_write_a_log_and_the_lock_tells_whether_one_does() {
    let folder = Folder::new();
    assert!(!Lock::is_held(&folder.dir).unwrap());
    let lock = folder.lock();
    assert!(Lock::is_held(&folder.dir).unwrap());
    assert!(matches!(Lock::take(&folder.dir), Err(LockError::Held { .. })));
    drop(lock);
    assert!(!Lock::is_held(&folder.dir).unwrap());
    folder.lock();
}

#[test]
fn a_run_begins_only_once() {
    let folder = Folder::new();
    folder.create().append(&notices(1..=2)).unwrap();
    let again = Writer::create(folder.lock(), "r7");
    assert!(matches!(again, Err(LogError::Exists { .. })));
    assert_eq!(read_all(&folder.dir).len(), 2);
}

#[test]
fn a_segment_is_a_header_and_then_the_events_as_they_are() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let events = notices(1..=3);
    writer.append(&events).unwrap();
    let text = fs::read_to_string(folder.path("events-00000001.jsonl")).unwrap();
    let header = r#"{"musher_log":1,"run":"r7","epoch":1,"first":1}"#;
    let expected: Vec<String> =
        std::iter::once(header.to_owned()).chain(events.iter().map(line)).collect();
    assert_eq!(text, expected.join("\n") + "\n");
    assert_eq!(writer.next_seq(), 4);
}

#[test]
fn an_event_with_the_wrong_number_is_refused_and_nothing_of_its_batch_is_written() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&notices(1..=2)).unwrap();
    for wrong in [notices([2]), notices([4]), notices([3, 5]), notices([3, 3])] {
        let refused = writer.append(&wrong);
        assert!(matches!(refused, Err(LogError::Gap { .. })), "{refused:?}");
    }
    writer.append(&notices([3])).unwrap();
    assert_eq!(read_all(&folder.dir).len(), 3);
}

#[test]
fn a_segment_that_is_full_is_followed_by_one_that_is_named_by_its_first_number() {
    let folder = Folder::new();
    let mut writer = folder.create_on(1000, Hasty);
    let events = notices(1..=60);
    for batch in events.chunks(7) {
        writer.append(batch).unwrap();
    }
    let names = segments(&folder.dir);
    assert!(names.len() > 4, "{names:?}");
    for name in &names {
        let text = fs::read_to_string(name).unwrap();
        assert!(text.len() <= 1000, "{name:?} has {} bytes", text.len());
        let second = text.lines().nth(1).unwrap();
        let first = name.file_name().unwrap().to_str().unwrap()[7..15].parse::<u64>().unwrap();
        assert!(second.starts_with(&format!("{{\"seq\":{first},")), "{name:?}: {second}");
    }
    assert_eq!(read_all(&folder.dir), events.iter().map(line).collect::<Vec<_>>());
}

#[test]
fn one_big_batch_is_spread_over_segments_and_keeps_its_order() {
    let folder = Folder::new();
    let mut writer = folder.create_on(2000, Hasty);
    let events = notices(1..=500);
    writer.append(&events).unwrap();
    assert!(segments(&folder.dir).len() > 10);
    assert_eq!(read_all(&folder.dir), events.iter().map(line).collect::<Vec<_>>());
}

#[test]
fn a_long_field_is_cut_in_the_log() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&[notice(1, "x".repeat(1 << 20)), notice(2, "short")]).unwrap();
    let lines = read_all(&folder.dir);
    assert!(lines[0].len() < MAX_FIELD_BYTES);
    assert!(lines[0].contains("bytes cut here"));
    assert_eq!(lines[1], line(&notice(2, "short")));
}

#[test]
fn a_failed_sync_is_final_and_is_never_tried_again() {
    let folder = Folder::new();
    let disk = Dying { fail_next: Rc::new(Cell::new(false)), syncs: Rc::new(Cell::new(0)) };
    let mut writer = folder.create_on(1 << 20, disk.clone());
    writer.append(&notices(1..=3)).unwrap();
    writer.sync().unwrap();
    writer.append(&notices(4..=5)).unwrap();
    disk.fail_next.set(true);
    assert!(matches!(writer.sync(), Err(LogError::Io { .. })));
    let syncs = disk.syncs.get();
    assert!(matches!(writer.sync(), Err(LogError::Poisoned { .. })));
    assert!(matches!(writer.append(&notices([6])), Err(LogError::Poisoned { .. })));
    assert_eq!(writer.synced_seq(), 3, "what was not synced is not said to be");
    assert!(matches!(writer.finish(&"completed"), Err(LogError::Poisoned { .. })));
    assert_eq!(disk.syncs.get(), syncs);
    assert!(!folder.path("outcome.json").exists());
}

#[test]
fn a_segment_is_synced_before_the_next_one_begins() {
    let folder = Folder::new();
    let disk = Dying { fail_next: Rc::new(Cell::new(false)), syncs: Rc::new(Cell::new(0)) };
    let mut writer = folder.create_on(500, disk.clone());
    writer.append(&notices(1..=4)).unwrap();
    disk.fail_next.set(true);
    let failed = writer.append(&notices(5..=20));
    assert!(matches!(failed, Err(LogError::Io { .. })), "{failed:?}");
    assert!(matches!(writer.append(&notices([5])), Err(LogError::Poisoned { .. })));
    assert_eq!(segments(&folder.dir).len(), 1);
}

#[test]
fn the_head_tells_what_is_written_and_what_is_synced() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let reader = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(reader.last().unwrap(), None);
    writer.append(&notices(1..=2)).unwrap();
    writer.sync().unwrap();
    writer.append(&notices([3])).unwrap();
    let head = reader.head().unwrap().unwrap();
    assert_eq!((head.epoch, head.segment, head.seq, head.synced), (1, 1, 3, 2));
    assert_eq!(head.offset, fs::metadata(folder.newest()).unwrap().len());
    assert_eq!(reader.last().unwrap(), Some(Cursor { epoch: 1, seq: 3 }));
}

#[test]
fn what_people_act_on_is_urgent_and_a_batch_is_as_urgent_as_its_most_urgent_event() {
    let folder = Folder::new();
    let mut writer = folder.create();
    assert_eq!(writer.append(&notices(1..=2)).unwrap().urgency, Urgency::Soon);
    let (text, origin, attachments) = ("go".into(), Origin::Prompt, Vec::new());
    let said = EventKind::UserMessage { prompt: None, text, origin, attachments };
    let batch = [notice(3, "a"), event(4, said), notice(5, "b")];
    let appended = writer.append(&batch).unwrap();
    assert_eq!((appended.last, appended.urgency), (5, Urgency::Now));
    let state = event(6, EventKind::SessionState { state: Activity::Idle });
    assert_eq!(writer.append(&[state]).unwrap().urgency, Urgency::Now);
}

#[test]
fn a_helper_s_event_and_one_of_another_turn_are_written_with_all_they_have() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let mut one = notice(1, "quotes \" and \\ and \u{0} and ünïcode \u{1F415}");
    one.turn = Some(3);
    one.scope = EventScope::Subagent { agent: "a".into(), parent_call: None, name: None };
    writer.append([&one]).unwrap();
    assert_eq!(read_all(&folder.dir), [line(&one)]);
}

/// Prints how fast events are written and read; a debug build is an order of magnitude slower than a release.
#[test]
fn the_rate_of_writing_and_reading_is_printed() {
    const EVENTS: u64 = 20_000;
    let folder = Folder::new();
    let mut writer = folder.create();
    let text = "x".repeat(220);
    let events: Vec<_> = (1..=EVENTS).map(|seq| notice(seq, text.as_str())).collect();
    let begun = Instant::now();
    for batch in events.chunks(32) {
        writer.append(batch).unwrap();
    }
    let wrote = begun.elapsed();
    let begun = Instant::now();
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::with_capacity(256 * 1024);
    let mut bytes = 0;
    while let LogRead::Lines(batch) = reader.read(&mut buffer, 256 * 1024).unwrap() {
        bytes += batch.lines.len();
        buffer.clear();
    }
    let read = begun.elapsed();
    let rate = |seconds: f64| EVENTS as f64 / seconds / 1e6;
    println!(
        "{bytes} bytes: appended {:.2} M events/s in batches of 32, read {:.2} M events/s",
        rate(wrote.as_secs_f64()),
        rate(read.as_secs_f64()),
    );
}

#[test]
fn a_log_has_an_outcome_only_when_its_head_is_synced() {
    let folder = Folder::new();
    let disk = Dying { fail_next: Rc::new(Cell::new(false)), syncs: Rc::new(Cell::new(0)) };
    let mut writer = folder.create_on(1 << 20, disk.clone());
    writer.append(&notices(1..=3)).unwrap();
    writer.sync().unwrap();
    disk.fail_next.set(true);
    let failed = writer.finish(&"completed");
    assert!(matches!(failed, Err(LogError::Io { .. })), "{failed:?}");
    assert!(!folder.path("outcome.json").exists());
}
