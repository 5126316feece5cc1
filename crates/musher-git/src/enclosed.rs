//! The git folder of a sandbox: a copy of everything but the objects, which can be read and not written.
//!
//! An agent that could write the repository's own objects could change what any branch holds, and its settings could run
//! programs for the person. So it is given a folder of its own in their place. Commits come over as a pack whose names are
//! computed again on this side, and only the branch of the story is moved.

mod bring;
mod contained;
mod in_place;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted::{self, Kind};
use musher_sandbox::{Mount, Sandbox, SandboxNetwork};

use super::config::{Setting, SettingsTrust};
use super::error::GitError;
use super::worktree::remove_tree;
use super::{Author, Branch, Checkout, Commit, Git, standin};

/// No file that is copied is longer.
const MAX_COPIED_BYTES: u64 = 2 << 30;
/// Two names of commits are not longer.
const MAX_SEEN_BYTES: u64 = 256;
/// Where the objects of the repository are inside, below the git folder.
const SHARED: &str = "shared";
/// Folders of the git folder.
const FOLDERS: &[&str] =
    &["hooks", "info", "logs", "refs/heads", "refs/tags", "objects/info", "objects/pack", SHARED];
/// What is copied of a worktree's own entry.
const OF_WORKTREE: &[&str] = &["HEAD", "index", "commondir", "gitdir", "info/sparse-checkout"];

/// A commit that an agent made on a branch of its own, which the repository does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnBranch {
    pub(crate) branch: Branch,
    pub(crate) tip: Commit,
}

/// Where the story's branch was last seen inside.
struct Seen {
    at: Option<Commit>,
    /// It was moved there, and what follows a move was not done.
    unfinished: bool,
}

/// The git folder that a sandbox sees, and the sandbox.
#[derive(Debug)]
pub(crate) struct Enclosed<'a> {
    pub(crate) git: &'a Git,
    pub(crate) checkout: &'a Checkout,
    /// The folder on this side.
    pub(crate) folder: PathBuf,
    /// Where it is noted at which commit the story's branch was last seen inside. No agent can write it.
    pub(crate) seen: PathBuf,
}

