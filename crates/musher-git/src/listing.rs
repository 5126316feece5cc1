//! The files that an index lists. Git takes longer to print them than it takes to read them from the index itself.

use std::ops::Range;
use std::path::Path;

use musher_os::untrusted;

use super::error::GitError;
use super::shadow::Shadow;

/// No index is longer that is read here.
const MAX_LISTED_INDEX_BYTES: u64 = 2 << 30;
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

/// The files of an index, in its order, which is that of their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// All paths, one after the other.
    paths: Vec<u8>,
    entries: Vec<Listed>,
}

/// One file that an index lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    place: Range<usize>,
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
        let mut listing = Self::default();
        for entry in list.split(|b| *b == 0).filter(|entry| !entry.is_empty()) {
            let wrong = || GitError::unexpected("ls-files", entry);
            let tab = entry.iter().position(|b| *b == b'\t').ok_or_else(wrong)?;
            let listed = listing.add(&[&entry[tab + 1..]]);
            listed.submodule = entry.get(2..).is_some_and(|rest| rest.starts_with(b"160000 "));
            listed.assumed = entry[0].is_ascii_lowercase();
            listed.skipped = matches!(entry[0], b'S' | b's');
        }
        Ok(listing)
    }

    fn add(&mut self, path: &[&[u8]]) -> &mut Listed {
        let start = self.paths.len();
        path.iter().for_each(|part| self.paths.extend_from_slice(part));
        let place = start..self.paths.len();
        let listed = Listed { place, submodule: false, assumed: false, skipped: false };
        self.entries.push(listed);
        let last = self.entries.len() - 1;
        &mut self.entries[last]
    }

    fn path(&self, listed: &Listed) -> &[u8] {
        &self.paths[listed.place.clone()]
    }

    /// All files with their paths.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u8], &Listed)> {
        self.entries.iter().map(|listed| (self.path(listed), listed))
    }

    /// The same with small letters alone.
    pub(super) fn folded(mut self) -> Self {
        self.paths.make_ascii_lowercase();
        let paths = &self.paths;
        self.entries.sort_by(|a, b| paths[a.place.clone()].cmp(&paths[b.place.clone()]));
        self
    }

    /// What the folder at the top holds.
    pub(super) fn top(&self) -> Contents<'_> {
        self.contents(&self.entries, 0)
    }

    /// What a folder holds whose files are these, each with so many bytes of its path before its name.
    fn contents<'a>(&'a self, mut files: &'a [Listed], start: usize) -> Contents<'a> {
        let mut contents = Contents { listing: self, files: Vec::new(), folders: Vec::new() };
        while let Some((first, others)) = files.split_first() {
            let rest = self.path(first).get(start..).unwrap_or_default();
            let Some(slash) = rest.iter().position(|b| *b == b'/') else {
                contents.files.push((rest, first.submodule));
                files = others;
                continue;
            };
            let end = start + slash + 1;
            let folder = self.path(first).get(..end);
            let beneath = |listed: &Listed| self.path(listed).get(..end) == folder;
            let count = files.iter().take_while(|listed| beneath(listed)).count();
            let (within, after) = files.split_at(count);
            contents.folders.push((&rest[..slash], within, end));
            files = after;
        }
        // They are in the order of their names with a slash behind them.
        contents.folders.sort_unstable_by_key(|(name, ..)| *name);
        contents
    }
}

/// What a folder should hold, each list in the order of names.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    listing: &'a Listing,
    /// Names, and whether they are submodules.
    files: Vec<(&'a [u8], bool)>,
    /// Names, with what is beneath, and how long the path of the folder is.
    folders: Vec<(&'a [u8], &'a [Listed], usize)>,
}

impl<'a> Contents<'a> {
    pub(super) fn has_file(&self, name: &[u8]) -> bool {
        self.entry(name) == Some(false)
    }

    pub(super) fn has_submodule(&self, name: &[u8]) -> bool {
        self.entry(name) == Some(true)
    }

    fn entry(&self, name: &[u8]) -> Option<bool> {
        let at = self.files.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.files[at].1)
    }

    /// What a folder in it holds, if files are known there.
    pub(super) fn folder(&self, name: &[u8]) -> Option<Contents<'a>> {
        let at = self.folders.binary_search_by_key(&name, |(name, ..)| *name).ok()?;
        let (_, files, start) = self.folders[at];
        Some(self.listing.contents(files, start))
    }
}

