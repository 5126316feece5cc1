//! Takes slots away, after their work has been kept.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{SlotId, WorktreeError, WorktreeSlots};
use crate::{GitError, RecoveryName, RecoveryRef};

/// How many folders may be set aside for one slot.
const ASIDE: u32 = 1000;

impl WorktreeSlots {
    /// Removes a slot with all its files, after its work was kept. The branch stays.
    pub async fn remove(
        &self,
        slot: SlotId,
        name: &RecoveryName,
    ) -> Result<Option<RecoveryRef>, WorktreeError> {
        let _hold = self.hold(slot).await?;
        let there = self.checkout(slot).is_ok();
        let kept = match there {
            true => self.keep_work(slot, name).await?,
            false => None,
        };
        match there {
            true => self.discard(slot).await?,
            // A folder that git does not know cannot be kept on a ref, so it is not removed either.
            false => self.set_aside(slot).await?,
        }
        Ok(kept)
    }

    /// Removes a slot whose work is kept.
    pub(super) async fn discard(&self, slot: SlotId) -> Result<(), WorktreeError> {
        let path = self.path(slot);
        remove_tree(path.clone()).await.map_err(WorktreeError::io(&path))?;
        Ok(self.git.forget_worktree(&path).await?)
    }

    /// Frees a slot's place without removing a file: whatever is there gets another name.
    pub(super) async fn set_aside(&self, slot: SlotId) -> Result<(), WorktreeError> {
        let path = self.path(slot);
        // An empty folder is what a death in the middle of `worktree add` leaves.
        if path.symlink_metadata().is_ok() && fs::remove_dir(&path).is_err() {
            let aside = (1..ASIDE)
                .map(|number| self.folder.join(format!("lost-{slot}-{number}")))
                .find(|aside| aside.symlink_metadata().is_err())
                .unwrap_or_else(|| path.with_extension("lost"));
            fs::rename(&path, aside).map_err(WorktreeError::io(&path))?;
        }
        Ok(self.git.forget_worktree(&path).await?)
    }

    /// The name for work that is on no branch.
    pub(super) fn slot_name(&self, slot: SlotId) -> Result<RecoveryName, WorktreeError> {
        Ok(RecoveryName::new(format!("slot-{slot}")).map_err(GitError::from)?)
    }
}

/// Removes a folder and everything in it; links are removed and never followed.
pub(crate) async fn remove_tree(path: PathBuf) -> io::Result<()> {
    let removing = tokio::task::spawn_blocking(move || match fs::remove_dir_all(&path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(&path);
            fs::remove_dir_all(&path)
        }
        done => done,
    });
    match removing.await.map_err(io::Error::other).and_then(|done| done) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Some tools write caches into folders that they then make read-only.
fn open_up(folder: &Path) {
    let Ok(about) = folder.symlink_metadata() else {
        return;
    };
    if !about.is_dir() {
        return;
    }
    let mode = about.permissions().mode() | 0o700;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}
