//! Compares the versions of files that both sides changed, line by line.

use std::collections::{BTreeMap, BTreeSet};

use super::{BothChanged, RepairFault};
use crate::GitError;
use crate::call::WRITE_CALL_TIMEOUT;
use crate::contents::object;
use crate::merge::pending::TreeEntry;
use crate::path::GitPath;
use crate::shadow::Shadow;

/// How many lines of a side are told for one file.
const MAX_GONE_LINES: usize = 200;
/// A longer file is not compared, and no more than this of all of them.
const MAX_COMPARED_BYTES: usize = 4 << 20;
const MAX_COMPARED_TOTAL_BYTES: usize = 128 << 20;
/// How the lines begin that git puts around a conflict.
const MARKERS: &[&[u8]] = &[b"<<<<<<<", b"|||||||", b">>>>>>>"];
/// The line that git puts between the sides. Documents may have it for a heading, so it counts only alone.
const BETWEEN: &[u8] = b"=======";

/// The four versions of a file.
pub(super) struct Versions {
    pub(super) start: Option<TreeEntry>,
    pub(super) ours: Option<TreeEntry>,
    pub(super) theirs: Option<TreeEntry>,
    pub(super) result: Option<TreeEntry>,
}

/// Finds markers that were left, and the lines of each side that are gone.
pub(super) async fn compare(
    shadow: &Shadow<'_>,
    files: Vec<(GitPath, Versions)>,
) -> Result<(Vec<RepairFault>, Vec<BothChanged>), GitError> {
    let entries = files.iter().flat_map(|(_, versions)| versions.all().into_iter().flatten());
    let wanted: BTreeSet<&[u8]> =
        entries.filter(|entry| is_text_file(entry)).map(|entry| &entry.object[..]).collect();
    let texts = read(shadow, &wanted).await?;
    let (mut faults, mut both) = (Vec::new(), Vec::new());
    for (path, versions) in files {
        let [start, ours, theirs, result] = versions.all().map(|entry| Text::of(entry, &texts));
        if let Some(line) = marker(&result, [&ours, &theirs]) {
            faults.push(RepairFault::ConflictMarkers { path: path.clone(), line });
        }
        let (story_lines_gone, cut_story) = gone(&start, &ours, &result);
        let (base_lines_gone, cut_base) = gone(&start, &theirs, &result);
        let all = [&start, &ours, &theirs, &result];
        let incomplete = cut_story || cut_base || all.iter().any(|text| text.unknown);
        both.push(BothChanged { path, story_lines_gone, base_lines_gone, incomplete });
    }
    Ok((faults, both))
}

impl Versions {
    fn all(&self) -> [Option<&TreeEntry>; 4] {
        [&self.start, &self.ours, &self.theirs, &self.result].map(Option::as_ref)
    }
}

fn is_text_file(entry: &TreeEntry) -> bool {
    entry.mode.starts_with(b"100")
}

/// The lines of one version; it has none where there is no file.
#[derive(Default)]
struct Text<'a> {
    lines: Vec<&'a [u8]>,
    /// It is there, and cannot be compared.
    unknown: bool,
}

impl<'a> Text<'a> {
    fn of(entry: Option<&TreeEntry>, texts: &'a BTreeMap<Vec<u8>, Vec<u8>>) -> Self {
        let Some(entry) = entry else { return Self::default() };
        match texts.get(&entry.object).filter(|bytes| is_text_file(entry) && is_text(bytes)) {
            Some(bytes) => {
                Self { lines: bytes.split(|byte| *byte == b'\n').collect(), unknown: false }
            }
            None => Self { lines: Vec::new(), unknown: true },
        }
    }

    /// How often each line is there, blanks around it aside.
    fn counted(&self) -> BTreeMap<&'a [u8], usize> {
        let mut counted = BTreeMap::new();
        for line in &self.lines {
            *counted.entry(line.trim_ascii()).or_default() += 1;
        }
        counted
    }
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0)
}

