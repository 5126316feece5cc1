//! Where a script stands, kept on disk so that it can be resumed and forked.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use musher_core::SessionId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How far a session has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ScriptProgress {
    /// The next step.
    pub(super) step: usize,
    /// The step before it was begun, and has not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) open: bool,
    /// What was saved under a name.
    pub(super) saved: BTreeMap<String, String>,
    /// The script itself: a session goes on with the steps it was begun with.
    pub(super) script: String,
}

/// What a progress must outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The end of this process.
    Cheaply,
    /// A loss of power too, for what follows changes the world.
    ForGood,
}

/// Why a session cannot be gone on with.
pub(super) enum ScriptSessionError {
    Unknown,
    Damaged(String),
}

/// The folder of sessions, if they are kept at all.
#[derive(Debug)]
pub(super) struct ScriptSessions {
    folder: Option<PathBuf>,
}

impl ScriptSessions {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Whether sessions are kept at all.
    pub(super) fn are_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// The progress of a session.
    pub(super) fn load(&self, session: &SessionId) -> Result<ScriptProgress, ScriptSessionError> {
        let path = self.path(session).ok_or(ScriptSessionError::Unknown)?;
        let bytes = std::fs::read(&path).map_err(|_| ScriptSessionError::Unknown)?;
        let damaged = |error| {
            ScriptSessionError::Damaged(format!("`{}` is damaged: {error}", path.display()))
        };
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// Keeps the progress: whole or not at all.
    pub(super) fn save(
        &self,
        session: &SessionId,
        progress: &ScriptProgress,
        keep: Keep,
    ) -> std::io::Result<()> {
        let Some(path) = self.path(session) else {
            return Ok(());
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let fresh = path.with_extension("new");
        let mut file = std::fs::File::create(&fresh)?;
        file.write_all(&serde_json::to_vec(progress)?)?;
        if keep == Keep::ForGood {
            file.sync_all()?;
        }
        std::fs::rename(fresh, &path)?;
        match keep {
            Keep::ForGood => std::fs::File::open(folder)?.sync_all(),
            Keep::Cheaply => Ok(()),
        }
    }

    /// Only what looks like an id of ours becomes a file name.
    fn path(&self, session: &SessionId) -> Option<PathBuf> {
        let id = Uuid::parse_str(session.as_str()).ok()?;
        Some(self.folder.as_ref()?.join(format!("{id}.json")))
    }
}
