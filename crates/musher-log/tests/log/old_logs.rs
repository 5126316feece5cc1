//! Logs that were written by other versions: old ones are read for ever, newer ones are refused in plain words.

use std::fs;
use std::path::PathBuf;

use musher_core::{Event, Outcome, RawRef, SessionEnded};
use musher_log::{
    Cursor, Kinds, LogError, LogRead, LogReader, Writer, line_kind, lines, open_ends, outcome, raw,
};

use crate::rig::{Folder, copy_files, edit, notices, read_after, read_all};

fn v1() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs/v1/r7")
}

#[test]
fn a_log_of_version_one_is_read_with_its_epochs() {
    let lines = read_all(&v1());
    assert_eq!(lines.len(), 12);
    let reader = LogReader::open(&v1(), None).unwrap();
    assert_eq!(reader.last().unwrap(), Some(Cursor { epoch: 2, seq: 12 }));
    assert_eq!(read_after(&v1(), Some(Cursor { epoch: 1, seq: 9 })), (lines[9..].to_vec(), vec![]));
    let beyond = Some(Cursor { epoch: 1, seq: 11 });
    let reset = Cursor { epoch: 2, seq: 9 };
    assert_eq!(read_after(&v1(), beyond), (lines[9..].to_vec(), vec![reset]));
    let ended = outcome::read::<SessionEnded>(&v1()).unwrap().unwrap();
    assert_eq!(ended.outcome, Outcome::Lost);
    let ends = open_ends(&v1(), Default::default()).unwrap();
    assert_eq!(ends.ended, Some(ended));
    assert_eq!((ends.last_seq, ends.open_asks.len(), ends.open_turn), (12, 0, None));
    assert_eq!(ends.session.unwrap().as_str(), "s-1f0c");
}

#[test]
fn kinds_and_fields_that_we_do_not_know_pass_through_unchanged() {
    let text = fs::read_to_string(v1().join("events-00000001.jsonl")).unwrap();
    let written: Vec<&str> = text.lines().skip(1).collect();
    let lines = read_all(&v1());
    assert_eq!(lines[..9], written);
    assert!(lines[6].contains(r#""type":"dreamt","of":["sheep"]"#));
    assert_eq!(line_kind(lines[6].as_bytes()), Some("dreamt"));
    assert!(Kinds::new(["dreamt"]).has(lines[6].as_bytes()));
    assert!(lines[3].contains(r#""a_field_of_tomorrow":{"deep":[1,2,3]}"#));
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| *at != 6) {
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.seq, at as u64 + 1);
    }
}

#[test]
fn the_raw_output_of_version_one_is_read() {
    let found = raw::read(&v1(), RawRef::new(27, 28)).unwrap();
    assert_eq!(found, b"{\"frame\":2,\"text\":\"w\xc3\xb6rld\"}\n");
}

#[test]
fn a_log_of_version_one_can_be_opened_again() {
    let folder = Folder::new();
    copy_files(&v1(), &folder.dir);
    let mut writer = folder.reopen();
    assert_eq!((writer.epoch(), writer.next_seq()), (3, 13));
    writer.append(&notices([13])).unwrap();
    assert_eq!(read_all(&folder.dir).len(), 13);
}

#[test]
fn a_log_of_a_newer_version_is_refused_and_left_alone() {
    let folder = Folder::new();
    folder.create().append(&notices(1..=2)).unwrap();
    edit(&folder.newest(), |bytes| bytes[14] = b'2');
    let before = fs::read(folder.newest()).unwrap();
    assert!(before.starts_with(br#"{"musher_log":2,"#));
    let error = LogReader::open(&folder.dir, None).unwrap_err();
    assert!(matches!(error, LogError::Newer { version: 2, .. }));
    assert!(error.to_string().contains("newer Musher (format 2); upgrade"), "{error}");
    let error = Writer::reopen(folder.lock()).unwrap_err();
    assert!(matches!(error, LogError::Newer { .. }));
    assert_eq!(fs::read(folder.newest()).unwrap(), before);
}

#[test]
fn a_folder_full_of_nonsense_is_no_log_and_does_no_harm() {
    let folder = Folder::new();
    let names = [
        "events-00000000.jsonl",
        "events-99999999999999999999999.jsonl",
        "events-18446744073709551615.jsonl",
        "events-x.jsonl",
        "events-.jsonl",
        "head",
        "events-00000005.jsonl",
    ];
    for name in names {
        fs::write(folder.path(name), b"\0\xff{\n{}\n").unwrap();
    }
    let mut reader = LogReader::open(&folder.dir, Some(Cursor { epoch: 0, seq: 0 })).unwrap();
    assert_eq!(reader.read(&mut Vec::new(), 10).unwrap(), LogRead::End);
    assert_eq!(reader.last().unwrap(), None);
    let mut writer = folder.reopen();
    writer.append(&notices([1])).unwrap();
    let mut buffer = Vec::new();
    let LogRead::Lines(batch) = reader.read(&mut buffer, 1000).unwrap() else { panic!("lines") };
    assert_eq!(lines(&buffer[batch.lines]).count(), 1);
}
