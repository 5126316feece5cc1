//! A repository in a temporary folder, with a person who works in it by hand.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use musher_core::SlotId;
use musher_git::worktree::{SlotFiles, SlotStart, WorktreeSlots};
use musher_git::{Author, Branch, Commit, Git, GitEnv, GitError, RecoveryName, RelPath};

pub(crate) struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    /// A repository with one commit on `main`: `a.txt`, `dir/b.txt`, and `*.log` and `cache` ignored.
    pub(crate) fn new() -> Self {
        let lab = Self::empty();
        lab.write("a.txt", "one\ntwo\nthree\n");
        lab.write("dir/b.txt", "b\n");
        lab.write(".gitignore", "*.log\ncache\n");
        lab.commit("first");
        lab
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(lab.path("home")).unwrap();
        fs::create_dir(lab.repo()).unwrap();
        let settings =
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n";
        fs::write(lab.path("home/.gitconfig"), settings).unwrap();
        lab.git(["init", "-q"]);
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn env(&self) -> GitEnv {
        GitEnv::default()
            .with("PATH", std::env::var_os("PATH").unwrap())
            .with("HOME", self.path("home"))
            .with("GIT_CONFIG_NOSYSTEM", "1")
    }

    pub(crate) async fn try_open(&self) -> Result<Git, GitError> {
        Git::open(&self.repo(), self.env(), &self.path("scratch")).await
    }

    pub(crate) async fn open(&self) -> Git {
        self.try_open().await.unwrap()
    }

    pub(crate) async fn slots(&self) -> WorktreeSlots {
        self.slots_with(SlotFiles { keep: vec![rel("cache")], copy: Vec::new() }).await
    }

    pub(crate) async fn slots_with(&self, files: SlotFiles) -> WorktreeSlots {
        WorktreeSlots::new(self.open().await, &self.path("worktrees"), files).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        write(&self.repo(), name, text);
    }

    /// Runs git in the main checkout as the person would, and expects it to succeed.
    pub(crate) fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        self.git_in(&self.repo(), args)
    }

    pub(crate) fn git_in<I: IntoIterator<Item: AsRef<OsStr>>>(&self, at: &Path, args: I) -> String {
        let output = self.try_git(at, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) fn try_git<I: IntoIterator<Item: AsRef<OsStr>>>(
        &self,
        at: &Path,
        args: I,
    ) -> Output {
        Command::new("git")
            .args(args)
            .current_dir(at)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap()
    }

    /// Commits everything in the main checkout.
    pub(crate) fn commit(&self, message: &str) -> Commit {
        self.commit_in(&self.repo(), message)
    }

    pub(crate) fn commit_in(&self, at: &Path, message: &str) -> Commit {
        self.git_in(at, ["add", "-A"]);
        self.git_in(at, ["commit", "-q", "--allow-empty", "-m", message]);
        self.at(at, "HEAD")
    }

    pub(crate) fn at(&self, folder: &Path, name: &str) -> Commit {
        Commit::new(self.git_in(folder, ["rev-parse", name])).unwrap()
    }

    pub(crate) fn tip(&self, name: &str) -> Commit {
        self.at(&self.repo(), name)
    }

    /// A commit on a branch of its own, made from `main` in a worktree of the person's that is removed again.
    pub(crate) fn branch_with(&self, name: &str, files: &[(&str, &str)]) -> Commit {
        let at = self.path(&format!("by-hand-{}", name.replace('/', "-")));
        self.git([
            OsStr::new("worktree"),
            "add".as_ref(),
            "-q".as_ref(),
            "-b".as_ref(),
            name.as_ref(),
            at.as_ref(),
            "main".as_ref(),
        ]);
        for (file, text) in files {
            write(&at, file, text);
        }
        let commit = self.commit_in(&at, name);
        self.git([OsStr::new("worktree"), "remove".as_ref(), at.as_ref()]);
        commit
    }

    /// The files of a commit with their contents, for comparisons.
    pub(crate) fn files_of(&self, commit: &Commit) -> Vec<String> {
        let list = self.git(["ls-tree", "-r", "--name-only", commit.as_str()]);
        list.lines().map(str::to_owned).collect()
    }

    pub(crate) fn text_of(&self, commit: &Commit, file: &str) -> String {
        self.git(["cat-file", "blob", &format!("{commit}:{file}")])
    }

    /// Where branches and worktrees are, to see that something left nothing behind.
    pub(crate) fn traces(&self) -> (String, String, Vec<PathBuf>) {
        let refs = self.git(["for-each-ref"]);
        let register = self.git(["worktree", "list", "--porcelain"]);
        let folders = fs::read_dir(self.path("worktrees")).into_iter().flatten().flatten();
        (refs, register, folders.map(|entry| entry.path()).collect())
    }
}

pub(crate) fn write(at: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn read(at: &Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

pub(crate) fn make_executable(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

pub(crate) fn branch(name: &str) -> Branch {
    Branch::new(name).unwrap()
}

pub(crate) fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

pub(crate) fn kept(name: &str) -> RecoveryName {
    RecoveryName::new(name).unwrap()
}

pub(crate) fn author() -> Author {
    Author::new("Ada", "ada@example.org").unwrap()
}

pub(crate) fn from_main() -> SlotStart {
    SlotStart::Base { branch: branch("main") }
}

pub(crate) const SLOT: SlotId = SlotId(1);
