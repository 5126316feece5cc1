//! Readers race a writer: every line comes once and in order, across segments and across epochs.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use musher_log::{Lock, LogRead, LogReader, Writer, line_seq, lines};

use crate::rig::{Folder, Hasty, notices};

const EVENTS: u64 = 6_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads until the last event has come, and holds every line to its number.
fn follow(dir: &Path, max_bytes: usize) -> u64 {
    let mut reader = LogReader::open(dir, None).unwrap();
    let mut buffer = Vec::new();
    let mut next = 1;
    let deadline = Instant::now() + PATIENCE;
    while next <= EVENTS {
        assert!(Instant::now() < deadline, "event {next} never came");
        buffer.clear();
        match reader.read(&mut buffer, max_bytes).unwrap() {
            LogRead::Lines(batch) => {
                for line in lines(&buffer[batch.lines]) {
                    assert_eq!(line_seq(line), Some(next));
                    assert_eq!(line.last(), Some(&b'}'));
                    next += 1;
                }
            }
            LogRead::End => thread::yield_now(),
            LogRead::Reset { to } => {
                panic!("nothing was lost, yet the reader was sent back to {to}")
            }
        }
    }
    next - 1
}

#[test]
fn readers_that_race_a_writer_get_every_line_once_and_in_order() {
    let folder = Folder::new();
    let mut writer = folder.create_on(8_000, Hasty);
    thread::scope(|scope| {
        let readers: Vec<_> = [1, 300, 65_536]
            .into_iter()
            .map(|max| {
                let dir = folder.dir.clone();
                scope.spawn(move || follow(&dir, max))
            })
            .collect();
        let mut next = 1;
        for size in [1, 7, 2, 40, 1, 3].into_iter().cycle() {
            let end = (next + size).min(EVENTS + 1);
            writer.append(&notices(next..end)).unwrap();
            next = end;
            if next > EVENTS {
                break;
            }
        }
        for reader in readers {
            assert_eq!(reader.join().unwrap(), EVENTS);
        }
    });
}

#[test]
fn readers_that_race_writers_which_die_get_every_line_once_and_in_order() {
    let folder = Folder::new();
    drop(folder.create_on(8_000, Hasty));
    thread::scope(|scope| {
        let readers: Vec<_> = [200, 65_536]
            .into_iter()
            .map(|max| {
                let dir = folder.dir.clone();
                scope.spawn(move || follow(&dir, max))
            })
            .collect();
        let mut next = 1;
        while next <= EVENTS {
            let lock = Lock::take(&folder.dir).unwrap();
            let mut writer = Writer::reopen_with(lock, 8_000, Hasty).unwrap();
            assert_eq!(writer.next_seq(), next);
            let end = (next + 211).min(EVENTS + 1);
            for batch in notices(next..end).chunks(13) {
                writer.append(batch).unwrap();
            }
            next = end;
        }
        for reader in readers {
            assert_eq!(reader.join().unwrap(), EVENTS);
        }
    });
}
