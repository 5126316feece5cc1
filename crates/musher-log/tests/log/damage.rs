//! Logs that a disk or a person has damaged: what is lost is told in its place, and nothing else is.

use std::fs;
use std::path::PathBuf;

use musher_core::RawRef;
use musher_log::{
    Cursor, LogError, LogRead, LogReader, is_damage, line_seq, lines, raw, raw::RawWriter,
};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::rig::{Folder, Hasty, edit, noise, notices, segments};

const EVENTS: u64 = 300;

/// A log of several segments, which is whole and closed.
fn written() -> Folder {
    let folder = Folder::new();
    let mut writer = folder.create_on(4096, Hasty);
    for seq in 1..=EVENTS {
        writer.append(&notices([seq])).unwrap();
    }
    writer.finish(&"over").unwrap();
    drop(writer);
    assert!(segments(&folder.dir).len() > 4);
    folder
}

/// The lines after a place, damage told, with the numbers that each stands for.
fn read_past(folder: &Folder, after: Option<Cursor>) -> Vec<(u64, u64, Json)> {
    let mut reader = LogReader::open(&folder.dir, after).unwrap().past_damage();
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    loop {
        buffer.clear();
        match reader.read(&mut buffer, 700).unwrap() {
            LogRead::Lines(batch) => {
                for (seq, line) in (batch.first..).zip(lines(&buffer[batch.lines])) {
                    assert_eq!(line_seq(line), Some(seq));
                    let json: Json = serde_json::from_slice(line).unwrap_or_else(|error| {
                        panic!("{error}: {}", String::from_utf8_lossy(line))
                    });
                    let from = match is_damage(line) {
                        true => json["damage"]["from"].as_u64().unwrap(),
                        false => seq,
                    };
                    found.push((from, seq, json));
                }
            }
            LogRead::Reset { .. } => {}
            LogRead::End => return found,
        }
    }
}

/// Holds that every number is told once, as an event or as lost, and gives what is lost.
fn losses(found: &[(u64, u64, Json)], last: u64) -> Vec<(u64, u64, Json)> {
    let mut next = 1;
    for (from, to, json) in found {
        assert_eq!(*from, next, "{json:#}");
        next = to + 1;
    }
    assert_eq!(next, last + 1, "the end is missing");
    let lost = |(_, _, json): &&(u64, u64, Json)| json["code"] == "unreadable";
    found.iter().filter(lost).cloned().collect()
}

/// Where the line of an event begins, and where it ends.
fn line_of(folder: &Folder, seq: u64) -> (PathBuf, std::ops::Range<usize>) {
    for path in segments(&folder.dir) {
        let bytes = fs::read(&path).unwrap();
        let mut start = 0;
        for line in lines(&bytes) {
            if line_seq(line) == Some(seq) {
                return (path, start..start + line.len());
            }
            start += line.len() + 1;
        }
    }
    panic!("there is no event {seq}");
}

/// Damages a copy of a log, and gives the one loss that is told of it.
fn damaged(change: impl FnOnce(&Folder)) -> (u64, u64, Json) {
    let folder = written().copy();
    change(&folder);
    let lost = losses(&read_past(&folder, None), EVENTS);
    assert_eq!(lost.len(), 1, "{lost:#?}");
    // Whoever must have everything is refused, with the place.
    let mut reader = LogReader::open(&folder.dir, None).unwrap();
    let mut buffer = Vec::new();
    let error = loop {
        buffer.clear();
        match reader.read(&mut buffer, 700) {
            Ok(LogRead::Lines(_) | LogRead::Reset { .. }) => {}
            Ok(LogRead::End) => panic!("the damage was passed over"),
            Err(error) => break error,
        }
    };
    let LogError::Damaged { path, seq, .. } = &error else { panic!("{error}") };
    assert_eq!(*seq, lost[0].0);
    assert!(path.ends_with(lost[0].2["damage"]["segment"].as_str().unwrap()), "{error}");
    // From every place the rest is the same.
    for after in [lost[0].0 - 1, lost[0].0, lost[0].1, lost[0].1 + 1] {
        let after = after.min(EVENTS);
        let rest = read_past(&folder, Some(Cursor { epoch: 1, seq: after }));
        let next = rest.first().map_or(EVENTS + 1, |(from, ..)| *from);
        assert_eq!(next, after + 1, "after {after}");
        assert_eq!(rest.last().map_or(EVENTS, |(_, to, _)| *to), EVENTS);
    }
    lost.into_iter().next().unwrap()
}

#[test]
fn a_line_that_is_no_json_is_told_in_place_with_file_and_byte() {
    let (_, within) = line_of(&written(), 50);
    for at in [0, 8, within.len() / 2, within.len() - 1] {
        let (from, to, told) = damaged(|folder| {
            let (path, range) = line_of(folder, 50);
            edit(&path, |bytes| bytes[range.start + at] = b'"');
        });
        assert_eq!((from, to), (50, 50), "{told:#}");
        assert_eq!(told["damage"]["offset"], within.start, "{told:#}");
        assert_eq!(
            (told["type"].as_str(), told["level"].as_str()),
            (Some("notice"), Some("error"))
        );
        let text = told["text"].as_str().unwrap();
        assert!(text.contains("event 50 cannot be read") && text.contains("event 51"), "{text}");
    }
}

#[test]
fn letters_that_are_none_are_told() {
    for byte in [0, b'\n', 0x1f, 0xff, 0xc3] {
        let (from, to, told) = damaged(|folder| {
            let (path, range) = line_of(folder, 70);
            edit(&path, |bytes| bytes[range.start + range.len() - 6] = byte);
        });
        assert_eq!((from, to), (70, 70), "{byte}: {told:#}");
    }
}

