//! What a commit has of some files, read without a checkout.

use super::Git;
use super::error::GitError;
use super::name::Commit;
use super::shadow::Shadow;

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitFile {
    Bytes(Vec<u8>),
    /// It is not read, and this is what it is instead, such as `a link`.
    Odd(String),
}

/// How much of a commit is read.
#[derive(Debug, Clone, Copy)]
pub struct ContentLimits {
    pub max_files: usize,
    pub max_file_bytes: u64,
    pub max_total_bytes: usize,
}

impl Git {
    /// The paths of all files of a commit, as far as they are text.
    pub async fn file_names(&self, commit: &Commit) -> Result<Vec<String>, GitError> {
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.call().args(["ls-tree", "-r", "-z", "--name-only", commit.as_str()]);
        let listed = call.run().await?.stdout;
        let texts =
            listed.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        Ok(texts.filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// The files at some paths of a commit and below them, with their contents; `None` if there are too many.
    pub async fn file_contents(
        &self,
        commit: &Commit,
        paths: &[&str],
        limits: ContentLimits,
    ) -> Result<Option<Vec<(String, CommitFile)>>, GitError> {
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.call().args(["ls-tree", "-r", "-z", "--long", commit.as_str(), "--"]);
        let listed = call.args(paths).run().await?.stdout;
        let entries: Vec<Entry<'_>> = listed
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
            .map(|line| Entry::read(line).ok_or_else(|| GitError::unexpected("ls-tree", line)))
            .collect::<Result<_, _>>()?;
        if entries.len() > limits.max_files {
            return Ok(None);
        }
        let max = limits.max_file_bytes;
        let (plain, odd): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|it| it.odd(max).is_none());
        let odd = odd.into_iter().map(|entry| {
            let what = entry.odd(max).unwrap_or_default();
            (entry.path, CommitFile::Odd(what))
        });
        let mut found: Vec<_> = odd.collect();
        let names: String = plain.iter().map(|entry| format!("{}\n", entry.object)).collect();
        if names.is_empty() {
            return Ok(Some(found));
        }
        let call = shadow.call().args(["cat-file", "--batch"]).input(names);
        let output = call.cut_at(limits.max_total_bytes).run().await?.stdout;
        let mut rest = output.as_slice();
        for entry in plain {
            let (bytes, after) = object(rest)
                .ok_or_else(|| GitError::unexpected("cat-file", entry.path.as_bytes()))?;
            found.push((entry.path, CommitFile::Bytes(bytes.to_vec())));
            rest = after;
        }
        Ok(Some(found))
    }
}

/// One line of a listed tree.
struct Entry<'a> {
    mode: &'a str,
    object: &'a str,
    size: Option<u64>,
    path: String,
}

impl<'a> Entry<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let about = std::str::from_utf8(&line[..tab]).ok()?;
        let mut words = about.split_ascii_whitespace();
        let (mode, _kind, object) = (words.next()?, words.next()?, words.next()?);
        let size = words.next().and_then(|size| size.parse().ok());
        let path = String::from_utf8_lossy(&line[tab + 1..]).into_owned();
        Some(Self { mode, object, size, path })
    }

    /// What it is, if it is no file that is read. The words are those for the same thing in a folder.
    fn odd(&self, max_bytes: u64) -> Option<String> {
        match (self.mode, self.size) {
            ("100644" | "100755" | "100664", Some(size)) if size <= max_bytes => None,
            ("100644" | "100755" | "100664", _) => {
                Some(format!("a file of more than {max_bytes} bytes"))
            }
            ("120000", _) => Some("a link".to_owned()),
            _ => Some("no file".to_owned()),
        }
    }
}

/// The first object of a batch, and what follows it.
pub(super) fn object(batch: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = batch.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&batch[..end]).ok()?;
    let size: usize = head.rsplit(' ').next()?.parse().ok()?;
    let after = batch.get(end + 1..)?;
    Some((after.get(..size)?, after.get(size + 1..)?))
}
