//! Commits of everything in a checkout, made beside its own index.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use musher_os::untrusted::{self, Unfit};

use super::call::{Call, WRITE_CALL_TIMEOUT};
use super::config::SettingsTrust;
use super::error::GitError;
use super::head::CheckoutHead;
use super::hold::Hold;
use super::name::{Author, Branch, Commit, TreeId};
use super::path::RelPath;
use super::refs::Expected;
use super::reset::Hidden;
use super::shadow::{Index, Shadow, copy_index};
use super::status::{self, Status, StatusEntry};
use super::{Checkout, Git};

/// How deep repositories inside of repositories are looked into.
const DEEPEST: usize = 8;

impl Git {
    /// A commit of everything in a checkout that is not ignored, untracked files included, on top of its HEAD. The
    /// files, the index and HEAD stay as they are. `without` are paths that must not be in it. Where nothing differs from
    /// HEAD, it is HEAD itself.
    pub async fn snapshot(
        &self,
        checkout: &Checkout,
        without: &[RelPath],
    ) -> Result<Commit, GitError> {
        let UnreadCheckout { head, shadow } = self.sight(checkout, Ignored::AsPerson).await?;
        let staged = self.stage(checkout, shadow, head.commit(), without).await?;
        match head.commit() {
            Some(commit) if staged.is_of_head() => Ok(commit.clone()),
            head => staged.kept(head).await,
        }
    }

    /// Commits everything in a checkout to the branch it is on, which `head` says; `None` if there is nothing to commit. No
    /// hook runs and nothing is signed. The caller knows that no process works in this checkout.
    pub async fn commit_all(
        &self,
        checkout: &Checkout,
        head: CheckoutHead,
        message: &str,
        author: &Author,
        without: &[RelPath],
    ) -> Result<Option<Commit>, GitError> {
        self.break_index_lock(checkout)?;
        let folder = identity(checkout)?;
        let shadow =
            Shadow::of_files(self, SettingsTrust::Hardened, checkout, Index::Copy, None).await?;
        let UnreadCheckout { head, shadow } =
            UnreadCheckout::of(head, shadow.ignoring(Ignored::AsPerson))?;
        let staged = self.stage(checkout, shadow, head.commit(), without).await?;
        if staged.is_of_head() {
            return Ok(None);
        }
        let commit = staged.commit(head.commit(), message, author).await?;
        // What was looked at must have been the worktree, from the first file to the last.
        if identity(checkout)? != folder {
            return Err(Unfit::Led { path: checkout.root.clone() }.into());
        }
        let expected = match head.commit() {
            Some(commit) => Expected::At(commit),
            None => Expected::Absent,
        };
        let name = head.branch().map_or_else(|| "HEAD".to_owned(), Branch::full);
        self.move_ref(checkout, &name, &commit, expected, "musher: auto-commit").await?;
        replace_index(staged.shadow.index(), &checkout.git_dir().join("index"))?;
        Ok(Some(commit))
    }

    /// Finds out where a checkout stands, and makes what its files will be looked at with.
    pub(crate) async fn sight(
        &self,
        checkout: &Checkout,
        ignored: Ignored,
    ) -> Result<UnreadCheckout<'_>, GitError> {
        let shadow = Shadow::of_files(self, SettingsTrust::Hardened, checkout, Index::Copy, None);
        let (head, shadow) = tokio::join!(self.head(checkout), shadow);
        UnreadCheckout::of(head?, shadow?.ignoring(ignored))
    }

    /// What a checkout holds that its HEAD does not.
    pub(crate) async fn unsaved_work<'a>(
        &'a self,
        checkout: &Checkout,
        sight: UnreadCheckout<'a>,
        without: &[RelPath],
    ) -> Result<CheckoutState<'a>, GitError> {
        let UnreadCheckout { head, shadow } = sight;
        let staged = self.stage(checkout, shadow, head.commit(), without).await?;
        let work = match staged.is_of_head() {
            true => None,
            false => Some(staged.kept(head.commit()).await?),
        };
        Ok(CheckoutState { staged, head, work })
    }

    async fn stage<'a>(
        &'a self,
        checkout: &Checkout,
        mut shadow: Shadow<'a>,
        head: Option<&Commit>,
        without: &[RelPath],
    ) -> Result<Staged<'a>, GitError> {
        let trust = SettingsTrust::Hardened;
        let Look { status, hidden, sparse } = match look(&shadow, head).await {
            // An index that a killed agent left torn is made anew; the files are what counts.
            Err(GitError::Failed { .. }) => {
                let ignored = shadow.ignored();
                shadow = Shadow::of_files(self, trust, checkout, Index::Empty, head).await?;
                shadow = shadow.ignoring(ignored);
                look(&shadow, head).await?
            }
            look => look?,
        };
        if head.is_some() && status.is_clean() && !hidden {
            let known = if sparse { Known::Part } else { Known::Whole(Vec::new()) };
            return Ok(Staged { shadow, tree: None, of_head: None, known });
        }
        let mut changes = Changes::of(status, &shadow, &checkout.root, without).await?;
        changes.odd |= sparse;
        let known = changes.write(&shadow, &checkout.root).await?;
        let written = shadow.call().arg("write-tree").limit(WRITE_CALL_TIMEOUT).line();
        let of_head = async {
            match head {
                Some(head) => tree_of(&shadow, head).await.map(Some),
                None => Ok(None),
            }
        };
        let (tree, of_head) = tokio::join!(written, of_head);
        Ok(Staged { tree: Some(TreeId::new(tree?)?), of_head: of_head?, shadow, known })
    }
}