fn read(index: &Path, name: usize) -> Option<Listing> {
    parse(&untrusted::read(index, MAX_LISTED_INDEX_BYTES).ok()?, name)
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
    let mut listing = Listing::default();
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
        let last = listing.entries.last().map_or(0..0, |last| last.place.clone());
        let before = &listing.paths[last.clone()];
        let after = rest.get(length..)?;
        let (same, path, taken) = match version {
            4 => shortened(after, before.len())?,
            _ => padded(after, usize::from(flags & LENGTH), length)?,
        };
        // Git itself refuses another order.
        if path < &before[same..] {
            return None;
        }
        listing.paths.extend_from_within(last.start..last.start + same);
        let listed = listing.add(&[path]);
        listed.place.start -= same;
        listed.submodule = mode == GITLINK;
        listed.assumed = flags & ASSUMED != 0;
        listed.skipped = more & SKIPPED != 0;
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
    Some(listing)
}

/// A path that zeros fill up, so that the next entry begins at a multiple of eight; how much of the last path it begins
/// with, what follows, and how many bytes all of it takes.
fn padded(rest: &[u8], length: usize, before: usize) -> Option<(usize, &[u8], usize)> {
    // A path that is longer than can be said ends at the first zero.
    let length = match length == usize::from(LENGTH) {
        true => rest.iter().position(|b| *b == 0)?,
        false => length,
    };
    let taken = (before + length + 8) / 8 * 8 - before;
    Some((0, rest.get(..length)?, taken))
}

/// The same of a path that begins like the last one, save for so many bytes at the end of that.
fn shortened(rest: &[u8], last: usize) -> Option<(usize, &[u8], usize)> {
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
    Some((last.checked_sub(cut)?, &rest[at..at + end], at + end + 1))
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

    /// Each path, with letters for what is said of it.
    fn listed(bytes: &[u8]) -> Vec<(String, String)> {
        let listing = parse(bytes, 20).unwrap();
        let told = listing.all().map(|(path, listed)| {
            let marks = [(listed.submodule, 'm'), (listed.assumed, 'a'), (listed.skipped, 's')];
            let marks = marks.into_iter().filter(|(is, _)| *is).map(|(_, letter)| letter);
            (String::from_utf8(path.to_vec()).unwrap(), marks.collect())
        });
        told.collect()
    }

    #[test]
    fn every_kind_of_entry_is_read_in_every_version() {
        let long = "d/".repeat(3000) + "end";
        let file = 0o100_644;
        let plain = [("a", file, 0, None), (&long, file, 0, None), ("e f", file, ASSUMED, None)];
        let told = [("a", ""), (&long, ""), ("e f", "a")].map(|(a, b)| (a.into(), b.into()));
        for version in [2, 3, 4] {
            assert_eq!(listed(&written(version, &plain)), told);
        }
        let marked = [("s", GITLINK, 0, None), ("t", file, 0, Some(SKIPPED))];
        let told = [("s", "m"), ("t", "s")].map(|(a, b)| (a.into(), b.into()));
        for version in [3, 4] {
            assert_eq!(listed(&written(version, &marked)), told);
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
    fn each_folder_holds_what_is_listed_beneath_it_and_nothing_else() {
        let mut listing = Listing::default();
        for path in ["a", "a-b", "a-b/c", "a.c/d", "a/b/c", "a/b/d", "a/e", "b"] {
            listing.add(&[path.as_bytes()]);
        }
        let top = listing.top();
        assert!(top.has_file(b"a") && top.has_file(b"a-b") && top.has_file(b"b"));
        assert!(!top.has_file(b"a/e") && !top.has_file(b"e") && top.folder(b"b").is_none());
        let a = top.folder(b"a").unwrap();
        assert!(a.has_file(b"e") && !a.has_file(b"b") && !a.has_file(b"c"));
        let b = a.folder(b"b").unwrap();
        assert!(b.has_file(b"c") && b.has_file(b"d") && b.folder(b"c").is_none());
        assert!(top.folder(b"a-b").unwrap().has_file(b"c"));
        assert!(top.folder(b"a.c").unwrap().has_file(b"d"));
    }

    #[test]
    fn large_letters_are_small_ones_where_they_are_the_same() {
        let mut listing = Listing::default();
        for path in ["B", "a", "a/X"] {
            listing.add(&[path.as_bytes()]);
        }
        let listing = listing.folded();
        let top = listing.top();
        assert!(top.has_file(b"a") && top.has_file(b"b") && !top.has_file(b"B"));
        assert!(top.folder(b"a").unwrap().has_file(b"x"));
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            version in 2_u8..5,
        ) {
            parse(&bytes, 20).map(|listing| listing.folded().top().has_file(b"a"));
            parse(&[START, &[0, 0, 0, version, 0, 0, 0, 9], &bytes].concat(), 20);
        }
    }
}
