//! What is changed in a checkout against its last commit.

use super::error::GitError;
use super::path::GitPath;
use super::shadow::{Index, Shadow};
use super::{Checkout, Git, Trust};

/// The changes of a checkout, in git's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    pub entries: Vec<StatusEntry>,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusEntry {
    /// A known file; the letters are git's: what the index and what the folder did to it, `.` for nothing.
    Changed { path: GitPath, old_path: Option<GitPath>, index: char, folder: char },
    /// Both sides of a merge changed it and nobody has resolved it.
    Unmerged { path: GitPath },
    /// Git does not know it and does not ignore it. A folder that is a repository of its own ends with a slash.
    Untracked { path: GitPath },
}

impl StatusEntry {
    pub fn path(&self) -> &GitPath {
        match self {
            Self::Changed { path, .. } | Self::Unmerged { path } | Self::Untracked { path } => path,
        }
    }
}

impl Status {
    pub fn is_clean(&self) -> bool {
        self.entries.is_empty()
    }

    /// Changes to files that git knows.
    pub fn known_changes(&self) -> impl Iterator<Item = &StatusEntry> {
        let known = |entry: &&StatusEntry| !matches!(entry, StatusEntry::Untracked { .. });
        self.entries.iter().filter(known)
    }
}

impl Git {
    /// What is changed in a checkout. Submodules are not looked into.
    pub async fn status(&self, checkout: &Checkout) -> Result<Status, GitError> {
        let head = self.head(checkout).await?;
        // The person's own checkout needs the person's filters, or files would look changed that are not.
        let trust = match *checkout == self.main() {
            true => Trust::User,
            false => Trust::Hardened,
        };
        let shadow = Shadow::of_files(self, trust, checkout, Index::Real, head.commit()).await?;
        let ask =
            ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all"];
        parse(&shadow.call().args(ask).run().await?.stdout)
    }
}

fn parse(list: &[u8]) -> Result<Status, GitError> {
    let mut entries = Vec::new();
    let mut fields = list.split(|b| *b == 0);
    while let Some(field) = fields.next() {
        let wrong = || GitError::unexpected("status", field);
        // How many words stand before the path depends on the first.
        let words = match field.first() {
            None => continue,
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?') => 1,
            Some(b'#' | b'!') => continue,
            Some(_) => return Err(wrong()),
        };
        let mut parts = field.splitn(words + 1, |b| *b == b' ');
        let letters = parts.nth(1).ok_or_else(wrong)?;
        let path = GitPath::new(match words {
            1 => letters,
            words => parts.nth(words - 2).ok_or_else(wrong)?,
        });
        let letter = |at: usize| letters.get(at).map_or('.', |b| char::from(*b));
        entries.push(match field.first() {
            Some(b'?') => StatusEntry::Untracked { path },
            Some(b'u') => StatusEntry::Unmerged { path },
            first => {
                let old_path = match first {
                    Some(b'2') => Some(GitPath::new(fields.next().ok_or_else(wrong)?)),
                    _ => None,
                };
                StatusEntry::Changed { path, old_path, index: letter(0), folder: letter(1) }
            }
        });
    }
    Ok(Status { entries })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_entry_is_read_with_blanks_and_newlines_in_paths() {
        let list = b"1 .M N... 100644 100644 100644 a b a file\x002 R. N... 100644 100644 100644 a b R100 new\nname\0old name\0u UU N... 1 2 3 4 a b c both ways\0? some where/\0";
        let entries = parse(list).unwrap().entries;
        let path = |bytes: &str| GitPath::new(bytes);
        assert_eq!(
            entries,
            [
                StatusEntry::Changed {
                    path: path("a file"),
                    old_path: None,
                    index: '.',
                    folder: 'M'
                },
                StatusEntry::Changed {
                    path: path("new\nname"),
                    old_path: Some(path("old name")),
                    index: 'R',
                    folder: '.'
                },
                StatusEntry::Unmerged { path: path("both ways") },
                StatusEntry::Untracked { path: path("some where/") },
            ]
        );
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes).ok();
        }
    }
}