/// A checkout whose files have not been looked at yet.
pub(crate) struct UnreadCheckout<'a> {
    pub(crate) head: CheckoutHead,
    shadow: Shadow<'a>,
}

impl<'a> UnreadCheckout<'a> {
    fn of(head: CheckoutHead, shadow: Shadow<'a>) -> Result<Self, GitError> {
        if let Some(commit) = head.commit() {
            shadow.set_head(commit)?;
        }
        Ok(Self { head, shadow })
    }
}

/// What was found in a checkout.
pub(crate) struct CheckoutState<'a> {
    staged: Staged<'a>,
    pub(crate) head: CheckoutHead,
    /// What its HEAD does not hold, as a snapshot.
    pub(crate) work: Option<Commit>,
}

impl<'a> CheckoutState<'a> {
    /// Turns the files to a commit, and looks only at those that differ; gives the index that knows them then, and puts
    /// it in the place of the checkout's own. `None` if that cannot be, in which case nothing is changed.
    pub(super) async fn turn(
        self,
        checkout: &Checkout,
        hold: &'a Hold,
        to: &Commit,
        keep: &[RelPath],
    ) -> Result<Option<Shadow<'a>>, GitError> {
        let Staged { shadow, tree, known, .. } = self.staged;
        let shadow = shadow.held(hold);
        let Known::Whole(new) = known else {
            return Ok(None);
        };
        // What stays is not git's to remove.
        if keep.iter().any(|kept| new.iter().any(|path| kept.holds(path))) {
            return Ok(None);
        }
        if tree.is_none() && self.head.commit() == Some(to) {
            return Ok(Some(shadow));
        }
        // With one tree, git takes the index for what the files are, and looks at none that it does not change.
        let turn = shadow.call().args(["read-tree", "-m", "-u", to.as_str()]);
        if turn.limit(WRITE_CALL_TIMEOUT).run().await.is_err() {
            return Ok(None);
        }
        replace_index(shadow.index(), &checkout.git_dir.join("index"))?;
        Ok(Some(shadow))
    }
}

/// Everything in a checkout, and where its index is.
struct Staged<'a> {
    shadow: Shadow<'a>,
    /// `None` if it is the tree of HEAD.
    tree: Option<TreeId>,
    of_head: Option<TreeId>,
    known: Known,
}

/// What the index of a stand-in knows of the files.
enum Known {
    /// All but what is ignored; these are the files that the checkout's own index does not have.
    Whole(Vec<Vec<u8>>),
    Part,
}

impl Staged<'_> {
    /// Whether it is what HEAD holds already.
    fn is_of_head(&self) -> bool {
        self.tree.is_none() || self.tree == self.of_head
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

/// Which files are left out because they are ignored. What the repository's own settings ignore never is: one agent can
/// write those for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// What the worktree's patterns say, and those in the person's own settings.
    AsPerson,
    /// What the worktree's patterns say, and nothing else: for what must not be lost.
    ByWorktree,
}

/// The folder that a checkout is, to see that it stays the same one.
fn identity(checkout: &Checkout) -> Result<(u64, u64), GitError> {
    let folder = untrusted::folder(&checkout.root)?;
    let stat = rustix::fs::fstat(&folder);
    let stat = stat.map_err(|errno| GitError::io(&checkout.root)(errno.into()))?;
    Ok((stat.st_dev, stat.st_ino))
}

/// What a look at the files has shown.
struct Look {
    /// What differs from HEAD, hidden changes included.
    status: Status,
    /// Something was hidden.
    hidden: bool,
    /// Files are left out of the folder, and are not taken for deleted.
    sparse: bool,
}

async fn look(shadow: &Shadow<'_>, head: Option<&Commit>) -> Result<Look, GitError> {
    if let Some(head) = head.filter(|_| !shadow.index().exists()) {
        shadow.call().args(["read-tree", head.as_str()]).limit(WRITE_CALL_TIMEOUT).run().await?;
    }
    let (hidden, status) = tokio::join!(Hidden::of(shadow), status::of_shadow(shadow));
    let hidden = hidden?;
    let sparse = hidden.is_sparse();
    if hidden.is_empty() {
        return Ok(Look { status: status?, hidden: false, sparse });
    }
    hidden.show(shadow).await?;
    Ok(Look { status: status::of_shadow(shadow).await?, hidden: true, sparse })
}

