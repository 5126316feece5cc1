//! What readers promise: every line once and in order, from any place, and a word when that place is gone.

use std::fs;

use musher_log::{Cursor, Kinds, LogError, LogRead, LogReader, lines};

use crate::rig::{
    Folder, Hasty, drain, edit, line, notice, notices, read_after, read_all, segments,
};

fn cursor(epoch: u32, seq: u64) -> Option<Cursor> {
    Some(Cursor { epoch, seq })
}

#[test]
fn a_reader_begins_after_its_cursor_wherever_that_is() {
    let folder = Folder::new();
    let mut writer = folder.create_on(1500, Hasty);
    let events = notices(1..=100);
    for batch in events.chunks(3) {
        writer.append(batch).unwrap();
    }
    for seq in 0..=100_usize {
        let (found, resets) = read_after(&folder.dir, cursor(1, seq as u64));
        assert_eq!(resets, []);
        let expected: Vec<String> = events[seq..].iter().map(line).collect();
        assert_eq!(found, expected, "after {seq}");
    }
}

#[test]
fn a_place_deep_in_a_long_segment_is_found_with_and_without_a_sound_index() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let events: Vec<_> = (1..=3000).map(|seq| notice(seq, "y".repeat(200))).collect();
    for batch in events.chunks(100) {
        writer.append(batch).unwrap();
    }
    let index = folder.path("events-00000001.idx");
    assert!(fs::metadata(&index).unwrap().len() >= 5 * 16);
    let whole = fs::read(&index).unwrap();
    let mut lying = whole.clone();
    for record in lying.chunks_exact_mut(16) {
        record[8] = record[8].wrapping_add(3);
    }
    let mut shifted = whole.clone();
    for record in shifted.chunks_exact_mut(16) {
        record[0] ^= 1;
    }
    let mut torn = whole.clone();
    torn.truncate(whole.len() - 7);
    let mut beyond = whole.clone();
    beyond[8..16].copy_from_slice(&(1_u64 << 62).to_le_bytes());
    let noise: Vec<u8> = (0..200).map(|n: u8| n.wrapping_mul(151)).collect();
    for bytes in [&whole, &lying, &shifted, &torn, &beyond, &noise, &Vec::new()] {
        fs::write(&index, bytes).unwrap();
        for seq in [1, 511, 512, 513, 514, 1024, 2047, 2999] {
            let mut reader = LogReader::open(&folder.dir, cursor(1, seq)).unwrap();
            let mut buffer = Vec::new();
            let LogRead::Lines(batch) = reader.read(&mut buffer, 1).unwrap() else {
                panic!("there is an event after {seq}");
            };
            assert_eq!((batch.first, batch.last), (seq + 1, seq + 1));
            assert_eq!(reader.cursor(), Cursor { epoch: 1, seq: seq + 1 });
        }
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(read_after(&folder.dir, cursor(1, 2990)).0.len(), 10);
}

#[test]
fn a_reader_that_has_everything_gets_what_comes_later() {
    let folder = Folder::new();
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::new();
    assert_eq!(reader.read(&mut buffer, 100).unwrap(), LogRead::End, "there is no log yet");
    let mut writer = folder.create_on(400, Hasty);
    assert_eq!(reader.read(&mut buffer, 100).unwrap(), LogRead::End, "there is no event yet");
    for seq in 1..=40 {
        writer.append(&notices([seq])).unwrap();
        buffer.clear();
        let LogRead::Lines(batch) = reader.read(&mut buffer, 4096).unwrap() else {
            panic!("event {seq} was appended");
        };
        assert_eq!((batch.first, batch.last, batch.end), (seq, seq, true));
        assert_eq!(reader.read(&mut buffer, 4096).unwrap(), LogRead::End);
    }
    assert!(segments(&folder.dir).len() > 5);
}

#[test]
fn a_line_longer_than_what_was_asked_for_comes_whole_and_alone() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let many = vec!["z".repeat(9_000); 60];
    let kind = musher_core::EventKind::ItemsRetracted {
        items: many.iter().map(|id| id.as_str().into()).collect(),
        why: "long".into(),
    };
    let long = crate::rig::event(2, kind);
    writer.append(&[notice(1, "a"), long.clone(), notice(3, "b")]).unwrap();
    assert!(line(&long).len() > 500_000);
    assert_eq!(read_all(&folder.dir), [line(&notice(1, "a")), line(&long), line(&notice(3, "b"))]);
}

