//! How it takes signals, and how it dies of them or falls silent.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// Long enough for every test; a failed one leaves nothing for ever.
const SILENCE: Duration = Duration::from_secs(60 * 60);

/// A caught signal that is thrown away is as good as an ignored one, and needs no unsafe code. The handlers stay when
/// the runtime that they were made in is gone, so nothing of it runs beside the agent.
pub(crate) fn ignore_term() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        // Only the handler behind it is wanted.
        drop(signal(kind)?);
    }
    Ok(())
}

/// Says nothing and hears nothing, not even the end of its input.
pub(crate) fn hang() {
    std::thread::sleep(SILENCE);
}

/// A time on the wall clock, and how far away it is.
pub(crate) struct Reset {
    pub(crate) unix_seconds: u64,
    pub(crate) left: Duration,
}

/// The first whole second that is at least this far away.
#[expect(clippy::disallowed_methods, reason = "a reset is told as a time on the wall clock")]
pub(crate) fn soon(seconds: u32) -> io::Result<Reset> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let unix_seconds = now.as_secs() + u64::from(seconds) + 1;
    Ok(Reset { unix_seconds, left: Duration::from_secs(unix_seconds).saturating_sub(now) })
}

pub(crate) fn crash(number: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(number).ok_or(io::ErrorKind::InvalidInput)?;
    // Rust catches SIGSEGV and SIGBUS once to look for a stack overflow; the second one kills.
    kill_process(getpid(), signal)?;
    kill_process(getpid(), signal)?;
    Ok(())
}

/// Bytes that are no protocol: always the same ones, a NUL and broken UTF-8 among them, with a newline at the end.
pub(crate) fn garbage(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let random = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    });
    let fixed = [0x00, 0xff, 0xc3, 0x28];
    let mut bytes = fixed.into_iter().chain(random).take(count).collect::<Vec<_>>();
    bytes.push(b'\n');
    bytes
}
