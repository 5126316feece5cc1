//! Whose the folder of a run is: one that was begun by another run is never taken for this one's.

use musher_core::{ErrorClass, ErrorInfo, RunId};
use uuid::Uuid;

use super::SupervisorContext;
use crate::runner::spec::RunSpec;
use musher_log::{Lock, is_begun};

/// How much of the journal's id is in the mark of a process; the rest of the mark is the run's own.
const JOURNAL: usize = 16;

impl SupervisorContext {
    /// What every process of a run carries. It names the journal and the run, so that no sweep ever means another's.
    pub(super) fn mark(&self, nonce: Option<&str>) -> String {
        let journal: String = self.owner.journal.chars().take(JOURNAL).collect();
        match nonce {
            Some(nonce) => format!("{journal}-{nonce}"),
            None => format!("{journal}-{}", Uuid::new_v4().simple()),
        }
    }

    /// Puts the folder of another run aside that has this run's number, as a journal can leave it that was put back.
    pub(super) fn make_way(&self, run: RunId, nonce: Option<&str>) -> Result<(), ErrorInfo> {
        let folder = self.home.run(run);
        let ours = match RunSpec::read(&folder) {
            Ok(spec) => {
                self.owner.owns(spec.journal.as_deref()) && same(spec.nonce.as_deref(), nonce)
            }
            // Nobody knows whose a log is whose spec is gone.
            Err(_) => !is_begun(&folder),
        };
        if ours || !folder.exists() {
            return Ok(());
        }
        if Lock::is_held(&folder).unwrap_or(false) {
            let message = format!("another run is at work in {}", folder.display());
            let hint = "start it again; the next number is free";
            return Err(ErrorInfo::new(ErrorClass::Unavailable, message).with_hint(hint));
        }
        let aside = folder.with_file_name(format!("{run}.of-another-{}", Uuid::new_v4().simple()));
        let put = std::fs::rename(&folder, &aside);
        put.map_err(|error| {
            let message =
                format!("{} is of another run and cannot be moved: {error}", folder.display());
            ErrorInfo::new(ErrorClass::Unavailable, message)
        })?;
        let text = format!(
            "The folder of another run was in the place of {run}; it was moved to {}.",
            aside.display()
        );
        tracing::warn!(run.id = %run, notice = text, "notice");
        if let Err(error) = self.home.tell(musher_runtime::now_ms(), &[text]) {
            tracing::warn!(run.id = %run, cause = %error, "notice could not be kept");
        }
        Ok(())
    }
}

/// Whether two runs of the same number are one. Builds before the nonce left none.
fn same(found: Option<&str>, ours: Option<&str>) -> bool {
    match (found, ours) {
        (Some(found), Some(ours)) => found == ours,
        (None, _) | (_, None) => true,
    }
}
