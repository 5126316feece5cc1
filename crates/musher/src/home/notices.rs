//! What a person must be told about the state directory, until the person takes the file away.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, Unfit};
use serde::{Deserialize, Serialize};

/// It is never longer.
const MAX_NOTICES_FILE_BYTES: u64 = 64 << 20;

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
    read(&notices_file(state))
}

/// Where those are kept that a person has read.
fn read_file(state: &Path) -> PathBuf {
    state.join("notices-read.jsonl")
}

fn read(path: &Path) -> Vec<Notice> {
    let text = untrusted::read(path, MAX_NOTICES_FILE_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A person has read everything up to this moment. What was read is kept in a file beside, for those who look into it later.
pub(crate) fn acknowledge(state: &Path, through: i64) -> io::Result<()> {
    let (read, unread): (Vec<_>, Vec<_>) =
        notices(state).into_iter().partition(|notice| notice.at <= through);
    append(&read_file(state), &read)?;
    match unread.is_empty() {
        true => match std::fs::remove_file(notices_file(state)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        },
        false => super::write_whole(&notices_file(state), &lines(&unread)?),
    }
}

/// Adds what was found; it is on the disk afterwards.
pub(super) fn add(state: &Path, at: i64, texts: &[String]) -> io::Result<Vec<String>> {
    // The folder of a lost run is found again at each start; what was said once is not said again.
    let known: Vec<Notice> =
        [notices_file(state), read_file(state)].iter().flat_map(|path| read(path)).collect();
    let new = |text: &&String| known.iter().all(|notice| notice.text != **text);
    let found: Vec<Notice> =
        texts.iter().filter(new).map(|text| Notice { at, text: text.clone() }).collect();
    append(&notices_file(state), &found)?;
    Ok(found.into_iter().map(|notice| notice.text).collect())
}

fn append(path: &Path, notices: &[Notice]) -> io::Result<()> {
    if notices.is_empty() {
        return Ok(());
    }
    let mut file = untrusted::append(path).map_err(Unfit::into_io)?;
    file.write_all(&lines(notices)?)?;
    file.sync_all()
}

fn lines(notices: &[Notice]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for notice in notices {
        serde_json::to_writer(&mut lines, notice)?;
        lines.push(b'\n');
    }
    Ok(lines)
}
