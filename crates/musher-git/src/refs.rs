//! References: which branches there are, what they point to, and how they are moved.

use super::error::GitError;
use super::head::{self, Named};
use super::name::{Branch, Commit, RecoveryName, RecoveryRef};
use super::stored::{Stored, stored};
use super::{Checkout, Git};

/// Where kept work is found again.
const RECOVERY: &str = "refs/musher/recovery/";
/// How many branches an error lists.
const LISTED: usize = 10;
/// How many names are tried before a recovery ref is given up.
const TRIES: u32 = 1000;

/// What a reference must be for it to be moved.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// It points here.
    At(&'a Commit),
    /// It does not exist.
    Absent,
    /// Whatever it is.
    Anything,
}

impl Git {
    /// The local branches that Musher can work with, in their order.
    pub async fn branches(&self) -> Result<Vec<Branch>, GitError> {
        let list = ["for-each-ref", "--format=%(refname)", "refs/heads/"];
        let list = self.plain(&self.main()).args(list).run().await?;
        Ok(list.stdout.split(|b| *b == b'\n').filter_map(Branch::of_ref).collect())
    }

    /// The tip of a branch.
    pub async fn resolve(&self, branch: &Branch) -> Result<Commit, GitError> {
        self.found(branch, self.tip(branch).await?).await
    }

    /// The tip of a branch, and that of another if there is one.
    pub async fn resolve_with(
        &self,
        branch: &Branch,
        other: &Branch,
    ) -> Result<(Commit, Option<Commit>), GitError> {
        if let Some(found) = self.stored_with(branch, other) {
            return Ok(found);
        }
        let [tip, other] = self.find_all([&branch.full(), &other.full()]).await?;
        Ok((self.found(branch, tip).await?, other))
    }

    /// The same without a process, where the files tell: the other branch is not there or at the same commit, so that
    /// nothing hangs on a commit that nobody has looked at.
    fn stored_with(&self, branch: &Branch, other: &Branch) -> Option<(Commit, Option<Commit>)> {
        let common = &self.inner.common;
        let Stored::At(tip) = stored(common, branch) else { return None };
        match stored(common, other) {
            Stored::At(commit) if commit == tip => Some((tip, Some(commit))),
            Stored::Absent => Some((tip, None)),
            Stored::At(_) | Stored::Unclear => None,
        }
    }

    /// Whether the main checkout is on a branch that is at this commit, as far as files tell.
    pub(crate) fn is_main_head(&self, commit: &Commit) -> bool {
        let on = head::branch_in_file(&self.inner.git_dir);
        let Some(Named::Branch(branch)) = on else { return false };
        stored(&self.inner.common, &branch) == Stored::At(commit.clone())
    }

    async fn found(&self, branch: &Branch, tip: Option<Commit>) -> Result<Commit, GitError> {
        match tip {
            Some(commit) => Ok(commit),
            None => Err(self.no_branch(branch).await?),
        }
    }

    /// The tip of a branch, if there is one.
    pub async fn tip(&self, branch: &Branch) -> Result<Option<Commit>, GitError> {
        self.find(&branch.full()).await
    }

    /// What a full name points to, peeled to a commit.
    pub(super) async fn find(&self, full: &str) -> Result<Option<Commit>, GitError> {
        let [found] = self.find_all([full]).await?;
        Ok(found)
    }

    /// What full names point to, each peeled to a commit: one process for all of them.
    async fn find_all<const N: usize>(
        &self,
        full: [&str; N],
    ) -> Result<[Option<Commit>; N], GitError> {
        let call = self.plain(&self.main()).args(["cat-file", "--batch-check=%(objectname)"]);
        let names: String = full.iter().map(|full| format!("{full}^{{commit}}\n")).collect();
        let list = call.input(names).run().await?.stdout;
        let list = String::from_utf8_lossy(&list);
        let mut lines = list.lines();
        // What is not there is told in words.
        Ok(full.map(|_| Commit::new(lines.next()?).ok()))
    }