/// The lines that a side wrote and that are gone; whether there are more of them.
fn gone(start: &Text<'_>, side: &Text<'_>, result: &Text<'_>) -> (Vec<String>, bool) {
    let (mut old, mut now) = (start.counted(), result.counted());
    let take = |line: &[u8], from: &mut BTreeMap<&[u8], usize>| {
        let left = from.get_mut(line).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    };
    let mut gone = Vec::new();
    // A line that stayed is not the side's, wherever it is now.
    let written: Vec<&[u8]> =
        side.lines.iter().copied().filter(|line| !take(line.trim_ascii(), &mut old)).collect();
    for line in written {
        let bare = line.trim_ascii();
        if !bare.is_empty() && !take(bare, &mut now) {
            gone.push(String::from_utf8_lossy(line).trim_end().to_owned());
        }
    }
    let more = gone.len() > MAX_GONE_LINES;
    gone.truncate(MAX_GONE_LINES);
    (gone, more)
}

/// The first line that is a marker in the result and in neither side, counted from one.
fn marker(result: &Text<'_>, sides: [&Text<'_>; 2]) -> Option<usize> {
    let is_marker = |line: &[u8]| {
        let led = |start: &&[u8]| {
            line.strip_prefix(*start).is_some_and(|rest| rest.is_empty() || rest[0] == b' ')
        };
        MARKERS.iter().any(led) || line == BETWEEN
    };
    let known: BTreeSet<&[u8]> = sides.iter().flat_map(|side| side.lines.iter().copied()).collect();
    let left = result.lines.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    left.enumerate()
        .find(|(_, line)| is_marker(line) && !known.contains(line))
        .map(|(at, _)| at + 1)
}

/// The contents of objects by their names; those that are too long are left out.
async fn read(
    shadow: &Shadow<'_>,
    wanted: &BTreeSet<&[u8]>,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, GitError> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let names = |wanted: &[&[u8]]| wanted.iter().flat_map(|name| [*name, b"\n"].concat()).collect();
    let all: Vec<&[u8]> = wanted.iter().copied().collect();
    let ask = |how: &str, wanted: &[&[u8]]| {
        let input: Vec<u8> = names(wanted);
        shadow.call().args(["cat-file", how]).input(input).limit(WRITE_CALL_TIMEOUT).run()
    };
    let sizes = ask("--batch-check=%(objectsize)", &all).await?.stdout;
    let sizes = String::from_utf8_lossy(&sizes).into_owned();
    let mut left = MAX_COMPARED_TOTAL_BYTES;
    let fits = |(_, size): &(&[u8], &str)| {
        let size = size.parse().ok().filter(|size: &usize| *size <= MAX_COMPARED_BYTES.min(left));
        size.map(|size| left -= size).is_some()
    };
    let short = all.into_iter().zip(sizes.lines()).filter(fits);
    let short: Vec<&[u8]> = short.map(|(name, _)| name).collect();
    if short.is_empty() {
        return Ok(found);
    }
    let output = ask("--batch", &short).await?.stdout;
    let mut rest = output.as_slice();
    for name in short {
        let (bytes, after) = object(rest).ok_or_else(|| GitError::unexpected("cat-file", name))?;
        found.insert(name.to_vec(), bytes.to_vec());
        rest = after;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str) -> Text<'_> {
        Text { lines: lines.as_bytes().split(|byte| *byte == b'\n').collect(), unknown: false }
    }

    #[test]
    fn lines_that_a_side_wrote_are_missed_and_no_others() {
        let (start, side) = (text("a\nb\nc"), text("a\nx\n  y\nc\n\nx"));
        assert_eq!(gone(&start, &side, &text("y\nx\na")).0, ["x"]);
        assert_eq!(gone(&start, &side, &text("x\nx\n\ty")).0, [""; 0]);
        assert_eq!(gone(&start, &side, &text("")).0, ["x", "  y", "x"]);
    }

    #[test]
    fn a_marker_that_a_side_has_is_none() {
        let sides = [&text("<<<<<<< ours\nx"), &text("y")];
        assert_eq!(marker(&text("x\n<<<<<<< ours"), sides), None);
        assert_eq!(marker(&text("x\n<<<<<<< HEAD\n"), sides), Some(2));
        assert_eq!(marker(&text("x\n=======\r\ny"), sides), Some(2));
        assert_eq!(marker(&text("x\n========\n<<<<<<<<\n"), sides), None);
    }
}