#[test]
fn numbers_that_skip_or_lie_are_told() {
    let (from, to, _) = damaged(|folder| {
        let (path, range) = line_of(folder, 50);
        edit(&path, |bytes| drop(bytes.drain(range.start..=range.end)));
    });
    assert_eq!((from, to), (50, 50));
    let (from, to, _) = damaged(|folder| {
        let (path, range) = line_of(folder, 50);
        edit(&path, |bytes| bytes[range.start + 7] = b'9');
    });
    assert_eq!((from, to), (50, 50));
}

#[test]
fn a_hole_of_zeros_is_told() {
    let (from, to, _) = damaged(|folder| {
        let ((path, first), (_, last)) = (line_of(folder, 10), line_of(folder, 14));
        edit(&path, |bytes| bytes[first.start + 5..last.end - 5].fill(0));
    });
    assert_eq!((from, to), (10, 14));
}

#[test]
fn a_segment_that_is_missing_or_has_lost_its_beginning_is_told() {
    for at in [2, 4] {
        let name = |folder: &Folder| segments(&folder.dir)[at].clone();
        let cases: [&dyn Fn(&Folder); 3] = [
            &|folder| fs::remove_file(name(folder)).unwrap(),
            &|folder| edit(&name(folder), |bytes| bytes[3] = b'?'),
            &|folder| edit(&name(folder), Vec::clear),
        ];
        for case in cases {
            let (from, to, told) = damaged(case);
            let file = format!("events-{from:08}.jsonl");
            assert_eq!(told["damage"]["segment"], file, "{told:#}");
            assert_eq!(told["damage"]["why"], "missing", "{told:#}");
            assert!(to > from + 5, "{told:#}");
        }
    }
}

#[test]
fn a_segment_that_was_cut_is_told_in_the_middle_and_at_the_end() {
    let (from, _, told) = damaged(|folder| {
        let (path, range) = line_of(folder, 50);
        edit(&path, |bytes| bytes.truncate(range.start + 5));
    });
    assert_eq!((from, told["damage"]["why"].as_str()), (50, Some("garbled")), "{told:#}");
    for seq in [EVENTS, EVENTS - 2] {
        for extra in [0, 9] {
            let (from, to, told) = damaged(|folder| {
                let (path, range) = line_of(folder, seq);
                edit(&path, |bytes| bytes.truncate(range.start + extra));
            });
            assert_eq!((from, to), (seq, EVENTS), "{told:#}");
        }
    }
}

#[test]
fn the_last_segment_can_be_missing_and_is_told() {
    let (from, to, _) = damaged(|folder| fs::remove_file(folder.newest()).unwrap());
    assert!(from < to && to == EVENTS);
}

#[test]
fn a_log_of_which_nothing_can_be_read_is_said_to_be_damaged_and_not_empty() {
    let folder = written();
    for path in segments(&folder.dir) {
        edit(&path, |bytes| bytes[0] = b'?');
    }
    let error = LogReader::open(&folder.dir, None).unwrap_err();
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
}

#[test]
fn damaged_indexes_and_strange_lines_cost_nothing() {
    let folder = written();
    for path in segments(&folder.dir) {
        fs::write(path.with_extension("idx"), noise(4096)).unwrap();
    }
    let (path, range) = line_of(&folder, 50);
    // The same line twice: nothing is lost by it.
    edit(&path, |bytes| {
        let twice = bytes[range.start..=range.end].to_vec();
        bytes.splice(range.start..range.start, twice);
    });
    // The head tells where the newest segment ends, and this is another one.
    assert_ne!(path, folder.newest());
    assert_eq!(losses(&read_past(&folder, None), EVENTS), []);
    for after in [0, 49, 50, 51, 100, EVENTS] {
        let rest = read_past(&folder, Some(Cursor { epoch: 1, seq: after }));
        assert_eq!(rest.len() as u64, EVENTS - after);
    }
}

#[test]
fn damage_in_what_the_agent_printed_is_said_with_its_place() {
    let folder = Folder::new();
    let mut writer = RawWriter::new(&folder.dir);
    let bytes = noise(400_000);
    for piece in bytes.chunks(50_000) {
        writer.push(piece).unwrap();
    }
    writer.sync().unwrap();
    drop(writer);
    let whole = |folder: &Folder| raw::read(&folder.dir, RawRef::new(0, 400_000));
    assert_eq!(whole(&folder).unwrap(), bytes);
    let path = folder.path("raw-00000000000000000000.zst");
    let len = fs::metadata(&path).unwrap().len() as usize;
    for at in [0, 2, 5, 40, 1_000, len / 2, len - 10] {
        let copy = folder.copy();
        edit(&copy.path("raw-00000000000000000000.zst"), |bytes| bytes[at] ^= 0x40);
        for index in [true, false] {
            if !index {
                fs::remove_file(copy.path("raw-00000000000000000000.idx")).unwrap();
            }
            let error = whole(&copy).expect_err(&format!("byte {at}"));
            assert!(matches!(error, LogError::RawDamaged { .. }), "{at}: {error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_bytes_are_changed_every_number_is_told_once_and_every_line_is_json(
        changes in proptest::collection::vec((0usize..5, any::<prop::sample::Index>(), any::<u8>(), 1usize..40), 1..4),
    ) {
        let folder = written();
        for (file, at, byte, len) in changes {
            let path = segments(&folder.dir)[file].clone();
            edit(&path, |bytes| {
                let at = at.index(bytes.len());
                let end = (at + len).min(bytes.len());
                bytes[at..end].fill(byte);
            });
        }
        let found = match LogReader::open(&folder.dir, None) {
            Ok(_) => read_past(&folder, None),
            Err(LogError::Damaged { .. } | LogError::Newer { .. }) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        losses(&found, EVENTS);
    }
}