impl Enclosed<'_> {
    /// Whether there is one.
    pub(crate) fn exists(&self) -> bool {
        self.folder.symlink_metadata().is_ok()
    }

    /// The commit at which the story's branch was last seen inside. If it was being moved when everything ended, `tip` tells whether
    /// that was done.
    fn seen(&self, tip: Option<&Commit>) -> Seen {
        let text = untrusted::read(&self.seen, MAX_SEEN_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut commits = text.lines().map(|line| Commit::new(line).ok());
        let (seen, moving) = (commits.next().flatten(), commits.next().flatten());
        match moving.filter(|moving| Some(moving) == tip) {
            Some(moved) => Seen { at: Some(moved), unfinished: true },
            None => Seen { at: seen, unfinished: false },
        }
    }

    /// Notes where the branch was seen, and where it is about to be moved.
    fn note(&self, seen: Option<&Commit>, moving: Option<&Commit>) -> Result<(), GitError> {
        let line = |commit: Option<&Commit>| commit.map(|commit| format!("{commit}\n"));
        let text = [seen, moving].map(line).into_iter().flatten().collect::<String>();
        untrusted::replace(&self.seen, text.as_bytes()).map_err(GitError::io(&self.seen))
    }

    /// Makes the folder anew from the repository as it is, with the agent's own branches.
    pub(crate) async fn make(&self, own: &[OwnBranch]) -> Result<(), GitError> {
        self.refuse_unfit().await?;
        let head = self.git.head(self.checkout).await?;
        let Some(head) = head.commit() else {
            return Err(GitError::Unenclosable { why: "its worktree has no commit" });
        };
        // A folder that is there is whole.
        let folder = self.folder.with_extension("new");
        let fresh = Enclosed { folder, seen: self.seen.clone(), ..*self };
        fresh.fill(own).await?;
        remove_tree(self.folder.clone()).await.map_err(GitError::io(&self.folder))?;
        self.note(Some(head), None)?;
        fs::rename(&fresh.folder, &self.folder).map_err(GitError::io(&self.folder))
    }

    async fn fill(&self, own: &[OwnBranch]) -> Result<(), GitError> {
        remove_tree(self.folder.clone()).await.map_err(GitError::io(&self.folder))?;
        for name in FOLDERS {
            let path = self.folder.join(name);
            fs::create_dir_all(&path).map_err(GitError::io(path))?;
        }
        let inner = &self.git.inner;
        self.write("config", &self.settings().await)?;
        self.write("HEAD", b"ref: refs/heads/none\n")?;
        self.write("info/exclude", b"")?;
        self.write("packed-refs", &self.references(own).await?)?;
        let shared = inner.common.join(SHARED);
        self.write("objects/info/alternates", &[shared.as_os_str().as_bytes(), b"\n"].concat())?;
        self.copy(&inner.common.join("shallow"), Path::new("shallow"))?;
        let entry = self.entry()?;
        for name in OF_WORKTREE {
            self.copy(&self.checkout.git_dir().join(name), &entry.join(name))?;
        }
        Ok(())
    }

    /// What the sandbox mounts so that git finds this folder in the place of the repository's own.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let common = &self.git.inner.common;
        let root = self.checkout.root();
        let mut mounts = vec![
            Mount::write(root),
            // Git on this side follows it.
            Mount::read(root.join(".git")),
            Mount::write(&self.folder).at(common),
            Mount::read(common.join("objects")).at(common.join(SHARED)),
        ];
        // A folder of which the person's editor runs things when it opens the worktree. Where there is none, nothing can stand in
        // for it.
        let editor = root.join(".vscode");
        if matches!(untrusted::kind(&editor), Ok(Some(Kind::Folder))) {
            mounts.push(Mount::read(editor));
        }
        mounts
    }

    /// The worktree's own entry, below the git folder.
    fn entry(&self) -> Result<PathBuf, GitError> {
        let own = self.checkout.git_dir().strip_prefix(&self.git.inner.common);
        let elsewhere = |_| GitError::Unenclosable { why: "its worktree is registered elsewhere" };
        own.map(Path::to_owned).map_err(elsewhere)
    }

    fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), GitError> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(GitError::io(folder))?;
        }
        untrusted::replace(&path, bytes).map_err(GitError::io(path))
    }

    fn copy(&self, from: &Path, name: &Path) -> Result<(), GitError> {
        match untrusted::read_if_there(from, MAX_COPIED_BYTES)? {
            Some(bytes) => self.write(name, &bytes),
            None => Ok(()),
        }
    }

    /// Settings that say in which form things are stored, and who commits.
    async fn settings(&self) -> Vec<u8> {
        let inner = &self.git.inner;
        let passes = |setting: &&Setting| setting.passes(SettingsTrust::Hardened);
        let passing: Vec<&Setting> = inner.settings.iter().filter(passes).collect();
        let mut text = standin::settings(inner.disk, false, &inner.common, &passing, true);
        text.extend(self.committer().await);
        text
    }

    /// Who commits, as settings of git; and that git does not tidy up, which fails inside.
    async fn committer(&self) -> Vec<u8> {
        let quoted = |word: &str| word.replace('\\', "\\\\").replace('"', "\\\"");
        let person = self.git.person().await;
        let (name, email) = (quoted(person.name()), quoted(person.email()));
        format!("[gc]\n\tauto = 0\n[user]\n\tname = \"{name}\"\n\temail = \"{email}\"\n")
            .into_bytes()
    }

    /// All references as git packs them, and the agent's own branches where the repository has none of that name.
    async fn references(&self, own: &[OwnBranch]) -> Result<Vec<u8>, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00%(*objectname)%00%(symref)";
        let list = ["for-each-ref", format, "refs/heads/", "refs/remotes/", "refs/tags/"];
        let list = self.git.plain(&self.git.main()).args(list).run().await?.stdout;
        let list = String::from_utf8_lossy(&list);
        let mut rows: Vec<(String, String, String)> = Vec::new();
        for line in list.lines() {
            let mut fields = line.split('\0').map(str::to_owned);
            if let (Some(name), Some(object), Some(peeled), Some(link)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
                && link.is_empty()
            {
                rows.push((name, object, peeled));
            }
        }
        for OwnBranch { branch, tip } in own {
            let name = branch.full();
            if !rows.iter().any(|(known, ..)| *known == name) {
                rows.push((name, tip.to_string(), String::new()));
            }
        }
        rows.sort();
        let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        for (name, object, peeled) in rows {
            text.push_str(&format!("{object} {name}\n"));
            if !peeled.is_empty() {
                text.push_str(&format!("^{peeled}\n"));
            }
        }
        Ok(text.into_bytes())
    }

    /// Refuses what such a folder cannot hold: an agent would meet errors that it cannot understand, or commit what is wrong.
    async fn refuse_unfit(&self) -> Result<(), GitError> {
        let inner = &self.git.inner;
        let refuse = |why| Err(GitError::Unenclosable { why });
        let says = |key: &[u8], value: &[u8]| {
            inner.settings.iter().any(|setting| setting.says(key, value))
        };
        if says(b"extensions.refstorage", b"reftable") {
            return refuse("its references are stored as a reftable");
        }
        if inner.settings.iter().any(Setting::is_partial_clone) {
            return refuse("it is a partial clone, which fetches objects when they are needed");
        }
        if inner.common.join("objects/info/alternates").exists() {
            return refuse("it borrows objects of another repository");
        }
        let root = self.checkout.root();
        if untrusted::kind(&root.join(".gitmodules"))?.is_some() {
            return refuse("it has submodules");
        }
        let attributes = untrusted::read_if_there(&root.join(".gitattributes"), 1 << 20)?;
        let filtered = |line: &[u8]| memchr::memmem::find(line, b"filter=lfs").is_some();
        if attributes.is_some_and(|text| text.split(|byte| *byte == b'\n').any(filtered)) {
            return refuse("it stores files with Git LFS");
        }
        Ok(())
    }
}

