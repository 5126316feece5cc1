//! What of the repository itself an agent is given where no folder can stand in for it.

use std::fs;
use std::path::Path;

use musher_os::untrusted;
use musher_sandbox::Mount;

use super::Enclosed;
use crate::CheckoutHead;
use crate::error::GitError;

impl Enclosed<'_> {
    /// The places that a commit on the story's branch needs. A branch is written by making a file beside it, so what can be given is
    /// the folder that it is in, with the other attempts at the same story.
    pub(crate) async fn places_in_repository(&self) -> Result<Vec<Mount>, GitError> {
        self.refuse_unfit().await?;
        let CheckoutHead::On { branch, .. } = self.git.head(self.checkout).await? else {
            return Err(GitError::Unenclosable { why: "its worktree is on no branch" });
        };
        let full = branch.full();
        let folder = Path::new(&full).parent().filter(|folder| *folder != Path::new("refs/heads"));
        let Some(folder) = folder else {
            return Err(GitError::Unenclosable { why: "the branch is in no folder of its own" });
        };
        let common = &self.git.inner.common;
        let mut places = vec![
            Mount::write(self.checkout.root()),
            Mount::read(common),
            Mount::write(common.join("objects")),
            Mount::write(self.checkout.git_dir()),
        ];
        for folder in [common.join(folder), common.join("logs").join(folder)] {
            // Git takes away what is empty, and nothing that is not there can be given.
            fs::create_dir_all(&folder).map_err(GitError::io(&folder))?;
            places.push(Mount::write(folder));
        }
        Ok(places)
    }

    /// Says in a home who commits, unless the agent has said something else there.
    pub(crate) async fn introduce(&self, home: &Path) -> Result<(), GitError> {
        let path = home.join(".gitconfig");
        if untrusted::kind(&path)?.is_some() {
            return Ok(());
        }
        untrusted::replace(&path, &self.committer().await).map_err(GitError::io(path))
    }
}