#[test]
fn no_batch_is_longer_than_was_asked_for_and_what_was_in_the_buffer_stays() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&notices(1..=50)).unwrap();
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::with_capacity(1 << 20);
    buffer.extend_from_slice(b"mine");
    let LogRead::Lines(batch) = reader.read(&mut buffer, 1000).unwrap() else { panic!("lines") };
    assert!(batch.lines.start == 4 && batch.lines.end == buffer.len() && buffer.len() <= 1004);
    assert!(buffer.starts_with(b"mine{\"seq\":1,") && buffer.ends_with(b"}\n"));
    assert!(!batch.end);
}

#[test]
fn readers_never_pass_the_head() {
    let folder = Folder::new();
    let mut writer = folder.create();
    writer.append(&notices(1..=2)).unwrap();
    let head = fs::read(folder.path("head")).unwrap();
    writer.append(&notices(3..=4)).unwrap();
    let newer = fs::read(folder.path("head")).unwrap();
    fs::write(folder.path("head"), head).unwrap();
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(drain(&mut reader).0.len(), 2);
    fs::write(folder.path("head"), newer).unwrap();
    assert_eq!(drain(&mut reader).0.len(), 2);
}

#[test]
fn without_a_sound_head_the_whole_lines_are_the_log() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let events = notices(1..=9);
    writer.append(&events).unwrap();
    let expected: Vec<String> = events.iter().map(line).collect();
    edit(&folder.newest(), |bytes| bytes.extend_from_slice(br#"{"seq":10,"at":1,"type":"noti"#));
    let harm: [fn(&mut Vec<u8>); 3] =
        [|head| head[20] ^= 1, |head| head.truncate(17), |head| head.clear()];
    for harm in harm {
        edit(&folder.path("head"), harm);
        assert_eq!(read_all(&folder.dir), expected);
        let reader = LogReader::open(&folder.dir, None).unwrap();
        assert_eq!(reader.last().unwrap(), cursor(1, 9));
    }
    fs::remove_file(folder.path("head")).unwrap();
    assert_eq!(read_all(&folder.dir), expected);
    assert_eq!(read_after(&folder.dir, cursor(1, 4)).0, expected[4..]);
}

#[test]
fn a_cursor_of_an_older_epoch_goes_on_if_its_event_is_still_there_and_is_reset_if_not() {
    let folder = Folder::new();
    folder.create().append(&notices(1..=10)).unwrap();
    let mut live = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(drain(&mut live).0.len(), 10);
    // The power fails: two events that were read are gone.
    edit(&folder.newest(), |bytes| {
        let lost: usize = notices(9..=10).iter().map(|event| line(event).len() + 1).sum();
        bytes.truncate(bytes.len() - lost);
    });
    let (_, resets) = read_after(&folder.dir, cursor(1, 10));
    assert_eq!(resets, [Cursor { epoch: 1, seq: 8 }], "even before the log is closed");
    let mut writer = folder.reopen();
    writer.append(&[notice(9, "other nine"), notice(10, "other ten")]).unwrap();
    for seq in 0..=8 {
        let (found, resets) = read_after(&folder.dir, cursor(1, seq));
        assert_eq!((found.len() as u64, resets), (10 - seq, vec![]), "after {seq}");
    }
    let others = [line(&notice(9, "other nine")), line(&notice(10, "other ten"))];
    for seq in [9, 10, 11, u64::MAX] {
        let (found, resets) = read_after(&folder.dir, cursor(1, seq));
        assert_eq!(resets, [Cursor { epoch: 2, seq: 8 }], "after {seq}");
        assert_eq!(found, others);
    }
    assert_eq!(drain(&mut live), (others.to_vec(), vec![Cursor { epoch: 2, seq: 8 }]));
    assert_eq!(read_after(&folder.dir, cursor(2, 8)).0, others);
    assert_eq!(read_after(&folder.dir, cursor(2, 10)), (vec![], vec![]));
}

#[test]
fn a_cursor_from_a_log_that_never_was_is_reset_to_the_beginning() {
    let folder = Folder::new();
    folder.create().append(&notices(1..=3)).unwrap();
    let (found, resets) = read_after(&folder.dir, cursor(9, 2));
    assert_eq!((found.len(), resets), (3, vec![Cursor { epoch: 1, seq: 0 }]));
    let empty = Folder::new();
    assert_eq!(read_after(&empty.dir, cursor(1, 5)).1, [Cursor { epoch: 1, seq: 0 }]);
}

#[test]
fn a_log_that_was_opened_again_without_an_event_goes_on_in_its_newest_epoch() {
    let folder = Folder::new();
    drop(folder.create());
    let mut live = LogReader::open(&folder.dir, None).unwrap();
    assert_eq!(drain(&mut live).0.len(), 0);
    drop(folder.reopen());
    assert_eq!(drain(&mut live).0.len(), 0);
    let mut writer = folder.reopen();
    assert_eq!((writer.epoch(), writer.next_seq()), (3, 1));
    writer.append(&notices(1..=2)).unwrap();
    assert_eq!(drain(&mut live).0.len(), 2);
    assert_eq!(live.cursor(), Cursor { epoch: 3, seq: 2 });
    assert_eq!(segments(&folder.dir).len(), 1);
}

#[test]
fn the_first_segments_may_be_gone_and_the_reader_is_told() {
    let folder = Folder::new();
    let mut writer = folder.create_on(500, Hasty);
    writer.append(&notices(1..=30)).unwrap();
    let names = segments(&folder.dir);
    let kept = names[2].file_name().unwrap().to_str().unwrap()[7..15].parse::<u64>().unwrap();
    fs::remove_file(&names[0]).unwrap();
    fs::remove_file(&names[1]).unwrap();
    let (found, resets) = read_after(&folder.dir, cursor(1, 2));
    assert_eq!(resets, [Cursor { epoch: 1, seq: kept - 1 }]);
    assert_eq!(found.len() as u64, 31 - kept);
    assert_eq!(read_all(&folder.dir), found);
}

#[test]
fn a_damaged_line_is_said_to_be_damaged_and_never_passed_over() {
    let folder = Folder::new();
    let mut writer = folder.create_on(500, Hasty);
    writer.append(&notices(1..=30)).unwrap();
    edit(&segments(&folder.dir)[1], |bytes| {
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes[second + 2] = b'!';
    });
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::new();
    let error = loop {
        match reader.read(&mut buffer, 4096) {
            Ok(LogRead::Lines(_)) => {}
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
}

#[test]
fn the_last_events_can_be_had_without_the_rest() {
    let folder = Folder::new();
    let mut writer = folder.create_on(500, Hasty);
    writer.append(&notices(1..=30)).unwrap();
    let mut reader = LogReader::open_last(&folder.dir, 7).unwrap();
    let (found, resets) = drain(&mut reader);
    assert_eq!((found.len(), resets.len()), (7, 0));
    assert_eq!(drain(&mut LogReader::open_last(&folder.dir, 99).unwrap()).0.len(), 30);
}

#[test]
fn a_reader_beside_another_has_a_place_of_its_own() {
    let folder = Folder::new();
    let mut writer = folder.create_on(500, Hasty);
    writer.append(&notices(1..=30)).unwrap();
    let mut one = LogReader::open(&folder.dir, None).unwrap();
    let mut two = one.beside(cursor(1, 28)).unwrap();
    assert_eq!(drain(&mut two).0.len(), 2);
    assert_eq!(drain(&mut one).0.len(), 30);
    let mut three = one.beside(cursor(1, 29)).unwrap();
    writer.append(&notices([31])).unwrap();
    assert_eq!(drain(&mut three).0.len(), 2);
    assert_eq!(drain(&mut one).0.len(), 1);
}

#[test]
fn kinds_are_chosen_without_parsing() {
    let folder = Folder::new();
    let mut writer = folder.create();
    let idle = musher_core::EventKind::SessionState { state: musher_core::Activity::Idle };
    writer.append(&[notice(1, "a"), crate::rig::event(2, idle), notice(3, "b")]).unwrap();
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::new();
    let LogRead::Lines(batch) = reader.read(&mut buffer, 4096).unwrap() else { panic!("lines") };
    let kinds = Kinds::new(["notice"]);
    let chosen = lines(&buffer[batch.lines]).filter(|line| kinds.has(line)).count();
    assert_eq!(chosen, 2);
}

#[test]
fn a_folder_that_was_cleaned_away_is_missing() {
    let folder = Folder::new();
    let gone = folder.path("gone");
    assert!(matches!(LogReader::open(&gone, None), Err(LogError::Missing { .. })));
}

#[test]
fn a_reader_of_what_is_synced_is_never_ahead_of_the_disk() {
    let folder = Folder::new();
    let mut writer = folder.create_on(400, Hasty);
    let events = notices(1..=30);
    let mut reader = LogReader::open(&folder.dir, None).unwrap().only_synced();
    let mut heard = Vec::new();
    for (n, batch) in events.chunks(3).enumerate() {
        writer.append(batch).unwrap();
        heard.extend(drain(&mut reader).0);
        assert!(heard.len() as u64 <= writer.synced_seq(), "after batch {n}");
        if n % 3 == 2 {
            writer.sync().unwrap();
            heard.extend(drain(&mut reader).0);
            assert_eq!(heard.len() as u64, writer.synced_seq());
        }
    }
    writer.sync().unwrap();
    heard.extend(drain(&mut reader).0);
    assert_eq!(heard, events.iter().map(line).collect::<Vec<_>>());
    assert!(segments(&folder.dir).len() > 3);
}
