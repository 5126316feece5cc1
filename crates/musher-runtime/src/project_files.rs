//! What an agent's program takes from the folder it works in: which files it would run, and which it would obey.
//!
//! Each runtime tells it as data. A [`Snapshot`] holds what a folder or a commit has of the files that would be run, so
//! that a change of them is noticed by whatever means it was made.

mod look;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use musher_core::{Edit, path_fits};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a program does with a file that it finds in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEffect {
    /// It runs what the file names: hooks, tool servers, helpers.
    Executes,
    /// It takes the file for instructions.
    Obeys,
}

/// Files of a folder that mean something to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// As in tool rules, seen from the folder. What is executed begins with a name, so that it can be looked for; behind
    /// `**/` it is looked for in every folder.
    pub pattern: Cow<'static, str>,
    pub effect: FileEffect,
}

impl ProjectFile {
    /// A file that the program runs, or that names what it runs.
    pub const fn executes(pattern: &'static str) -> Self {
        Self { pattern: Cow::Borrowed(pattern), effect: FileEffect::Executes }
    }

    /// A file that the program takes for instructions.
    pub const fn obeys(pattern: &'static str) -> Self {
        Self { pattern: Cow::Borrowed(pattern), effect: FileEffect::Obeys }
    }

    /// The files of this kind in any folder, as a pattern of a tool rule.
    pub fn anywhere(&self) -> String {
        match self.is_anywhere() {
            true => self.pattern.clone().into_owned(),
            false => format!("**/{}", self.pattern),
        }
    }

    fn is_anywhere(&self) -> bool {
        self.pattern.starts_with(ANYWHERE)
    }

    /// The names before the first wildcard, seen from the top or from any folder.
    fn root(&self) -> &str {
        let pattern = self.pattern.strip_prefix(ANYWHERE).unwrap_or(&self.pattern);
        let wild = pattern.find(['*', '?']).unwrap_or(pattern.len());
        match wild == pattern.len() {
            true => pattern,
            false => pattern[..wild].rsplit_once('/').map_or("", |(folder, _)| folder),
        }
    }

    /// Whether something at this path stands where a folder on the way to such files would be.
    fn is_below(&self, path: &str) -> bool {
        let stands_for = |name: &str| match self.is_anywhere() {
            false => path == name,
            true => {
                path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            }
        };
        let root = self.root();
        root.match_indices('/').any(|(at, _)| stands_for(&root[..at]))
    }
}

/// What a pattern begins with that speaks of every folder.
const ANYWHERE: &str = "**/";

/// What a path means to the programs that know these files; execution goes before obedience.
pub fn effect_of(files: &[ProjectFile], path: &str) -> Option<FileEffect> {
    let fits = |file: &&ProjectFile| path_fits(&file.anywhere(), path);
    files.iter().filter(fits).map(|file| file.effect).min()
}

/// The top-level names under which the files are that would be executed.
pub fn executed_roots(files: &[ProjectFile]) -> Vec<&str> {
    let executed = files.iter().filter(|file| file.effect == FileEffect::Executes);
    let mut roots: Vec<&str> =
        executed.map(|file| file.root().split('/').next().unwrap_or_default()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Whether some of the files that would be executed may lie in any folder.
pub fn executed_below(files: &[ProjectFile]) -> bool {
    files.iter().any(|file| file.effect == FileEffect::Executes && file.is_anywhere())
}

/// The largest file that is read; nobody agrees to one that he cannot read himself.
pub const MAX_PROJECT_FILE_SIZE_BYTES: u64 = 1 << 20;
/// Texts longer than this are known by their digest alone.
const MAX_KEPT_TEXT_BYTES: usize = 64 << 10;
/// How many bytes of text are kept in all.
const MAX_KEPT_TEXTS_BYTES: usize = 256 << 10;
const DIGEST: &str = "sha256:";

/// The files that a program would execute, as a folder or a commit has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snapshot {
    files: BTreeMap<String, SeenFile>,
}

/// One of those files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// `sha256:` and the digest of its bytes, or in words what stands in its place.
    pub mark: String,
    /// Its text, where it is text and not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: String,
    pub before: Option<SeenFile>,
    pub after: Option<SeenFile>,
}

impl Snapshot {
    /// Adds a file of a commit, if a program would execute it or something stands where such files would be.
    pub fn add(&mut self, files: &[ProjectFile], path: &str, found: FoundFile) {
        if is_executed(files, path) {
            self.put(path.to_owned(), found);
        }
    }

    /// What of it a program would execute that knows these files.
    #[must_use]
    pub fn only(&self, files: &[ProjectFile]) -> Self {
        let mut only = self.clone();
        only.files.retain(|path, _| is_executed(files, path));
        only
    }