    /// Which of these commits are not in the repository: one process for all of them.
    pub(super) async fn missing(&self, commits: &[&Commit]) -> Result<Vec<bool>, GitError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let names: String = commits.iter().map(|commit| format!("{commit}^{{commit}}\n")).collect();
        let call = self.plain(&self.main()).args(["cat-file", "--batch-check=%(objectname)"]);
        let list = call.input(names).run().await?.stdout;
        let list = String::from_utf8_lossy(&list);
        let found: Vec<bool> = list.lines().map(|line| Commit::new(line).is_err()).collect();
        match found.len() == commits.len() {
            true => Ok(found),
            false => Err(GitError::unexpected("cat-file", list.as_bytes())),
        }
    }

    /// Refuses a commit that is not in the repository.
    pub async fn check_commit(&self, commit: &Commit) -> Result<(), GitError> {
        self.checked(commit, self.find(commit.as_str()).await?)
    }

    /// The same; tells the tip of a branch too, if there is one.
    pub(crate) async fn check_commit_with(
        &self,
        commit: &Commit,
        other: &Branch,
    ) -> Result<Option<Commit>, GitError> {
        let [found, other] = self.find_all([commit.as_str(), &other.full()]).await?;
        self.checked(commit, found).map(|()| other)
    }

    fn checked(&self, commit: &Commit, found: Option<Commit>) -> Result<(), GitError> {
        let path = || self.inner.root.clone();
        let missing = || GitError::NoCommit { commit: commit.clone(), path: path() };
        found.map(drop).ok_or_else(missing)
    }

    async fn no_branch(&self, branch: &Branch) -> Result<GitError, GitError> {
        let there = self.branches().await?;
        let alike = |other: &Branch| strsim::jaro_winkler(branch.as_str(), other.as_str());
        let nearest = there.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        let mut hint = match nearest.filter(|nearest| alike(nearest) > 0.7) {
            Some(nearest) => format!("did you mean {nearest}? "),
            None => String::new(),
        };
        let names: Vec<&str> = there.iter().take(LISTED).map(Branch::as_str).collect();
        hint.push_str(&match names.is_empty() {
            true => "there are no branches".to_owned(),
            false => format!("there are: {}", names.join(", ")),
        });
        if there.len() > LISTED {
            hint.push_str(&format!(" and {} more", there.len() - LISTED));
        }
        Ok(GitError::NoBranch { branch: branch.clone(), path: self.inner.root.clone(), hint })
    }

    /// The branch that work starts from when nobody says otherwise: the remote's, else the one that is checked out, else
    /// one with a usual name, else the only one.
    pub async fn default_branch(&self) -> Result<Branch, GitError> {
        let there = self.branches().await?;
        let remote = ["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"];
        let remote = self.plain(&self.main()).args(remote).fine(&[0, 1]).run().await?;
        let remote = String::from_utf8_lossy(&remote.stdout);
        let remote = remote.trim_end().strip_prefix("refs/remotes/origin/");
        let remote = remote.and_then(|name| Branch::new(name).ok());
        if let Some(branch) = remote.filter(|branch| there.contains(branch)) {
            return Ok(branch);
        }
        if let Some(branch) = self.head(&self.main()).await?.branch() {
            return Ok(branch.clone());
        }
        let usual = ["main", "master", "trunk"];
        let usual = usual.iter().find_map(|name| there.iter().find(|b| b.as_str() == *name));
        match (usual, there.as_slice()) {
            (Some(branch), _) => Ok(branch.clone()),
            (None, [only]) => Ok(only.clone()),
            (None, _) => Err(GitError::Detached { path: self.inner.root.clone() }),
        }
    }

    /// Whether everything in a commit is already in another.
    pub async fn contains(&self, whole: &Commit, part: &Commit) -> Result<bool, GitError> {
        if whole == part {
            return Ok(true);
        }
        let ask = ["merge-base", "--is-ancestor", part.as_str(), whole.as_str()];
        Ok(self.plain(&self.main()).args(ask).fine(&[0, 1]).run().await?.code == 0)
    }

    /// Whether a commit can be reached without a branch that is about to be moved.
    pub async fn is_kept_without(
        &self,
        commit: &Commit,
        moving: Option<&Branch>,
    ) -> Result<bool, GitError> {
        let call = self.plain(&self.main()).args(["for-each-ref", "--format=%(refname)"]);
        let call = call.arg(format!("--contains={commit}"));
        let call = call.args(["refs/heads/", "refs/remotes/", "refs/tags/", RECOVERY]);
        let list = call.run().await?.stdout;
        let moving = moving.map(Branch::full).unwrap_or_default();
        let mut names = list.split(|b| *b == b'\n').filter(|name| !name.is_empty());
        Ok(names.any(|name| name != moving.as_bytes()))
    }

    /// Moves or makes a reference, if it is what it is expected to be. One that points to another is not followed: an
    /// agent can make a branch of its own stand for any other.
    pub(super) async fn move_ref(
        &self,
        at: &Checkout,
        full: &str,
        to: &Commit,
        expected: Expected<'_>,
        why: &str,
    ) -> Result<(), GitError> {
        let zero = "0".repeat(to.as_str().len());
        let call = self.plain(at).args(["update-ref", "--no-deref", "-m", why, full, to.as_str()]);
        let call = match expected {
            Expected::At(commit) => call.arg(commit.as_str()),
            Expected::Absent => call.arg(zero),
            Expected::Anything => call,
        };
        self.moved(full, call.run().await.map(drop))
    }

    fn moved(&self, full: &str, done: Result<(), GitError>) -> Result<(), GitError> {
        match done {
            Err(GitError::Failed { said, .. })
                if said.contains("cannot lock ref")
                    && !said.contains("unable to create directory") =>
            {
                Err(GitError::Moved { name: full.to_owned() })
            }
            done => done,
        }
    }

    /// Makes a branch, or moves it, wherever it was; its old tip must have been kept. The caller knows that nobody else
    /// works on it, so a lock on it is what a killed git left.
    pub(crate) async fn set_branch(
        &self,
        branch: &Branch,
        to: &Commit,
        expected: Expected<'_>,
    ) -> Result<(), GitError> {
        let lock = self.inner.common.join(format!("{}.lock", branch.full()));
        match std::fs::remove_file(&lock) {
            Err(error) if lock.exists() => return Err(GitError::io(lock)(error)),
            _ => {}
        }
        let why = "musher: start";
        self.move_ref(&self.main(), &branch.full(), to, expected, why).await
    }

    /// Removes a branch that is still at a known commit.
    pub async fn delete_branch(&self, branch: &Branch, at: &Commit) -> Result<(), GitError> {
        if let Some(holder) = self.holder(branch).await? {
            return Err(GitError::CheckedOut { branch: branch.clone(), path: holder });
        }
        let full = branch.full();
        let call =
            self.plain(&self.main()).args(["update-ref", "--no-deref", "-d", &full, at.as_str()]);
        self.moved(&full, call.run().await.map(drop))
    }

    /// Takes HEAD of a worktree off its branch, where it stands.
    pub(crate) async fn detach(&self, at: &Checkout, commit: &Commit) -> Result<(), GitError> {
        let why = ["update-ref", "--no-deref", "-m", "musher: prepare", "HEAD", commit.as_str()];
        self.plain(at).args(why).run().await.map(drop)
    }

    /// Keeps a commit under `refs/musher/recovery/<name>`; a number is added when the name is taken by other work.
    pub async fn recovery_ref(
        &self,
        name: &RecoveryName,
        commit: &Commit,
    ) -> Result<RecoveryRef, GitError> {
        for number in 1..=TRIES {
            let full = match number {
                1 => format!("{RECOVERY}{name}"),
                number => format!("{RECOVERY}{name}-{number}"),
            };
            let why = "musher: keep work";
            match self.move_ref(&self.main(), &full, commit, Expected::Absent, why).await {
                Ok(()) => return Ok(RecoveryRef { name: full, commit: commit.clone() }),
                // The name is taken, or it is a folder of other names.
                Err(GitError::Moved { .. }) => {}
                Err(error) => return Err(error),
            }
            if let Some(there) = self.find(&full).await?
                && self.is_same_work(&there, commit).await?
            {
                return Ok(RecoveryRef { name: full, commit: there });
            }
        }
        Err(GitError::Moved { name: format!("{RECOVERY}{name}") })
    }

    /// Whether two commits say and hold the same on top of the same history, whenever each was made.
    async fn is_same_work(&self, one: &Commit, other: &Commit) -> Result<bool, GitError> {
        if one == other {
            return Ok(true);
        }
        let show = ["rev-list", "--no-walk", "--no-commit-header", "--format=%T %P %ae %s"];
        let call = self.plain(&self.main()).args(show).args([one.as_str(), other.as_str()]);
        let shown = call.run().await?.stdout;
        let mut lines = shown.split(|byte| *byte == b'\n');
        Ok(lines.next() == lines.next())
    }

    /// All kept work.
    pub async fn recovery_refs(&self) -> Result<Vec<RecoveryRef>, GitError> {
        let list = ["for-each-ref", "--format=%(objectname) %(refname)", RECOVERY];
        let list = self.plain(&self.main()).args(list).run().await?.stdout;
        let list = String::from_utf8_lossy(&list);
        let refs = list.lines().filter_map(|line| {
            let (commit, name) = line.split_once(' ')?;
            Some(RecoveryRef { name: name.to_owned(), commit: Commit::new(commit).ok()? })
        });
        Ok(refs.collect())
    }
}
