//! Brings over what an agent committed in its sandbox.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

use musher_os::untrusted::{self, Kind, Unfit};
use musher_sandbox::{CommandMounts, Sandbox};

use super::{Enclosed, OwnBranch, reading};
use crate::call::{Call, WRITE_CALL_TIMEOUT};
use crate::config::SettingsTrust;
use crate::error::GitError;
use crate::shadow::{Index, SHADOW_PREFIX, Shadow};
use crate::snapshot::replace_index;
use crate::{Branch, Commit, Expected};

/// More is not brought over at once; it is as much as is read of any call.
const MAX_PACK_BYTES: u64 = 256 << 20;
/// As much is read of a list of branches.
const MAX_LIST_BYTES: usize = 4 << 20;
/// How long git may take to list them.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// So many branches of an agent's own are looked at.
const MAX_OWN_BRANCHES: usize = 1000;

impl Enclosed<'_> {
    /// Brings over the commits on the story's branch, and those on branches of the agent's own, which have no name in the
    /// repository yet.
    pub(crate) async fn bring(
        &self,
        sandbox: &Sandbox,
        branch: &Branch,
    ) -> Result<Vec<OwnBranch>, GitError> {
        self.refuse_odd(branch)?;
        let scratch = &self.git.inner.scratch;
        let scratch = tempfile::Builder::new()
            .prefix(SHADOW_PREFIX)
            .tempdir_in(scratch)
            .map_err(GitError::io(scratch))?;
        let inside = reading(sandbox, scratch.path());
        for folder in [&inside.home, &inside.tmp] {
            std::fs::create_dir(folder).map_err(GitError::io(folder))?;
        }
        let ends = self.ends(&inside).await?;
        let tip = self.git.tip(branch).await?;
        let seen = self.seen(tip.as_ref());
        let there = ends.iter().find(|end| end.branch == *branch).map(|end| end.tip.clone());
        let mut own: Vec<OwnBranch> = self.unknown(ends, branch).await?;
        // What stands where it stood is old news: the repository may have gone on since.
        let mut moved = there.filter(|tip| Some(tip) != seen.as_ref());
        if tip != seen
            && let Some(tip) = moved.take()
        {
            // Both have moved, and neither may be lost.
            own.push(OwnBranch { branch: branch.clone(), tip });
        }
        let wanted: Vec<&Commit> = moved.iter().chain(own.iter().map(|end| &end.tip)).collect();
        if wanted.is_empty() {
            return Ok(own);
        }
        self.fetch(&inside, &wanted).await?;
        if let Some(to) = &moved {
            let expected = seen.as_ref().map_or(Expected::Absent, Expected::At);
            let why = "musher: brought over";
            // Whoever comes after a crash knows by this whose move it was.
            if seen.is_some() {
                self.note(seen.as_ref(), Some(to))?;
            }
            let done = self.git.move_ref(self.checkout, &branch.full(), to, expected, why).await;
            match done {
                // Somebody else has brought it over in the meantime.
                Err(GitError::Moved { .. }) if self.git.tip(branch).await?.as_ref() == Some(to) => {
                }
                done => done?,
            }
            self.note(Some(to), None)?;
            self.refresh_index(to).await?;
        }
        Ok(own)
    }

    /// Refuses what would hold up git at once. Whatever else does is ended after a while.
    fn refuse_odd(&self, branch: &Branch) -> Result<(), GitError> {
        for name in ["HEAD", "config", "packed-refs", &branch.full()] {
            let path = self.folder.join(name);
            match untrusted::kind(&path)? {
                None | Some(Kind::File | Kind::Folder) => {}
                Some(kind) => return Err(Unfit::Odd { path, kind }.into()),
            }
        }
        Ok(())
    }

    /// A call of git inside.
    fn inside(&self, sandbox: &Sandbox, args: &[&str]) -> Result<Call, GitError> {
        let inner = &self.git.inner;
        let own = args.len();
        let args: Vec<OsString> =
            Call::always().into_iter().chain(args.iter().map(Into::into)).collect();
        let root = self.checkout.root();
        let command = sandbox.command(&inner.program, &args, root, &CommandMounts::default());
        let command = command.map_err(|error| GitError::Sandbox { why: error.to_string() })?;
        Ok(Call::confined(&command, own, &inner.env))
    }

    /// The tips of branches inside that the repository does not have, or has elsewhere.
    async fn ends(&self, inside: &Sandbox) -> Result<Vec<OwnBranch>, GitError> {
        let list = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"];
        let known = self.git.plain(&self.git.main()).args(list).run().await?.stdout;
        let known: HashSet<&[u8]> = known.split(|byte| *byte == b'\n').collect();
        let list = self.inside(inside, &list)?.cut_at(MAX_LIST_BYTES).limit(LIST_TIMEOUT);
        let list = list.run().await?.stdout;
        let list = list.split(|byte| *byte == b'\n').filter(|line| !known.contains(line));
        let list = list.take(MAX_OWN_BRANCHES).map(String::from_utf8_lossy);
        let list: Vec<_> = list.collect();
        let ends = list.iter().filter_map(|line| {
            let (tip, name) = line.split_once(' ')?;
            let branch = Branch::of_ref(name.as_bytes())?;
            Some(OwnBranch { branch, tip: Commit::new(tip).ok()? })
        });
        Ok(ends.collect())
    }

    /// Branches of the agent's own whose commits the repository does not have.
    async fn unknown(
        &self,
        ends: Vec<OwnBranch>,
        branch: &Branch,
    ) -> Result<Vec<OwnBranch>, GitError> {
        let mut own = Vec::new();
        for end in ends {
            if end.branch != *branch && self.git.check_commit(&end.tip).await.is_err() {
                own.push(end);
            }
        }
        Ok(own)
    }

    /// Takes in the objects of commits. Each gets the name that its bytes have, whatever it was called inside.
    async fn fetch(&self, inside: &Sandbox, wanted: &[&Commit]) -> Result<(), GitError> {
        let mut revisions: String = wanted.iter().map(|commit| format!("{commit}\n")).collect();
        let known = ["for-each-ref", "--format=^%(objectname)", "refs/heads/", "refs/remotes/"];
        let known = self.git.plain(&self.git.main()).args(known).run().await?.stdout;
        revisions.push_str(&String::from_utf8_lossy(&known));
        let pack = ["pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q"];
        let pack =
            self.inside(inside, &pack)?.limit(WRITE_CALL_TIMEOUT).input(revisions).run().await?;
        let shadow = Shadow::of_objects(self.git).await?;
        let most = format!("--max-input-size={MAX_PACK_BYTES}");
        let take_in = ["index-pack", "--stdin", "--fix-thin", "--strict", &most];
        shadow.call().args(take_in).limit(WRITE_CALL_TIMEOUT).input(pack.stdout).run().await?;
        let whole = ["rev-list", "--objects", "--quiet", "--stdin"];
        let mut walk: String = wanted.iter().map(|commit| format!("{commit}\n")).collect();
        walk.push_str(&String::from_utf8_lossy(&known));
        shadow.call().args(whole).limit(WRITE_CALL_TIMEOUT).input(walk).run().await?;
        Ok(())
    }

    /// Makes the index of the worktree know the commit that its branch is at now, or the person would see old files as changes.
    async fn refresh_index(&self, to: &Commit) -> Result<(), GitError> {
        let trust = SettingsTrust::Hardened;
        let shadow =
            Shadow::of_files(self.git, trust, self.checkout, Index::Empty, Some(to)).await?;
        shadow.call().args(["read-tree", to.as_str()]).run().await?;
        // Files that the agent has changed since are not fresh, which is no failure.
        shadow.call().args(["update-index", "-q", "--refresh"]).fine(&[0, 1]).run().await?;
        replace_index(shadow.index(), &self.checkout.git_dir().join("index"))
    }
}
