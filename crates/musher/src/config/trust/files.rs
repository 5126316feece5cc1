//! What a person has agreed to of the files in the repository that an agent's program would execute.
//!
//! It is kept beside what was agreed to of the project file. Several states are kept, because the branches of stories
//! left the project's own at different times.

use std::path::Path;

use musher_os::untrusted;
use musher_runtime::Snapshot;
use serde::{Deserialize, Serialize};

use super::super::file::write_private;
use super::TrustError;

/// The file in the state directory that holds what was accepted.
const FILE: &str = "trusted-files.json";
/// It is never longer.
const MAX_ACCEPTED_FILE_BYTES: u64 = 256 << 20;
/// Older states are forgotten; whoever still needs one agrees again.
const MAX_ACCEPTED_STATES: usize = 32;

/// What was accepted, the latest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptedFiles {
    pub states: Vec<Snapshot>,
}

impl AcceptedFiles {
    /// What was accepted so far; nothing if nobody ever was asked.
    pub fn read(state_dir: &Path) -> Result<Self, TrustError> {
        let path = state_dir.join(FILE);
        match untrusted::read_if_there(&path, MAX_ACCEPTED_FILE_BYTES) {
            Ok(Some(bytes)) => {
                serde_json::from_slice(&bytes).map_err(|cause| TrustError::Garbled { path, cause })
            }
            Ok(None) => Ok(Self::default()),
            Err(unfit) => Err(TrustError::Read { path, cause: unfit.into_io() }),
        }
    }

    /// Whether these files need nobody's consent any more.
    pub fn covers(&self, now: &Snapshot) -> bool {
        now.is_empty() || self.states.iter().any(|state| state.is_same(now))
    }

    /// What was accepted last.
    pub fn last(&self) -> Snapshot {
        self.states.last().cloned().unwrap_or_default()
    }

    /// Accepts these files as well.
    pub fn grant(mut self, state_dir: &Path, now: &Snapshot) -> Result<(), TrustError> {
        self.states.retain(|state| !state.is_same(now));
        self.states.push(now.clone());
        let surplus = self.states.len().saturating_sub(MAX_ACCEPTED_STATES);
        self.states.drain(..surplus);
        let path = state_dir.join(FILE);
        // Every value here has a JSON form.
        let text = serde_json::to_vec_pretty(&self).unwrap_or_default();
        write_private(&path, &text).map_err(|cause| TrustError::Write { path: path.clone(), cause })
    }
}
