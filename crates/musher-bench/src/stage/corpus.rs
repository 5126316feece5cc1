//! What agents print: frames as they were recorded, and frames of a wanted size.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value as Json, json};

/// Lines of an agent, each with its end.
#[derive(Debug, Clone)]
pub struct Corpus {
    pub bytes: Vec<u8>,
    pub lines: u64,
}

/// What stands before an id; the four characters after it are made new in each repetition.
const IDS: [&[u8]; 4] = [b"msg_", b"toolu_", br#""uuid":""#, br#""request_id":""#];
const FRESH: usize = 4;

impl Corpus {
    /// Every frame that was recorded, over and over, up to so many bytes.
    pub fn mixed(bytes: usize) -> anyhow::Result<Self> {
        Self::repeated(&recorded()?, bytes)
    }

    /// Only the pieces of text in flight among them.
    pub fn deltas(bytes: usize) -> anyhow::Result<Self> {
        let mut frames = recorded()?;
        frames.retain(|line| memchr::memmem::find(line, br#""type":"stream_event""#).is_some());
        Self::repeated(&frames, bytes)
    }

    /// What agents of a protocol tell without being asked, over and over: the other frames reply to requests that nobody makes
    /// here.
    pub fn notices(recordings: &str, bytes: usize) -> anyhow::Result<Self> {
        let mut frames = frames_in(recordings)?;
        frames.retain(|line| {
            let frame: Json = serde_json::from_slice(line).unwrap_or_default();
            frame.get("method").is_some() && frame.get("id").is_none()
        });
        Self::repeated(&frames, bytes)
    }

    /// Messages of one text each, so many bytes a line.
    pub fn of_size(size: usize, bytes: usize) -> anyhow::Result<Self> {
        let frame = |text: &str| {
            json!({
                "type": "assistant",
                "message": {
                    "id": "msg_0000", "role": "assistant", "model": "m",
                    "content": [{ "type": "text", "text": text }],
                },
            })
        };
        let bare = frame("").to_string().len() + 1;
        let words = "Some words, a \"quote\", a line end\n and more words. ";
        let escaped = json!(words).to_string().len() - 2;
        let room = size.saturating_sub(bare);
        let text = words.repeat(room / escaped) + &"x".repeat(room % escaped);
        Self::repeated(&[frame(&text).to_string().into_bytes()], bytes)
    }

    fn repeated(frames: &[Vec<u8>], bytes: usize) -> anyhow::Result<Self> {
        ensure!(!frames.is_empty(), "there is no frame to repeat");
        let mut corpus = Self { bytes: Vec::with_capacity(bytes + 64 * 1024), lines: 0 };
        for repetition in 0_u32.. {
            for frame in frames {
                let start = corpus.bytes.len();
                corpus.bytes.extend_from_slice(frame);
                corpus.bytes.push(b'\n');
                renew(&mut corpus.bytes[start..], repetition);
                corpus.lines += 1;
            }
            if corpus.bytes.len() >= bytes {
                break;
            }
        }
        Ok(corpus)
    }

    /// The lines, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        musher_log::lines(&self.bytes)
    }

    pub fn write(&self, folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
        let path = folder.join(name);
        std::fs::write(&path, &self.bytes).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// Gives a frame ids that no other repetition has, so that nothing is taken for known.
fn renew(frame: &mut [u8], repetition: u32) {
    let fresh = format!("{:04x}", repetition & 0xffff);
    for id in IDS {
        let places: Vec<usize> =
            memchr::memmem::find_iter(frame, id).map(|at| at + id.len()).collect();
        for at in places {
            if let Some(place) = frame.get_mut(at..at + FRESH)
                && place.iter().all(u8::is_ascii_alphanumeric)
            {
                place.copy_from_slice(fresh.as_bytes());
            }
        }
    }
}

/// Every frame of the recordings that the runtime is tested with. The ones that begin a session come first.
fn recorded() -> anyhow::Result<Vec<Vec<u8>>> {
    let mut frames = frames_in("claude")?;
    let begins = |line: &Vec<u8>| memchr::memmem::find(line, br#""subtype":"init""#).is_some();
    let first = frames.iter().position(begins).context("no recording begins a session")?;
    frames.rotate_left(first);
    Ok(frames)
}

/// Every frame of these recordings.
fn frames_in(recordings: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../musher-runtime/tests/data").join(recordings);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    let mut frames = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") || name.ends_with(".stdin.jsonl") {
            continue;
        }
        let text = std::fs::read(&path)?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        // A recording may end in the middle of a line.
        let whole = lines.filter(|line| serde_json::from_slice::<Json>(line).is_ok());
        frames.extend(whole.map(<[u8]>::to_vec));
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_line_is_json_and_no_message_has_the_id_of_another_repetition() {
        let once = Corpus::mixed(1).unwrap();
        let twice = Corpus::mixed(once.bytes.len() + 1).unwrap();
        assert_eq!(twice.lines, once.lines * 2);
        assert_eq!(twice.lines().count() as u64, twice.lines);
        let ids = |lines: &[&[u8]]| -> HashSet<String> {
            let frames = lines.iter().map(|line| serde_json::from_slice::<Json>(line).unwrap());
            frames.filter_map(|frame| frame["message"]["id"].as_str().map(str::to_owned)).collect()
        };
        let lines: Vec<&[u8]> = twice.lines().collect();
        let (first, second) = lines.split_at(lines.len() / 2);
        let (first, second) = (ids(first), ids(second));
        let mut shared = first.intersection(&second).filter(|id| id.starts_with("msg_"));
        assert!(first.len() > 10 && shared.next().is_none(), "{:?}", shared.next());
    }

    #[test]
    fn a_line_of_a_wanted_size_has_that_size() {
        for size in [200, 2_000, 200_000] {
            let corpus = Corpus::of_size(size, 1).unwrap();
            assert_eq!(corpus.bytes.len(), size);
            serde_json::from_slice::<Json>(&corpus.bytes).unwrap();
        }
    }
}