/// What is changed in the known files of a stand-in, hidden changes included; marks that hide are gone from its index then.
pub(super) async fn known_changes(shadow: &Shadow<'_>) -> Result<Status, GitError> {
    let hidden = Hidden::of(shadow).await?;
    if !hidden.is_empty() {
        hidden.show(shadow).await?;
    }
    status::known_of_shadow(shadow).await
}

/// The paths at which an index is behind its folder.
#[derive(Default)]
struct Changes {
    gone: Vec<Vec<u8>>,
    there: Vec<Vec<u8>>,
    /// Files among those that are there which the index did not have.
    new: Vec<Vec<u8>>,
    /// Something was left out, or is more than a file.
    odd: bool,
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
            let known_as = match &entry {
                StatusEntry::Changed { submodule: true, .. } => KnownAs::Submodule,
                StatusEntry::Changed { .. } | StatusEntry::Unmerged { .. } => KnownAs::File,
                StatusEntry::Untracked { .. } => KnownAs::Nothing,
            };
            if without.iter().any(|held| held.holds(path)) {
                changes.odd |= !matches!(known_as, KnownAs::Nothing);
                continue;
            }
            if matches!(entry, StatusEntry::Changed { folder: '.', .. }) {
                continue;
            }
            let about = root.join(OsStr::from_bytes(path)).symlink_metadata();
            let (path, found) = (path.to_vec(), about.ok());
            match (known_as, found) {
                (KnownAs::Nothing, _) if path.ends_with(b"/") => {
                    changes.odd = true;
                    nested(shadow, root, &path, &mut changes.there).await?;
                }
                (KnownAs::Nothing, _) => {
                    changes.new.push(path.clone());
                    changes.there.push(path);
                }
                (KnownAs::Submodule, Some(_)) => {
                    changes.odd = true;
                    changes.there.push(path);
                }
                // A folder in the place of a file comes back with the new files beneath it; a pipe or a device there
                // holds nothing that could be kept.
                (KnownAs::File, Some(about)) if about.is_file() || about.is_symlink() => {
                    changes.there.push(path);
                }
                (KnownAs::File | KnownAs::Submodule, _) => changes.gone.push(path),
            }
        }
        Ok(changes)
    }

    /// Brings the index of a shadow to what lies in the folder.
    async fn write(self, shadow: &Shadow<'_>, root: &Path) -> Result<Known, GitError> {
        let Self { gone, there, new, odd } = self;
        let known = if odd { Known::Part } else { Known::Whole(new) };
        if !gone.is_empty() {
            let call = shadow.call().args(["update-index", "--force-remove", "-z", "--stdin"]);
            call.input(joined(&gone)).limit(WRITE_CALL_TIMEOUT).run().await?;
        }
        if there.is_empty() {
            return Ok(known);
        }
        let add = || {
            let call = shadow.call().args(["update-index", "--add", "--remove", "--replace"]);
            call.args(["-z", "--stdin"]).input(joined(&there)).limit(WRITE_CALL_TIMEOUT).run()
        };
        if add().await.is_err() {
            make_readable(root, &there);
            add().await?;
        }
        Ok(known)
    }
}

/// How an index knows a path.
enum KnownAs {
    Nothing,
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
        let list = call.limit(WRITE_CALL_TIMEOUT).run().await?.stdout;
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
pub(super) fn replace_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let lock = to.with_extension("lock");
    copy_index(from, &lock)?;
    let settled = untrusted::open(&lock)?.sync_all();
    settled.and_then(|()| fs::rename(&lock, to)).map_err(GitError::io(to))
}

/// The tree of a commit.
pub(super) async fn tree_of(shadow: &Shadow<'_>, commit: &Commit) -> Result<TreeId, GitError> {
    let call = shadow.call().args(["rev-parse", "--verify", "--end-of-options"]);
    Ok(TreeId::new(call.arg(format!("{commit}^{{tree}}")).line().await?)?)
}

/// Makes a commit of a tree.
pub(super) async fn commit_tree(
    shadow: &Shadow<'_>,
    tree: &TreeId,
    parents: &[&Commit],
    message: &str,
    author: &Author,
) -> Result<Commit, GitError> {
    commit_tree_by(shadow.call(), tree, parents, message, author).await
}

/// The same with a call that says more, such as a date.
pub(super) async fn commit_tree_by(
    call: Call,
    tree: &TreeId,
    parents: &[&Commit],
    message: &str,
    author: &Author,
) -> Result<Commit, GitError> {
    let call = call.args(["commit-tree", "--no-gpg-sign", tree.as_str()]);
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
