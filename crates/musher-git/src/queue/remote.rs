//! Lands on a branch of a remote: the same looks as on a local one, and a push that can only move the branch forward.
//!
//! A lease makes sure that the branch is where it was when it was looked at, but with a lease git also forces. So a push
//! is made only after our own proof that the old commit is on the first-parent line of the new one. What happened is read
//! from the remote and never from what the push said: an answer can be lost after it was accepted.

mod address;

pub use self::address::RemoteAddress;
use super::{LandOutcome, LandRefusal, Landing};
use crate::call::WRITE_CALL_TIMEOUT;
use crate::name::{BadName, Branch, Commit};
use crate::refs::Expected;
use crate::shadow::Shadow;
use crate::{Git, GitError};

/// Where a stand-in puts what it fetched.
const FETCHED: &str = "refs/musher/fetched";

/// A branch of a remote that things land on. The address is the one that a person has agreed to: the settings of the
/// repository can be written by an agent, and a push to a repository of an agent's own would run its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBase {
    remote: String,
    branch: Branch,
    address: RemoteAddress,
}

impl RemoteBase {
    /// The branch of a remote, such as `origin` and `main`, at an address that was agreed to.
    pub fn new(remote: &str, branch: &Branch, address: RemoteAddress) -> Result<Self, BadName> {
        // The remote becomes part of a reference.
        Branch::new(format!("{remote}/{branch}"))?;
        Ok(Self { remote: remote.to_owned(), branch: branch.clone(), address })
    }

    pub fn branch(&self) -> &Branch {
        &self.branch
    }

    pub fn address(&self) -> &RemoteAddress {
        &self.address
    }

    /// The reference that follows the branch here.
    pub fn tracking_ref(&self) -> String {
        format!("refs/remotes/{}/{}", self.remote, self.branch)
    }
}

/// How a push ended, as far as it says.
enum Pushed {
    Accepted,
    /// The remote or the lease refused it, with these words.
    Rejected {
        said: String,
    },
    /// It is not known whether the remote took it.
    Failed(GitError),
}

impl Git {
    /// The address that the repository had for a remote when it was opened, for a person to agree to. It must be a place
    /// and no command.
    pub fn remote_address(&self, remote: &str) -> Result<RemoteAddress, GitError> {
        let value = |name: &str| {
            let key = format!("remote.{remote}.{name}");
            self.inner.settings.iter().find_map(|setting| setting.value_of(key.as_bytes()))
        };
        let path = || self.root().to_owned();
        let missing = || GitError::NoRemote { remote: remote.to_owned(), path: path() };
        let found = value("pushurl").or_else(|| value("url")).ok_or_else(missing)?;
        let text = String::from_utf8_lossy(found);
        RemoteAddress::new(&text).ok_or_else(|| GitError::BadAddress { remote: remote.to_owned() })
    }

    /// Fetches the branch of a remote, and tells where it is. The reference that follows it here is moved along.
    pub async fn fetch_base(&self, base: &RemoteBase) -> Result<Commit, GitError> {
        self.check_queue().await?;
        let shadow = Shadow::of_objects(self).await?;
        // What is here already is not fetched again.
        shadow.write("packed-refs", &self.known_refs().await?)?;
        // The user's own settings say how a remote is reached, and not what is done besides.
        let call = shadow.online_call().setting("fetch.writeCommitGraph=false");
        let call = call.setting("fetch.prune=false").setting("fetch.pruneTags=false");
        let call = call.args(["fetch", "--quiet", "--no-tags", "--refmap="]);
        let call = call.args(["--no-write-fetch-head", "--no-recurse-submodules"]);
        let call = call.args(["--no-auto-maintenance", base.address.as_str()]);
        let call = call.arg(format!("+{}:{FETCHED}", base.branch.full()));
        call.limit(WRITE_CALL_TIMEOUT).run().await.map_err(|error| base.failed(error))?;
        let tip = shadow.call().args(["rev-parse", "--verify", FETCHED]).line().await?;
        let tip = Commit::new(tip)?;
        self.follow_remote(base, &tip).await?;
        Ok(tip)
    }

    /// Moves the branch of a remote from the base to the tested commit, by a push with a lease. The same call after a
    /// lost answer tells that it was done. The local branch is left to [`Git::fast_forward`].
    pub async fn land_remote(
        &self,
        remote: &RemoteBase,
        landing: &Landing,
    ) -> Result<LandOutcome, GitError> {
        self.check_commit(&landing.commit).await?;
        let Landing { base, commit, .. } = landing;
        let tip = self.fetch_base(remote).await?;
        if self.contains(&tip, commit).await? {
            return Ok(LandOutcome::AlreadyLanded { tip });
        }
        if tip != *base {
            return Ok(LandOutcome::BaseMoved { tip });
        }
        if let Some(refusal) = self.unfit_to_land(landing).await? {
            return Ok(LandOutcome::Refused(refusal));
        }
        let pushed = self.push(remote, base, commit).await?;
        let now = self.remote_tip(remote).await?;
        if now.as_ref() == Some(commit) {
            self.follow_remote(remote, commit).await?;
            return Ok(LandOutcome::Landed);
        }
        if now.as_ref() == Some(base) {
            return match pushed {
                Pushed::Rejected { said } => {
                    Ok(LandOutcome::Refused(LandRefusal::Rejected { said }))
                }
                Pushed::Failed(error) => Err(error),
                Pushed::Accepted => Err(GitError::Unverified {
                    branch: remote.branch.clone(),
                    tip: commit.clone(),
                    why: format!("{} still has the old commit", remote.address.shown()),
                }),
            };
        }
        // Somebody else was there: before us, or on top of what we pushed.
        let tip = self.fetch_base(remote).await?;
        Ok(match self.contains(&tip, commit).await? {
            true => LandOutcome::Landed,
            false => LandOutcome::BaseMoved { tip },
        })
    }

