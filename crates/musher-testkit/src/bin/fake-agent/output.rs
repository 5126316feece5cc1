//! What the fake agent prints: too much, too long, too raw or too late.

use std::io::{self, BufRead as _, BufWriter, Read as _, Write as _};
use std::time::{Duration, Instant};

const MB: u64 = 1024 * 1024;

/// Prints a text and flushes it, so that a reader sees it whatever comes next.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

pub(crate) fn lines(count: u64, size: usize) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for n in 1..=count {
        let line = format!("line {n}");
        let filler = size.saturating_sub(line.len() + 2);
        let blank = if filler > 0 { " " } else { "" };
        writeln!(out, "{line}{blank}{}", "x".repeat(filler))?;
    }
    out.flush()
}

/// Prints lines of 200 bytes; without a limit it ends only when nobody reads any more.
pub(crate) fn flood(mb: Option<u64>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let count = mb.map_or(u64::MAX, |mb| mb * MB / 200);
    for n in 1..=count {
        writeln!(out, "{:x<199}", format!("flood {n} "))?;
    }
    out.flush()
}

pub(crate) fn garbage(seed: u64, bytes: usize) -> io::Result<()> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // The first bytes are fixed, so that even a short run holds a NUL, broken UTF-8 and a line end.
    let fixed = [0x00, 0xff, 0xc3, 0x28, b'\n'];
    let random = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    });
    let all = fixed.into_iter().chain(random).take(bytes).collect::<Vec<_>>();
    let mut out = io::stdout().lock();
    out.write_all(&all)?;
    out.flush()
}

pub(crate) fn long_line(mb: u64) -> io::Result<()> {
    no_newline(Some(mb))?;
    say("\nafter\n")
}

pub(crate) fn no_newline(mb: Option<u64>) -> io::Result<()> {
    let block = [b'x'; 64 * 1024];
    let mut out = io::stdout().lock();
    let count = mb.map_or(u64::MAX, |mb| mb * MB / block.len() as u64);
    for _ in 0..count {
        out.write_all(&block)?;
    }
    out.flush()
}

/// Writes numbered lines to stderr.
pub(crate) fn complain(kb: usize) -> io::Result<()> {
    let mut out = BufWriter::new(io::stderr().lock());
    let mut written = 0;
    for n in 1.. {
        if written >= kb * 1024 {
            break;
        }
        let line = format!("stderr {n} {}\n", "e".repeat(80));
        out.write_all(line.as_bytes())?;
        written += line.len();
    }
    out.flush()
}

pub(crate) fn echo() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()?;
        line.clear();
    }
    say("eof\n")
}

#[expect(clippy::disallowed_methods, reason = "showing its environment is what this mode is for")]
pub(crate) fn environment() -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut out = BufWriter::new(io::stdout().lock());
    for (key, value) in std::env::vars_os() {
        out.write_all(key.as_bytes())?;
        out.write_all(b"=")?;
        out.write_all(value.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

pub(crate) fn after_eof(ms: u64) -> io::Result<()> {
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    let start = Instant::now();
    let mut n = 0_u64;
    while start.elapsed() < Duration::from_millis(ms) {
        n += 1;
        say(&format!("after {n}\n"))?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
