//! What counts as the memory of a process.

#![expect(
    clippy::disallowed_methods,
    reason = "the program under test is started as people start it"
)]

use std::process::{Command, Stdio};

use musher_bench::stage::memory::Memory;

/// In KiB: more than such a program needs, and less than is loaded of its file.
const ITS_OWN: u64 = 3 * 1024;

#[test]
fn the_pages_of_a_program_that_was_just_copied_are_not_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copied");
    std::fs::copy(env!("CARGO_BIN_EXE_musher-bench"), &copy).unwrap();
    let mut child = Command::new(&copy)
        .args(["stand-in", "parse"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut memory = Memory::of(child.id()).unwrap();
    while memory.rss < 2 * ITS_OWN {
        std::thread::yield_now();
        memory = Memory::of(child.id()).unwrap();
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(memory.private < ITS_OWN, "{memory:?}");
}