    /// Pushes a commit to a branch that must be at `old`. The caller has seen that `old` is an ancestor of it.
    async fn push(
        &self,
        remote: &RemoteBase,
        old: &Commit,
        new: &Commit,
    ) -> Result<Pushed, GitError> {
        let full = remote.branch.full();
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.online_call().args(["push", "--porcelain", "--no-verify", "--no-signed"]);
        let call = call.args(["--no-follow-tags", "--recurse-submodules=no"]);
        let call = call.arg(format!("--force-with-lease={full}:{old}"));
        let call = call.args([remote.address.as_str(), &format!("{new}:{full}")]);
        match call.limit(WRITE_CALL_TIMEOUT).fine(&[0, 1]).run().await {
            Ok(output) if output.code == 0 => Ok(Pushed::Accepted),
            Ok(output) => {
                let said = remote.address.without_secrets(&output.stderr);
                match rejected(&output.stdout, &said) {
                    Some(said) => Ok(Pushed::Rejected { said }),
                    None => {
                        let address = remote.address.shown();
                        Ok(Pushed::Failed(GitError::Remote { address, said }))
                    }
                }
            }
            Err(error @ (GitError::Failed { .. } | GitError::TimedOut { .. })) => {
                Ok(Pushed::Failed(remote.failed(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Where the branch of a remote is, if it is there.
    async fn remote_tip(&self, remote: &RemoteBase) -> Result<Option<Commit>, GitError> {
        let full = remote.branch.full();
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.online_call().args(["ls-remote", "--quiet", "--refs"]);
        let call = call.args([remote.address.as_str(), &full]).limit(WRITE_CALL_TIMEOUT);
        let list = call.run().await.map_err(|error| remote.failed(error))?.stdout;
        let list = String::from_utf8_lossy(&list);
        // Names that only end like this one are listed too.
        let mut named = list.lines().filter_map(|line| line.split_once('\t'));
        Ok(named.find(|(_, name)| *name == full).and_then(|(id, _)| Commit::new(id).ok()))
    }

    /// Moves the reference that follows the branch of a remote here, as git's own fetch does.
    async fn follow_remote(&self, remote: &RemoteBase, tip: &Commit) -> Result<(), GitError> {
        let (full, why) = (remote.tracking_ref(), "musher: fetch");
        if self.find(&full).await?.as_ref() == Some(tip) {
            return Ok(());
        }
        self.move_ref(&self.main(), &full, tip, Expected::Anything, why).await
    }

    /// The references of the repository, as git packs them.
    async fn known_refs(&self) -> Result<Vec<u8>, GitError> {
        let list = ["for-each-ref", "--sort=refname", "--format=%(objectname) %(refname)"];
        let call = self.plain(&self.main()).args(list).args(["refs/heads/", "refs/remotes/"]);
        let list = call.run().await?.stdout;
        Ok([b"# pack-refs with: sorted \n", &list[..]].concat())
    }
}

impl RemoteBase {
    /// A failure in words that name the remote and hold no password.
    fn failed(&self, error: GitError) -> GitError {
        let address = self.address.shown();
        let GitError::Failed { said, .. } = error else { return error };
        if said.contains("couldn't find remote ref") {
            return GitError::NoRemoteBranch { branch: self.branch.clone(), address };
        }
        GitError::Remote { address, said: self.address.without_secrets(&said) }
    }
}

/// The words with which a push was refused, if it was the remote or the lease that did.
fn rejected(stdout: &[u8], said: &str) -> Option<String> {
    let stdout = String::from_utf8_lossy(stdout);
    let line = stdout.lines().find(|line| line.starts_with('!'))?;
    let reason = line.rsplit('\t').next().unwrap_or(line);
    if !reason.starts_with("[remote rejected]") && !reason.starts_with("[rejected]") {
        return None;
    }
    let words = said.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim);
    let words = words.filter(|line| !line.is_empty()).chain([reason]);
    Some(words.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_remote_are_told_with_the_reason() {
        let stdout = b"To x\n!\ta:refs/heads/main\t[remote rejected] (hook declined)\nDone\n";
        let said = "remote: GH006: Protected branch.        \nremote: \nerror: failed to push\n";
        let told = rejected(stdout, said).unwrap();
        assert_eq!(told, "GH006: Protected branch.\n[remote rejected] (hook declined)");
        assert_eq!(rejected(b"!\ta:b\t[remote failure] (x)\n", ""), None);
        assert_eq!(rejected(b"", "fatal: unable to access"), None);
    }
}