impl Git {
    /// Who commits in this repository: as its own settings say, as the user's do, or Musher.
    async fn person(&self) -> Author {
        let own = |key: &[u8]| {
            let value = self.inner.settings.iter().rev().find_map(|setting| setting.value_of(key));
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let of_user = async |key: &str| {
            let ask = self.plain(&self.main()).args(["config", "--get", key]);
            ask.fine(&[0, 1]).line().await.ok().filter(|value| !value.is_empty())
        };
        let name = match own(b"user.name") {
            None => of_user("user.name").await,
            name => name,
        };
        let email = match own(b"user.email") {
            None => of_user("user.email").await,
            email => email,
        };
        let person = name.zip(email).and_then(|(name, email)| Author::new(name, email).ok());
        person.unwrap_or_else(Author::musher)
    }
}

impl Enclosed<'_> {
    /// The sandbox in which git reads the folder: without a network, with a home that is empty, and with nothing to write. The agent may
    /// live meanwhile, and put links in the way of mounts in its own home, or where it may make folders.
    fn reading(&self, sandbox: &Sandbox, scratch: &Path) -> Sandbox {
        let (home, tmp) = (scratch.join("home"), scratch.join("tmp"));
        let (root, common) = (self.checkout.root(), &self.git.inner.common);
        let mounts = vec![
            Mount::read(root),
            Mount::read(root.join(".git")),
            Mount::read(&self.folder).at(common),
            Mount::read(common.join("objects")).at(common.join(SHARED)),
        ];
        Sandbox { home, tmp, mounts, network: SandboxNetwork::None, ..sandbox.clone() }
    }
}
