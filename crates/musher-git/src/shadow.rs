//! A stand-in for the repository's folder whose settings an agent cannot write.
//!
//! Every worktree of a repository shares one settings file, and an agent can write it. A setting can make git start a
//! program in the middle of a checkout, a merge or a status, and a pattern can hide another agent's work. So whatever
//! touches contents runs against a private folder with settings of our own and no patterns, and reaches the objects, the
//! index and the files of the repository by their paths.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use tempfile::TempDir;

use super::call::Call;
use super::config::{Setting, SettingsTrust};
use super::error::GitError;
use super::hold::Hold;
use super::name::Commit;
use super::odd::Places;
use super::snapshot::Ignored;
use super::{Checkout, Git, standin};

/// Settings for calls in which the network is out of the question.
const OFFLINE: &[&str] = &["core.sshCommand=false", "credential.helper=", "protocol.allow=never"];

/// No file of patterns is longer, and no index.
const MAX_COPIED_FILE_BYTES: u64 = 16 << 20;
const MAX_COPIED_INDEX_BYTES: u64 = 2 << 30;

/// What may be spoken when something is fetched.
const PROTOCOLS: &str = "https:http:ssh:git:file";

/// How the folders of stand-ins begin, so that those of the dead are known.
pub(super) const SHADOW_PREFIX: &str = "git-";

/// Which index a stand-in works with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    /// The checkout's own.
    Real,
    /// A copy that is thrown away.
    Copy,
    /// None to begin with.
    Empty,
}

/// The stand-in; its folder is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Shadow<'a> {
    git: &'a Git,
    trust: SettingsTrust,
    folder: TempDir,
    index: PathBuf,
    /// Where objects are read and written.
    objects: PathBuf,
    /// The checkout whose files it is around.
    checkout: Option<Checkout>,
    ignored: Ignored,
    hold: Option<&'a Hold>,
}

impl<'a> Shadow<'a> {
    /// A stand-in without files, for work on objects alone.
    pub(super) async fn of_objects(git: &'a Git) -> Result<Self, GitError> {
        Self::make(git, SettingsTrust::Hardened, None).await
    }

    /// The same, whose new objects go with it: for looks at merges that nobody makes.
    pub(super) async fn of_passing_objects(git: &'a Git) -> Result<Self, GitError> {
        let mut shadow = Self::of_objects(git).await?;
        shadow.objects = shadow.path("objects");
        let info = shadow.objects.join("info");
        fs::create_dir_all(&info).map_err(GitError::io(&info))?;
        // A file and no variable: in that a path with a colon would be two.
        let real = git.inner.common.join("objects");
        shadow.write("objects/info/alternates", &[real.as_os_str().as_bytes(), b"\n"].concat())?;
        Ok(shadow)
    }

    /// A stand-in around the files of a checkout, with HEAD at a commit.
    pub(super) async fn of_files(
        git: &'a Git,
        trust: SettingsTrust,
        checkout: &Checkout,
        index: Index,
        head: Option<&Commit>,
    ) -> Result<Self, GitError> {
        // What is no folder, or reached by a link, holds the files of somebody else.
        untrusted::folder(&checkout.root)?;
        let mut shadow = Self::make(git, trust, Some(checkout)).await?;
        let own = checkout.git_dir.join("index");
        match index {
            Index::Real => shadow.index = own,
            Index::Copy => copy_index(&own, &shadow.index)?,
            Index::Empty => {}
        }
        shadow.link_shared_indexes(&checkout.git_dir)?;
        shadow.copy(&checkout.git_dir, "info/sparse-checkout")?;
        if let Some(head) = head {
            shadow.set_head(head)?;
        }
        Ok(shadow)
    }

    async fn make(
        git: &'a Git,
        trust: SettingsTrust,
        checkout: Option<&Checkout>,
    ) -> Result<Self, GitError> {
        git.refresh_ends().await?;
        let scratch = &git.inner.scratch;
        fs::create_dir_all(scratch).map_err(GitError::io(scratch))?;
        let folder = tempfile::Builder::new()
            .prefix(SHADOW_PREFIX)
            .tempdir_in(scratch)
            .map_err(GitError::io(scratch))?;
        let index = folder.path().join("index");
        let (checkout, ignored) = (checkout.cloned(), Ignored::AsPerson);
        let objects = git.inner.common.join("objects");
        let shadow = Self { git, trust, folder, index, objects, checkout, ignored, hold: None };
        for name in ["refs", "info"] {
            let path = shadow.path(name);
            fs::create_dir(&path).map_err(GitError::io(&path))?;
        }
        shadow.write("HEAD", b"ref: refs/heads/none\n")?;
        shadow.write("config", &shadow.settings())?;
        shadow.copy(git.inner.stand_in.path(), "shallow")?;
        Ok(shadow)
    }

    fn settings(&self) -> Vec<u8> {
        let inner = &self.git.inner;
        let passing: Vec<&Setting> =
            inner.settings.iter().filter(|setting| setting.passes(self.trust)).collect();
        standin::settings(inner.disk, self.checkout.is_none(), &inner.common, &passing, false)
    }

    /// Puts HEAD of the stand-in at a commit.
    pub(super) fn set_head(&self, head: &Commit) -> Result<(), GitError> {
        self.write("HEAD", format!("{head}\n").as_bytes())
    }