    /// Puts files of another one over its own.
    pub fn overlay(&mut self, other: &Self, wanted: impl Fn(&str) -> bool) {
        let wanted = other.files.iter().filter(|(path, _)| wanted(path));
        self.files.extend(wanted.map(|(path, seen)| (path.clone(), seen.clone())));
    }

    /// One of which nothing is known, so that nobody agrees to it.
    pub(crate) fn unseen(why: &str) -> Self {
        let mut unseen = Self::default();
        unseen.put(".".to_owned(), FoundFile::Odd(why.to_owned()));
        unseen
    }

    fn put(&mut self, path: String, found: FoundFile) {
        let room = MAX_KEPT_TEXTS_BYTES.saturating_sub(self.texts());
        let seen = match found {
            FoundFile::Bytes(bytes) => SeenFile {
                mark: Sha256::digest(&bytes).iter().fold(DIGEST.to_owned(), |mut mark, byte| {
                    // Writing to a text cannot fail.
                    let _written = write!(mark, "{byte:02x}");
                    mark
                }),
                text: String::from_utf8(bytes)
                    .ok()
                    .filter(|it| it.len() <= MAX_KEPT_TEXT_BYTES.min(room)),
            },
            FoundFile::Odd(what) => SeenFile { mark: what, text: None },
        };
        self.files.insert(path, seen);
    }

    fn texts(&self) -> usize {
        self.files.values().filter_map(|seen| seen.text.as_ref()).map(String::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Path by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &SeenFile)> {
        self.files.iter().map(|(path, seen)| (path.as_str(), seen))
    }

    /// Whether both hold the same files with the same contents, whatever is kept of their texts.
    pub fn is_same(&self, other: &Self) -> bool {
        let marks = |side: &'_ Self| -> Vec<(String, String)> {
            side.files().map(|(path, seen)| (path.to_owned(), seen.mark.clone())).collect()
        };
        self.files.len() == other.files.len() && marks(self) == marks(other)
    }

    /// What keeps a person from agreeing to it: links, pipes and the like, which could become something else unnoticed.
    pub fn odd(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files()
            .filter(|(_, seen)| !seen.mark.starts_with(DIGEST))
            .map(|(path, seen)| (path, seen.mark.as_str()))
    }

    /// The same without the texts, for where contents are only compared.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        let bare = |(path, seen): (&String, &SeenFile)| {
            (path.clone(), SeenFile { mark: seen.mark.clone(), text: None })
        };
        Self { files: self.files.iter().map(bare).collect() }
    }

    /// What is not any more as it is here.
    pub fn changed(&self, now: &Self) -> Vec<Changed> {
        let mut paths: Vec<&String> = self.files.keys().chain(now.files.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        let change = |path: &String| {
            let (before, after) = (self.files.get(path), now.files.get(path));
            let same = before.map(|seen| &seen.mark) == after.map(|seen| &seen.mark);
            let changed =
                || Changed { path: path.clone(), before: before.cloned(), after: after.cloned() };
            (!same).then(changed)
        };
        paths.into_iter().filter_map(change).collect()
    }
}

/// Whether a program would execute what is at a path of its folder, or something stands where such files would be.
pub fn is_executed(files: &[ProjectFile], path: &str) -> bool {
    let mut executed = files.iter().filter(|file| file.effect == FileEffect::Executes);
    executed.any(|file| path_fits(&file.pattern, path) || file.is_below(path))
}

/// What is found in the place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundFile {
    Bytes(Vec<u8>),
    /// Something that is not read, in words.
    Odd(String),
}

impl Changed {
    /// What became of it.
    pub fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        }
    }

    /// The change as an edit, where both texts are known.
    pub(crate) fn edit(&self) -> Option<Edit> {
        let text = |seen: &Option<SeenFile>| match seen {
            None => Some(None),
            Some(seen) => seen.text.clone().map(Some),
        };
        let (old, new) = (text(&self.before)?, text(&self.after)?);
        Some(Edit { path: self.path.clone(), old, new: new.unwrap_or_default(), all: false })
    }
}

/// What a person has agreed to of the files that a program would execute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectTrust {
    /// The files as the project itself has them: they are no news, and are left out until they are trusted.
    pub base: Snapshot,
    /// What was agreed to. A folder with exactly one of these is loaded.
    pub trusted: Vec<Snapshot>,
    /// How a person agrees to files, in the words of the host.
    pub how_to_agree: Option<String>,
}

impl ProjectTrust {
    pub(crate) fn trusts(&self, now: &Snapshot) -> bool {
        now.odd().next().is_none() && self.trusted.iter().any(|trusted| trusted.is_same(now))
    }
}

#[cfg(test)]
mod tests;
