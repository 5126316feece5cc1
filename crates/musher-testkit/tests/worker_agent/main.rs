//! The agent that does scripted work: alone, and driven by the runtime that it was made for.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where its set-up fails, and clippy exempts test functions only"
)]
#![expect(clippy::disallowed_methods, reason = "these tests start the fake programs directly")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing among many")]

mod alone;
mod driven;
mod driven_sessions;
mod run;

use std::path::Path;
use std::time::{Duration, Instant};

const AGENT: &str = env!("CARGO_BIN_EXE_worker-agent");

/// The lines of a file in the agent's home; none while it does not exist.
fn lines(home: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(home.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for something that must come true soon.
fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
