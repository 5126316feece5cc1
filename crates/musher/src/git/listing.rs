//! The files that an index lists. Git takes longer to print them than it takes to read them from the index itself.

use std::collections::HashSet;
use std::path::Path;

use super::error::GitError;
use super::shadow::Shadow;

/// How an index begins.
pub(super) const START: &[u8] = b"DIRC";
/// What stands in an entry before the name of its object: times, place, mode, owner, size.
const STAT: usize = 40;
/// Where the mode stands among them.
const MODE: usize = 24;
/// The mode of a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// The bits of an entry: its changes are not looked for; more bits follow; how long its path is.
const ASSUMED: u16 = 0x8000;
const MORE: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;
/// Of the further bits: its file is not wanted in the folder.
const SKIPPED: u16 = 0x4000;
/// Parts behind the entries without which these are not the whole list.
const ELSEWHERE: &[&[u8]] = &[b"link", b"sdir"];

/// The files of an index, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) entries: Vec<Listed>,
}

/// One file that an index lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: Vec<u8>,
    /// It is a commit of another repository, whose files are beneath it.
    pub(super) submodule: bool,
    /// Git was told not to look for changes of it.
    pub(super) assumed: bool,
    /// Git was told that the folder need not have it.
    pub(super) skipped: bool,
}

impl Listing {
    /// What the index of a stand-in lists.
    pub(super) async fn of(shadow: &Shadow<'_>) -> Result<Self, GitError> {
        let (index, name) = (shadow.index().to_owned(), shadow.name_bytes());
        let read = tokio::task::spawn_blocking(move || read(&index, name)).await;
        match read.ok().flatten() {
            Some(listing) => Ok(listing),
            // It is spread over several files, or of a kind that is not known here.
            None => Self::printed(shadow).await,
        }
    }

    async fn printed(shadow: &Shadow<'_>) -> Result<Self, GitError> {
        let list = shadow.call().args(["ls-files", "-v", "--stage", "-z"]).run().await?.stdout;
        let entries = list.split(|b| *b == 0).filter(|entry| !entry.is_empty()).map(|entry| {
            let wrong = || GitError::unexpected("ls-files", entry);
            let tab = entry.iter().position(|b| *b == b'\t').ok_or_else(wrong)?;
            let tag = entry[0];
            Ok(Listed {
                path: entry[tab + 1..].to_vec(),
                submodule: entry.get(2..).is_some_and(|rest| rest.starts_with(b"160000 ")),
                assumed: tag.is_ascii_lowercase(),
                skipped: matches!(tag, b'S' | b's'),
            })
        });
        Ok(Self { entries: entries.collect::<Result<_, GitError>>()? })
    }

    /// The paths of files, and of the folders in which they are.
    pub(super) fn places(&self, name: fn(&[u8]) -> Vec<u8>) -> Places {
        let mut places = Places::default();
        let mut last: &[u8] = b"";
        for Listed { path, submodule, .. } in &self.entries {
            let folder = &path[..path.iter().rposition(|b| *b == b'/').unwrap_or(0)];
            if folder != last && !folder.is_empty() {
                last = folder;
                let ends = folder.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
                let above = ends.map(|end| name(&folder[..end]));
                places.folders.extend(above.chain([name(folder)]));
            }
            match submodule {
                true => places.submodules.insert(name(path)),
                false => places.files.insert(name(path)),
            };
        }
        places
    }
}

/// What a folder should hold.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) files: HashSet<Vec<u8>>,
    pub(super) submodules: HashSet<Vec<u8>>,
    pub(super) folders: HashSet<Vec<u8>>,
}

fn read(index: &Path, name: usize) -> Option<Listing> {
    parse(&std::fs::read(index).ok()?, name)
}

/// Reads an index whose objects have names of so many bytes; `None` if it is not whole or not plain.
fn parse(bytes: &[u8], name: usize) -> Option<Listing> {
    let bytes = bytes.get(..bytes.len().checked_sub(name)?)?;
    let (start, rest) = bytes.split_at_checked(START.len())?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    if start != START || !(2..=4).contains(&version) {
        return None;
    }
    // An entry takes more than a name, so a count from outside cannot ask for much memory.
    let most = bytes.len() / (STAT + name);
    let mut entries: Vec<Listed> = Vec::with_capacity(most.min(usize::try_from(count).ok()?));
    for _ in 0..count {
        let (mode, _) = number(rest.get(MODE..)?)?;
        let mut length = STAT + name;
        let flags = short(rest.get(length..)?)?;
        length += 2;
        let mut more = 0;
        if flags & MORE != 0 {
            more = short(rest.get(length..)?)?;
            length += 2;
        }
        let before = entries.last().map_or(&[][..], |last| &last.path);
        let (path, taken) = match version {
            4 => shortened(rest.get(length..)?, before)?,
            _ => padded(rest.get(length..)?, usize::from(flags & LENGTH), length)?,
        };
        entries.push(Listed {
            path,
            submodule: mode == GITLINK,
            assumed: flags & ASSUMED != 0,
            skipped: more & SKIPPED != 0,
        });
        rest = rest.get(length + taken..)?;
    }
    while !rest.is_empty() {
        let (part, after) = rest.split_at_checked(4)?;
        let (length, after) = number(after)?;
        if ELSEWHERE.contains(&part) {
            return None;
        }
        rest = after.get(usize::try_from(length).ok()?..)?;
    }
    Some(Listing { entries })
}

