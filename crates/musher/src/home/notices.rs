//! What a person must be told about the state directory, until the person takes the file away.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use musher_runtime::untrusted::{self, Unfit};
use serde::{Deserialize, Serialize};

/// It is never longer.
const LONGEST: u64 = 64 << 20;

/// One thing to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// When it was found, Unix milliseconds.
    pub at: i64,
    pub text: String,
}

/// Where they are kept, one JSON object a line.
pub(crate) fn notices_file(state: &Path) -> PathBuf {
    state.join("notices.jsonl")
}

/// Everything that was found and not taken away.
pub(crate) fn notices(state: &Path) -> Vec<Notice> {
    let text = untrusted::read(&notices_file(state), LONGEST).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Adds what was found; it is on the disk afterwards.
pub(super) fn add(state: &Path, at: i64, texts: &[String]) -> io::Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let mut lines = Vec::new();
    for text in texts {
        serde_json::to_writer(&mut lines, &Notice { at, text: text.clone() })?;
        lines.push(b'\n');
    }
    let path = notices_file(state);
    let mut file = untrusted::append(&path).map_err(Unfit::into_io)?;
    file.write_all(&lines)?;
    file.sync_all()
}