    /// Says which files are left out because they are ignored.
    pub(super) fn ignoring(mut self, ignored: Ignored) -> Self {
        self.ignored = ignored;
        self
    }

    pub(super) fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// Gives every call the hold on the files to keep.
    pub(super) fn held(mut self, hold: &'a Hold) -> Self {
        self.hold = Some(hold);
        self
    }

    /// A call of git in the stand-in.
    pub(super) fn call(&self) -> Call {
        let call = self.local_call();
        match self.trust {
            SettingsTrust::User => call.env("GIT_ALLOW_PROTOCOL", PROTOCOLS),
            SettingsTrust::Hardened => OFFLINE
                .iter()
                .fold(call, |call, setting| call.setting(setting))
                .env("GIT_ALLOW_PROTOCOL", "none")
                .env("GIT_NO_LAZY_FETCH", "1"),
        }
    }

    /// A call that talks to a remote, with what the user's own settings say about how: helpers for credentials, `ssh`,
    /// proxies. Nothing waits for a person who is not there.
    pub(super) fn online_call(&self) -> Call {
        let call =
            self.git.inner.env.online().iter().fold(self.local_call(), |call, (name, value)| {
                call.env(&name.to_string_lossy(), value)
            });
        call.env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
    }

    fn local_call(&self) -> Call {
        let inner = &self.git.inner;
        let folder = self.files().unwrap_or(self.folder.path());
        let places = match &self.checkout {
            Some(checkout) => self.git.places(checkout),
            None => Places { common: inner.common.clone(), git_dir: None, files: None },
        };
        let mut call = Call::new(&inner.program, &inner.env, folder)
            .places(places)
            .env("GIT_DIR", self.folder.path())
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_INDEX_FILE", &self.index);
        if let Some(files) = self.files() {
            call = call.env("GIT_WORK_TREE", files);
        }
        if self.ignored == Ignored::ByWorktree {
            call = call.setting("core.excludesFile=/dev/null");
        }
        if self.index.starts_with(self.folder.path()) {
            call = call.unsynced_index();
        }
        if self.objects.starts_with(self.folder.path()) {
            call = call.setting("core.fsync=none");
        }
        match self.hold.and_then(|hold| hold.input().ok()) {
            Some(input) => call.hold(input),
            None => call,
        }
    }

    /// A call around a folder inside the files that is a repository of its own.
    pub(super) fn call_in(&self, nested: &Path, index: &str) -> Call {
        let call = self.call().at(nested);
        call.env("GIT_WORK_TREE", nested).env("GIT_INDEX_FILE", self.path(index))
    }

    pub(super) fn index(&self) -> &Path {
        &self.index
    }

    /// The folder with the files, if it has one.
    pub(super) fn files(&self) -> Option<&Path> {
        self.checkout.as_ref().map(Checkout::root)
    }

    /// How many bytes name an object.
    pub(super) fn name_bytes(&self) -> usize {
        match self.was_set(b"extensions.objectformat", b"sha256") {
            true => 32,
            false => 20,
        }
    }

    /// Whether names that differ by small and large letters are one file.
    pub(super) fn ignores_case(&self) -> bool {
        self.git.inner.disk.folds
    }

    /// Whether the repository had a setting when it was opened.
    fn was_set(&self, key: &[u8], value: &[u8]) -> bool {
        self.git.inner.settings.iter().any(|setting| setting.says(key, value))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &[u8]) -> Result<(), GitError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(GitError::io(path))
    }

    /// Copies a file, if it is there.
    fn copy(&self, from: &Path, name: &str) -> Result<(), GitError> {
        match untrusted::read_if_there(&from.join(name), MAX_COPIED_FILE_BYTES)? {
            Some(bytes) => self.write(name, &bytes),
            None => Ok(()),
        }
    }

    /// A split index names its larger part by a file beside it.
    fn link_shared_indexes(&self, git_dir: &Path) -> Result<(), GitError> {
        let Ok(entries) = fs::read_dir(git_dir) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("sharedindex.") {
                // A look at what it is; git opens it later.
                untrusted::open(&entry.path())?;
                let link = self.folder.path().join(&name);
                std::os::unix::fs::symlink(entry.path(), &link).map_err(GitError::io(link))?;
            }
        }
        Ok(())
    }
}

/// Copies an index with its time: git rereads a file that is not older than the index, and would miss changes otherwise.
pub(super) fn copy_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let mut source = match untrusted::open(from) {
        Ok(source) => source,
        Err(unfit) if unfit.is_missing() => return Ok(()),
        Err(unfit) => return Err(unfit.into()),
    };
    let about = source.metadata().map_err(GitError::io(from))?;
    if about.len() > MAX_COPIED_INDEX_BYTES {
        let (path, most) = (from.to_owned(), MAX_COPIED_INDEX_BYTES);
        return Err(untrusted::Unfit::TooLong { path, most }.into());
    }
    let mut copy = untrusted::create(to).map_err(GitError::io(to))?;
    std::io::copy(&mut source, &mut copy).map_err(GitError::io(from))?;
    let modified = about.modified().map_err(GitError::io(from))?;
    copy.set_modified(modified).map_err(GitError::io(to))
}
