//! Brings over what an agent committed in its sandbox.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use musher_os::untrusted::{self, Kind, Unfit};
use musher_sandbox::{CommandMounts, Sandbox, SandboxBackend, program_mounts};
use tracing::warn;

use super::contained::{EnclosedCall, GitContainer, remove_left};
use super::{Enclosed, OwnBranch, Seen};
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
const MAX_OWN_BRANCHES: usize = 100;

impl Enclosed<'_> {
    /// Brings over the commits on the story's branch, and those on branches of the agent's own, which have no name in the
    /// repository yet.
    pub(crate) async fn bring(
        &self,
        sandbox: &Sandbox,
        branch: &Branch,
    ) -> Result<Vec<OwnBranch>, GitError> {
        self.refuse_odd(branch)?;
        if let SandboxBackend::Container(backend) = &sandbox.backend {
            remove_left(backend, &self.folder).await;
        }
        let scratch = &self.git.inner.scratch;
        let scratch = tempfile::Builder::new()
            .prefix(SHADOW_PREFIX)
            .tempdir_in(scratch)
            .map_err(GitError::io(scratch))?;
        let inside = self.reading(sandbox, scratch.path());
        for folder in [&inside.home, &inside.tmp] {
            std::fs::create_dir(folder).map_err(GitError::io(folder))?;
        }
        // Looked at before the list: what is newer than the list is never taken back by it.
        let tip = self.git.tip(branch).await?;
        let Seen { at: seen, unfinished } = self.seen(tip.as_ref());
        if let (true, Some(tip)) = (unfinished, &tip) {
            self.refresh_index(tip).await?;
            self.note(Some(tip), None)?;
        }
        let (story, mut own) = self.ends(&inside, branch).await?;
        // What stands where it stood is old news: the repository may have gone on since.
        match story.filter(|to| Some(to) != seen.as_ref()) {
            // Both have moved, and neither may be lost.
            Some(to) if tip != seen => own.push(OwnBranch { branch: branch.clone(), tip: to }),
            Some(to) => self.follow(&inside, branch, seen.as_ref(), &to).await?,
            None => {}
        }
        let mut brought = Vec::new();
        for end in own {
            match self.fetch_if_missing(&inside, &end.tip).await {
                Ok(()) => brought.push(end),
                Err(error) => {
                    warn!(branch = %end.branch, cause = %error, "branch of an agent's own cannot be brought over");
                }
            }
        }
        Ok(brought)
    }

    /// Moves the story's branch to where it stands inside.
    async fn follow(
        &self,
        inside: &Sandbox,
        branch: &Branch,
        seen: Option<&Commit>,
        to: &Commit,
    ) -> Result<(), GitError> {
        self.fetch_if_missing(inside, to).await?;
        let expected = seen.map_or(Expected::Absent, Expected::At);
        let why = "musher: brought over";
        // After a crash this tells the agent's move from a person's.
        if seen.is_some() {
            self.note(seen, Some(to))?;
        }
        let done = self.git.move_ref(self.checkout, &branch.full(), to, expected, why).await;
        match done {
            // Somebody else has brought it over in the meantime.
            Err(GitError::Moved { .. }) if self.git.tip(branch).await?.as_ref() == Some(to) => {}
            done => done?,
        }
        self.refresh_index(to).await?;
        self.note(Some(to), None)
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
    fn inside(&self, sandbox: &Sandbox, args: &[&str]) -> Result<EnclosedCall, GitError> {
        let inner = &self.git.inner;
        let own = args.len();
        let args: Vec<OsString> =
            Call::always().into_iter().chain(args.iter().map(Into::into)).collect();
        let root = self.checkout.root();
        let mut container = None;
        let (program, more) = match &sandbox.backend {
            SandboxBackend::Namespaces | SandboxBackend::Landlock => {
                let tools = program_mounts(&inner.program, &sandbox.home_at);
                (inner.program.as_path(), CommandMounts { tools, ..CommandMounts::default() })
            }
            // The git of the image, with nothing of the user's own variables.
            SandboxBackend::Container(backend) => {
                let variables = Call::fixed().map(OsString::from).collect();
                let name = Some(container.insert(GitContainer::of(backend, &self.folder)).name());
                (Path::new("git"), CommandMounts { variables, name, ..CommandMounts::default() })
            }
        };
        let command = sandbox.command(program, &args, root, &more);
        let command = command.map_err(|error| GitError::Sandbox { why: error.to_string() })?;
        let mut call = Call::confined(&command, own, &inner.env);
        if let SandboxBackend::Container(backend) = &sandbox.backend {
            let variables = backend.variables.iter();
            call = variables.fold(call, |call, (name, value)| call.env(name, value));
        }
        Ok(EnclosedCall { call, container })
    }

    /// Where the story's branch stands inside, if not where it stands here, and branches that the repository does not have or has elsewhere.
    async fn ends(
        &self,
        inside: &Sandbox,
        branch: &Branch,
    ) -> Result<(Option<Commit>, Vec<OwnBranch>), GitError> {
        let list = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"];
        let known = self.git.plain(&self.git.main()).args(list).run().await?.stdout;
        let known: HashSet<&[u8]> = known.split(|byte| *byte == b'\n').collect();
        let list = self.inside(inside, &list)?;
        let list = list.with(|call| call.cut_at(MAX_LIST_BYTES).limit(LIST_TIMEOUT));
        let list = list.run().await?.stdout;
        let (mut story, mut own) = (None, Vec::new());
        for line in list.split(|byte| *byte == b'\n').filter(|line| !known.contains(line)) {
            let line = String::from_utf8_lossy(line);
            let Some((tip, name)) = line.split_once(' ') else { continue };
            let (Ok(tip), Some(made)) = (Commit::new(tip), Branch::of_ref(name.as_bytes())) else {
                continue;
            };
            if made == *branch {
                story = Some(tip);
            } else if own.len() < MAX_OWN_BRANCHES {
                own.push(OwnBranch { branch: made, tip });
            }
        }
        Ok((story, own))
    }

    async fn fetch_if_missing(&self, inside: &Sandbox, wanted: &Commit) -> Result<(), GitError> {
        match self.git.check_commit(wanted).await {
            Ok(()) => Ok(()),
            Err(_) => self.fetch(inside, wanted).await,
        }
    }

    /// Takes in the objects of a commit. Each gets the name that its bytes have, whatever it was called inside.
    async fn fetch(&self, inside: &Sandbox, wanted: &Commit) -> Result<(), GitError> {
        let mut revisions = format!("{wanted}\n");
        let known = ["for-each-ref", "--format=^%(objectname)", "refs/heads/", "refs/remotes/"];
        let known = self.git.plain(&self.git.main()).args(known).run().await?.stdout;
        revisions.push_str(&String::from_utf8_lossy(&known));
        let pack = ["pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q"];
        let pack = self.inside(inside, &pack)?;
        let pack = pack.with(|call| call.limit(WRITE_CALL_TIMEOUT).input(revisions.clone()));
        let pack = pack.run().await?;
        let shadow = Shadow::of_objects(self.git).await?;
        let most = format!("--max-input-size={MAX_PACK_BYTES}");
        let take_in = ["index-pack", "--stdin", "--fix-thin", "--strict", &most];
        shadow.call().args(take_in).limit(WRITE_CALL_TIMEOUT).input(pack.stdout).run().await?;
        let whole = ["rev-list", "--objects", "--quiet", "--stdin"];
        shadow.call().args(whole).limit(WRITE_CALL_TIMEOUT).input(revisions).run().await?;
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
