//! A reader that parses every line of a pipe into a JSON value, and does nothing else.

use std::io::{self, Read as _, Write as _};

use serde_json::Value as Json;

use crate::stage::alone::{monotonic, nanoseconds};

const PIECE: usize = 32 * 1024;

/// Reads to the end of the input, and prints how many lines there were, how long it took from the first byte, and what it
/// used of a processor.
pub(super) fn play() -> anyhow::Result<()> {
    let used = processor();
    let mut input = io::stdin().lock();
    let mut buffer: Vec<u8> = Vec::new();
    let (mut lines, mut began, mut scanned) = (0_u64, None, 0);
    let mut piece = vec![0; PIECE];
    loop {
        let count = input.read(&mut piece)?;
        began.get_or_insert_with(monotonic);
        if count == 0 {
            break;
        }
        buffer.extend_from_slice(&piece[..count]);
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[scanned..]) {
            let value: Json = serde_json::from_slice(&buffer[start..scanned + end])?;
            std::hint::black_box(&value);
            lines += 1;
            start = scanned + end + 1;
            scanned = start;
        }
        buffer.drain(..start);
        scanned = buffer.len();
    }
    let took = monotonic().saturating_sub(began.unwrap_or_default());
    writeln!(io::stdout(), "{lines} {took} {}", processor().saturating_sub(used))?;
    Ok(())
}

/// What this process has used of a processor, in nanoseconds.
fn processor() -> u64 {
    nanoseconds(rustix::time::ClockId::ProcessCPUTime)
}
