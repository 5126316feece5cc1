//! Commits of everything in a checkout, made beside its own index.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::call::WRITE;
use super::config::Trust;
use super::error::GitError;
use super::head::Head;
use super::name::{Author, Branch, Commit, Tree};
use super::path::RelPath;
use super::refs::Expected;
use super::reset::show_hidden;
use super::shadow::{Index, Shadow, copy_index};
use super::status::{self, Status, StatusEntry};
use super::{Checkout, Git};

/// How deep repositories inside of repositories are looked into.
const DEEPEST: usize = 8;

impl Git {
    /// A commit of everything in a checkout that is not ignored, untracked files included, on top of its HEAD. The
    /// files, the index and HEAD stay as they are. `without` are paths that must not be in it.
    pub async fn snapshot(
        &self,
        checkout: &Checkout,
        without: &[RelPath],
    ) -> Result<Commit, GitError> {
        let head = self.head(checkout).await?;
        let staged = self.stage(checkout, head.commit(), without).await?;
        staged.kept(head.commit()).await
    }

    /// Commits everything in a checkout to the branch it is on; `None` if there is nothing to commit. No hook runs and
    /// nothing is signed. The caller knows that no process works in this checkout.
    pub async fn commit_all(
        &self,
        checkout: &Checkout,
        message: &str,
        author: &Author,
        without: &[RelPath],
    ) -> Result<Option<Commit>, GitError> {
        self.break_index_lock(checkout)?;
        let head = self.head(checkout).await?;
        let staged = self.stage(checkout, head.commit(), without).await?;
        if staged.is_of(head.commit()).await? {
            return Ok(None);
        }
        let commit = staged.commit(head.commit(), message, author).await?;
        let expected = match head.commit() {
            Some(commit) => Expected::At(commit),
            None => Expected::Absent,
        };
        let name = head.branch().map_or_else(|| "HEAD".to_owned(), Branch::full);
        self.move_ref(checkout, &name, &commit, expected, "musher: auto-commit").await?;
        replace_index(staged.shadow.index(), &checkout.git_dir().join("index"))?;
        Ok(Some(commit))
    }

    /// What a checkout holds that its HEAD does not.
    pub(crate) async fn unsaved_work(
        &self,
        checkout: &Checkout,
        head: &Head,
        without: &[RelPath],
    ) -> Result<Unsaved, GitError> {
        let staged = self.stage(checkout, head.commit(), without).await?;
        if staged.tree.is_none() {
            return Ok(Unsaved::Pristine);
        }
        match staged.is_of(head.commit()).await? {
            true => Ok(Unsaved::Nothing),
            false => staged.kept(head.commit()).await.map(Unsaved::Work),
        }
    }

    async fn stage(
        &self,
        checkout: &Checkout,
        head: Option<&Commit>,
        without: &[RelPath],
    ) -> Result<Staged<'_>, GitError> {
        let trust = Trust::Hardened;
        let mut shadow = Shadow::of_files(self, trust, checkout, Index::Copy, head).await?;
        let (status, hidden) = match look(&shadow, head).await {
            // An index that a killed agent left torn is made anew; the files are what counts.
            Err(GitError::Failed { .. }) => {
                shadow = Shadow::of_files(self, trust, checkout, Index::Empty, head).await?;
                look(&shadow, head).await?
            }
            status => status?,
        };
        if head.is_some() && status.is_clean() && !hidden {
            return Ok(Staged { shadow, tree: None });
        }
        let changes = Changes::of(status, &shadow, &checkout.root, without).await?;
        changes.write(&shadow, &checkout.root).await?;
        let tree = shadow.call().arg("write-tree").limit(WRITE).line().await?;
        Ok(Staged { tree: Some(Tree::new(tree)?), shadow })
    }
}

/// What a checkout holds that its HEAD does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unsaved {
    /// Nothing, and every known file is as HEAD has it.
    Pristine,
    /// Nothing that is worth keeping.
    Nothing,
    /// This, as a snapshot.
    Work(Commit),
}

/// Everything in a checkout, and where its index is.
struct Staged<'a> {
    shadow: Shadow<'a>,
    /// `None` if it is the tree of HEAD.
    tree: Option<Tree>,
}

impl Staged<'_> {
    /// Whether it is what HEAD holds already.
    async fn is_of(&self, head: Option<&Commit>) -> Result<bool, GitError> {
        match (head, &self.tree) {
            (_, None) => Ok(true),
            (None, Some(_)) => Ok(false),
            (Some(head), Some(tree)) => Ok(tree_of(&self.shadow, head).await? == *tree),
        }
    }

    async fn kept(&self, head: Option<&Commit>) -> Result<Commit, GitError> {
        self.commit(head, "Work in progress, kept by Musher", &Author::musher()).await
    }

    async fn commit(
        &self,
        head: Option<&Commit>,
        message: &str,
        author: &Author,
    ) -> Result<Commit, GitError> {
        let same;
        let tree = match (&self.tree, head) {
            (Some(tree), _) => tree,
            (None, Some(head)) => {
                same = tree_of(&self.shadow, head).await?;
                &same
            }
            (None, None) => return Err(GitError::unexpected("write-tree", b"")),
        };
        let parents: Vec<&Commit> = head.into_iter().collect();
        commit_tree(&self.shadow, tree, &parents, message, author).await
    }
}

/// What differs from HEAD, hidden changes included, and whether anything was hidden.
async fn look(shadow: &Shadow<'_>, head: Option<&Commit>) -> Result<(Status, bool), GitError> {
    if let Some(head) = head.filter(|_| !shadow.index().exists()) {
        shadow.call().args(["read-tree", head.as_str()]).limit(WRITE).run().await?;
    }
    let hidden = show_hidden(shadow).await?;
    Ok((status::of_shadow(shadow).await?, hidden))
}

