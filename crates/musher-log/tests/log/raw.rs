//! What the agent wrote can be had back byte for byte, from any place.

use std::fs;

use musher_core::RawRef;
use musher_log::LogError;
use musher_log::raw::{FRAME_BYTES, RawWriter, read};
use proptest::prelude::*;

use crate::rig::{Folder, edit, noise};

fn piece(folder: &Folder, offset: usize, len: usize) -> Vec<u8> {
    read(&folder.dir, RawRef::new(offset as u64, len as u64)).unwrap()
}

#[test]
fn any_piece_of_the_output_can_be_read_alone_across_frames_and_files() {
    let folder = Folder::new();
    let stream = noise(5 * FRAME_BYTES + 777);
    let mut writer = RawWriter::with_file_bytes(&folder.dir, 2 * FRAME_BYTES as u64);
    for bytes in stream.chunks(10_007) {
        writer.push(bytes).unwrap();
    }
    assert_eq!(writer.stream_len(), stream.len() as u64);
    writer.sync().unwrap();
    assert!(folder.path("raw-00000000000000000000.zst").exists());
    let files = |end: &str| {
        let names = fs::read_dir(&folder.dir).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|found| found == end)).count()
    };
    assert!(files("zst") > 1 && files("zst") == files("idx"));
    let pieces = [
        (0, 1),
        (0, stream.len()),
        (FRAME_BYTES - 1, 2),
        (3 * FRAME_BYTES + 5, FRAME_BYTES),
        (stream.len() - 1, 1),
        (123_456, 234_567),
    ];
    for (offset, len) in pieces {
        assert!(piece(&folder, offset, len) == stream[offset..offset + len], "{offset}+{len}");
    }
    assert_eq!(piece(&folder, stream.len(), 10), b"");
    assert_eq!(piece(&folder, stream.len() - 3, 10).len(), 3);
    for entry in fs::read_dir(&folder.dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "idx") {
            edit(&path, |bytes| bytes.iter_mut().for_each(|byte| *byte ^= 0x11));
        }
    }
    for (offset, len) in pieces {
        assert!(piece(&folder, offset, len) == stream[offset..offset + len], "without an index");
    }
}

#[test]
fn a_push_that_is_larger_than_a_frame_is_kept_whole() {
    let folder = Folder::new();
    let stream = noise(3 * FRAME_BYTES + 1);
    let mut writer = RawWriter::new(&folder.dir);
    writer.push(b"before").unwrap();
    writer.push(&stream).unwrap();
    writer.flush().unwrap();
    assert!(piece(&folder, 6, stream.len()) == stream);
    assert_eq!(piece(&folder, 0, 6), b"before");
}

#[test]
fn what_was_torn_at_the_end_is_missing_and_the_rest_is_there() {
    let folder = Folder::new();
    let stream = noise(2 * FRAME_BYTES);
    let mut writer = RawWriter::new(&folder.dir);
    writer.push(&stream).unwrap();
    edit(&folder.path("raw-00000000000000000000.zst"), |bytes| bytes.truncate(bytes.len() - 9));
    let found = piece(&folder, 0, stream.len());
    assert!(found == stream[..FRAME_BYTES]);
}

#[test]
fn raw_files_that_cannot_be_written_say_so_every_time_and_hold_no_memory() {
    let folder = Folder::new();
    let mut writer = RawWriter::new(&folder.path("gone"));
    writer.push(b"small").unwrap();
    assert!(matches!(writer.flush(), Err(LogError::Io { .. })));
    assert!(matches!(writer.push(b"more"), Err(LogError::Poisoned { .. })));
    assert!(matches!(writer.flush(), Err(LogError::Poisoned { .. })));
    assert_eq!(writer.stream_len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_pushed_and_flushed_comes_back(
        pushes in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..3_000), any::<bool>()), 1..20),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let folder = Folder::new();
        let mut writer = RawWriter::with_file_bytes(&folder.dir, 5_000);
        let mut stream = Vec::new();
        for (bytes, flush) in &pushes {
            writer.push(bytes).unwrap();
            stream.extend_from_slice(bytes);
            if *flush {
                writer.flush().unwrap();
            }
        }
        writer.flush().unwrap();
        let (from, to) = (from.index(stream.len() + 1), to.index(stream.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        prop_assert_eq!(piece(&folder, from, to - from), &stream[from..to]);
    }
}
