//! What is changed in a checkout against its last commit.

use super::call::WRITE_CALL_TIMEOUT;
use super::error::GitError;
use super::path::GitPath;
use super::shadow::{Index, Shadow};
use super::{Checkout, Git, SettingsTrust};

/// The changes of a checkout, in git's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    pub entries: Vec<StatusEntry>,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusEntry {
    /// A known file; the letters are git's: what the index and what the folder did to it, `.` for nothing. It may be a
    /// submodule, of which only the commit counts.
    Changed { path: GitPath, index: char, folder: char, submodule: bool },
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
    /// What is changed in a checkout. Renames are told as two changes, and submodules are not looked into.
    pub async fn status(&self, checkout: &Checkout) -> Result<Status, GitError> {
        let head = self.head(checkout).await?;
        // The person's own checkout needs the person's filters, or files would look changed that are not.
        let trust = match *checkout == self.main() {
            true => SettingsTrust::User,
            false => SettingsTrust::Hardened,
        };
        let shadow = Shadow::of_files(self, trust, checkout, Index::Real, head.commit()).await?;
        of_shadow(&shadow).await
    }
}

/// What is changed in a stand-in's files against its HEAD.
pub(super) async fn of_shadow(shadow: &Shadow<'_>) -> Result<Status, GitError> {
    status(shadow, "--untracked-files=all").await
}

/// The same of known files alone, which spares a look for all others.
pub(super) async fn known_of_shadow(shadow: &Shadow<'_>) -> Result<Status, GitError> {
    status(shadow, "--untracked-files=no").await
}

async fn status(shadow: &Shadow<'_>, untracked: &str) -> Result<Status, GitError> {
    let call = shadow.call().args(["status", "--porcelain=v2", "-z", untracked]);
    // To look at the files of a submodule, git would start another git there, with settings that are not ours.
    let call = call.args(["--ignore-submodules=dirty", "--no-renames", "--no-ahead-behind"]);
    parse(&call.limit(WRITE_CALL_TIMEOUT).run().await?.stdout)
}

fn parse(list: &[u8]) -> Result<Status, GitError> {
    let mut entries = Vec::new();
    let fields = list.split(|b| *b == 0);
    for field in fields {
        let wrong = || GitError::unexpected("status", field);
        // How many words stand before the path depends on the first.
        let words = match field.first() {
            None => continue,
            Some(b'1') => 8,
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
            _ => {
                let submodule = field.get(5) == Some(&b'S');
                StatusEntry::Changed { path, index: letter(0), folder: letter(1), submodule }
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
        let list = b"1 .M N... 100644 100644 100644 a b a file\x001 MD S... 160000 160000 160000 a b new\nname\0u UU N... 1 2 3 4 a b c both ways\0? some where/\0";
        let entries = parse(list).unwrap().entries;
        let path = |bytes: &str| GitPath::new(bytes);
        let changed = |name: &str, index, folder, submodule| StatusEntry::Changed {
            path: path(name),
            index,
            folder,
            submodule,
        };
        assert_eq!(
            entries,
            [
                changed("a file", '.', 'M', false),
                changed("new\nname", 'M', 'D', true),
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