/// The paths at which an index is behind its folder.
#[derive(Default)]
struct Changes {
    gone: Vec<Vec<u8>>,
    there: Vec<Vec<u8>>,
}

impl Changes {
    async fn of(
        status: Status,
        shadow: &Shadow<'_>,
        root: &Path,
        without: &[RelPath],
    ) -> Result<Self, GitError> {
        let mut changes = Self::default();
        for entry in status.entries {
            let path = entry.path().as_bytes();
            if without.iter().any(|held| held.holds(path)) {
                continue;
            }
            let known_as = match &entry {
                StatusEntry::Changed { folder: '.', .. } => continue,
                StatusEntry::Changed { submodule: true, .. } => Known::Submodule,
                StatusEntry::Changed { .. } | StatusEntry::Unmerged { .. } => Known::File,
                StatusEntry::Untracked { .. } => Known::No,
            };
            let about = root.join(OsStr::from_bytes(path)).symlink_metadata();
            let (path, found) = (path.to_vec(), about.ok());
            match (known_as, found) {
                (Known::No, _) if path.ends_with(b"/") => {
                    nested(shadow, root, &path, &mut changes.there).await?;
                }
                (Known::No, _) => changes.there.push(path),
                (Known::Submodule, Some(_)) => changes.there.push(path),
                // A folder in the place of a file comes back with the new files beneath it.
                (Known::File, Some(about)) if !about.is_dir() => changes.there.push(path),
                (Known::File | Known::Submodule, _) => changes.gone.push(path),
            }
        }
        Ok(changes)
    }

    /// Brings the index of a shadow to what lies in the folder.
    async fn write(self, shadow: &Shadow<'_>, root: &Path) -> Result<(), GitError> {
        let Self { gone, there } = self;
        if !gone.is_empty() {
            let call = shadow.call().args(["update-index", "--force-remove", "-z", "--stdin"]);
            call.input(joined(&gone)).limit(WRITE).run().await?;
        }
        if there.is_empty() {
            return Ok(());
        }
        let add = || {
            let call = shadow.call().args(["update-index", "--add", "--remove", "--replace"]);
            call.args(["-z", "--stdin"]).input(joined(&there)).limit(WRITE).run()
        };
        if add().await.is_err() {
            make_readable(root, &there);
            add().await?;
        }
        Ok(())
    }
}

/// How an index knows a path.
enum Known {
    No,
    File,
    Submodule,
}

/// Finds the files of repositories inside the folder, because git would keep only the name of their last commit.
async fn nested(
    shadow: &Shadow<'_>,
    root: &Path,
    folder: &[u8],
    found: &mut Vec<Vec<u8>>,
) -> Result<(), GitError> {
    let mut folders = vec![(folder.to_vec(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        let call = shadow.call_in(&root.join(OsStr::from_bytes(&folder)), "index-of-nested");
        let call = call.args(["ls-files", "-z", "--others", "--exclude-standard"]);
        let list = call.limit(WRITE).run().await?.stdout;
        for name in list.split(|b| *b == 0).filter(|name| !name.is_empty()) {
            let path = [&folder, name].concat();
            match name.ends_with(b"/") {
                true if depth < DEEPEST => folders.push((path, depth + 1)),
                true => {}
                false => found.push(path),
            }
        }
    }
    Ok(())
}

/// Git stops at the first file that it may not read; the folder is ours, so the file is made readable.
fn make_readable(root: &Path, paths: &[Vec<u8>]) {
    for path in paths {
        let path = root.join(OsStr::from_bytes(path));
        let Ok(about) = path.symlink_metadata() else {
            continue;
        };
        let mode = about.permissions().mode();
        if about.is_file() && mode & 0o400 == 0 {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o400)).ok();
        }
    }
}

fn joined(paths: &[Vec<u8>]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}

/// Puts an index in the place of another as git does: through the lock, so that no process sees half of it.
fn replace_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let lock = to.with_extension("lock");
    copy_index(from, &lock)?;
    let settled = fs::File::open(&lock).and_then(|file| file.sync_all());
    settled.and_then(|()| fs::rename(&lock, to)).map_err(GitError::io(to))
}

/// The tree of a commit.
pub(super) async fn tree_of(shadow: &Shadow<'_>, commit: &Commit) -> Result<Tree, GitError> {
    let call = shadow.call().args(["rev-parse", "--verify", "--end-of-options"]);
    Ok(Tree::new(call.arg(format!("{commit}^{{tree}}")).line().await?)?)
}

/// Makes a commit of a tree.
pub(super) async fn commit_tree(
    shadow: &Shadow<'_>,
    tree: &Tree,
    parents: &[&Commit],
    message: &str,
    author: &Author,
) -> Result<Commit, GitError> {
    let call = shadow.call().args(["commit-tree", "--no-gpg-sign", tree.as_str()]);
    let call = parents.iter().fold(call, |call, parent| call.args(["-p", parent.as_str()]));
    let call = call
        .args(["-F", "-"])
        .env("GIT_AUTHOR_NAME", author.name())
        .env("GIT_AUTHOR_EMAIL", author.email())
        .env("GIT_COMMITTER_NAME", author.name())
        .env("GIT_COMMITTER_EMAIL", author.email());
    // Git takes no message with a zero byte in it, and no empty one from its input.
    let mut message = message.replace('\0', "\u{fffd}");
    if !message.ends_with('\n') {
        message.push('\n');
    }
    Ok(Commit::new(call.input(message).line().await?)?)
}
