//! Compares the folder, git's register and what the caller knows, after a crash.

use std::path::PathBuf;

use super::{SlotId, WorktreeError, WorktreeSlots};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Entries of git's register whose folders were gone; they were taken out.
    pub pruned: Vec<PathBuf>,
    /// Slots that the caller knows and that have no worktree.
    pub missing: Vec<SlotId>,
    /// Slots whose preparation was cut short; the same call again finishes it.
    pub half_made: Vec<SlotId>,
    /// Whatever else is in the folder. It is left alone.
    pub unknown: Vec<PathBuf>,
}

impl WorktreeSlots {
    /// Takes stale entries out of git's register and says what does not fit. No file is removed.
    pub async fn reconcile(&self, known: &[SlotId]) -> Result<Reconciled, WorktreeError> {
        let mut found = Reconciled::default();
        for entry in self.git.worktrees().await? {
            if entry.path.parent() == Some(&self.folder) && entry.missing {
                self.git.forget_worktree(&entry.path).await?;
                found.pruned.push(entry.path);
            }
        }
        for slot in known {
            match self.checkout(*slot) {
                Err(_) => found.missing.push(*slot),
                Ok(checkout) if self.git.is_half_made(&checkout) => found.half_made.push(*slot),
                Ok(_) => {}
            }
        }
        let known: Vec<PathBuf> = known.iter().map(|slot| self.path(*slot)).collect();
        let entries = std::fs::read_dir(&self.folder).map_err(WorktreeError::io(&self.folder))?;
        let paths = entries.flatten().map(|entry| entry.path());
        found.unknown = paths.filter(|path| !known.contains(path)).collect();
        found.unknown.sort();
        Ok(found)
    }
}