/// A path that zeros fill up, so that the next entry begins at a multiple of eight.
fn padded(rest: &[u8], length: usize, before: usize) -> Option<(Vec<u8>, usize)> {
    // A path that is longer than can be said ends at the first zero.
    let length = match length == usize::from(LENGTH) {
        true => rest.iter().position(|b| *b == 0)?,
        false => length,
    };
    let taken = (before + length + 8) / 8 * 8 - before;
    Some((rest.get(..length)?.to_vec(), taken))
}

/// A path that begins like the one before it, save for so many bytes at its end.
fn shortened(rest: &[u8], before: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut at = 0;
    let mut cut = 0_usize;
    loop {
        let byte = *rest.get(at)?;
        cut = cut.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        at += 1;
        if byte & 0x80 == 0 {
            break;
        }
        cut = cut.checked_add(1)?;
    }
    let end = rest.get(at..)?.iter().position(|b| *b == 0)?;
    let same = before.get(..before.len().checked_sub(cut)?)?;
    Some(([same, &rest[at..at + end]].concat(), at + end + 1))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

fn short(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.first_chunk::<2>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An index as git writes it.
    fn written(version: u32, entries: &[(&str, u32, u16, Option<u16>)]) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let mut bytes = [START, &version.to_be_bytes(), &count.to_be_bytes()].concat();
        let mut before = String::new();
        for (path, mode, flags, more) in entries {
            let start = bytes.len();
            bytes.extend([0; MODE]);
            bytes.extend(mode.to_be_bytes());
            bytes.extend([7; STAT - MODE - 4 + 20]);
            let length = u16::try_from(path.len().min(usize::from(LENGTH))).unwrap();
            let more_follow = if more.is_some() { MORE } else { 0 };
            bytes.extend((flags | length | more_follow).to_be_bytes());
            bytes.extend(more.iter().flat_map(|more| more.to_be_bytes()));
            if version == 4 {
                let same = path.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
                let mut cut = before.len() - same;
                let mut digits = vec![u8::try_from(cut & 0x7f).unwrap()];
                while cut >= 128 {
                    cut = (cut >> 7) - 1;
                    digits.push(u8::try_from(cut & 0x7f).unwrap() | 0x80);
                }
                bytes.extend(digits.iter().rev());
                bytes.extend(path[same..].bytes().chain([0]));
                before = (*path).to_owned();
            } else {
                bytes.extend(path.bytes());
                let filled = (bytes.len() - start + 8) / 8 * 8;
                bytes.resize(start + filled, 0);
            }
        }
        bytes.extend(b"TREE\0\0\0\x02xy");
        bytes.extend([0; 20]);
        bytes
    }

    fn listed(path: &str) -> Listed {
        Listed { path: path.into(), submodule: false, assumed: false, skipped: false }
    }

    #[test]
    fn every_kind_of_entry_is_read_in_every_version() {
        let long = "d/".repeat(3000) + "end";
        let file = 0o100_644;
        let plain = [("a", file, 0, None), (&long, file, 0, None), ("e f", file, ASSUMED, None)];
        for version in [2, 3, 4] {
            let assumed = Listed { assumed: true, ..listed("e f") };
            let entries = vec![listed("a"), listed(&long), assumed];
            assert_eq!(parse(&written(version, &plain), 20), Some(Listing { entries }));
        }
        let marked = [("s", GITLINK, 0, None), ("t", file, 0, Some(SKIPPED))];
        for version in [3, 4] {
            let submodule = Listed { submodule: true, ..listed("s") };
            let entries = vec![submodule, Listed { skipped: true, ..listed("t") }];
            assert_eq!(parse(&written(version, &marked), 20), Some(Listing { entries }));
        }
    }

    #[test]
    fn an_index_that_is_spread_over_files_or_torn_is_left_to_git() {
        let whole = written(2, &[("a", 0o100_644, 0, None)]);
        let mut spread = whole.clone();
        spread.splice(whole.len() - 30..whole.len() - 26, *b"link");
        assert_eq!(parse(&spread, 20), None);
        let torn = (0..whole.len()).filter(|end| parse(&whole[..*end], 20).is_some());
        // The parts behind the entries end anywhere between two of them.
        assert_eq!(torn.collect::<Vec<_>>(), [whole.len() - 10]);
    }

    #[test]
    fn the_folders_of_files_are_known() {
        let entries = ["a/b/c", "a/b/d", "a/e", "f"].map(listed).to_vec();
        let places = Listing { entries }.places(<[u8]>::to_vec);
        let mut folders: Vec<_> = places.folders.iter().map(Vec::as_slice).collect();
        folders.sort();
        assert_eq!(folders, [&b"a"[..], b"a/b"]);
        assert_eq!(places.files.len(), 4);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            version in 2_u8..5,
        ) {
            parse(&bytes, 20);
            parse(&[START, &[0, 0, 0, version, 0, 0, 0, 9], &bytes].concat(), 20);
        }
    }
}
