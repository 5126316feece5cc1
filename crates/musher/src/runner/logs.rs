//! Where the logs of runs are: whoever reads one outside of its runner opens it here, by run and cursor.

use std::path::PathBuf;

use musher_core::{RawRef, RunId};
use musher_log::{Cursor, LogError, LogReader, last_written, raw};

use super::spec::{RunSpec, SpecError};

/// The logs of all runs. It alone knows in which folder each is.
#[derive(Debug, Clone)]
pub struct RunLogs {
    runs: PathBuf,
}

impl RunLogs {
    /// The logs below this folder.
    pub fn new(runs: PathBuf) -> Self {
        Self { runs }
    }

    /// The log of a run after a cursor, or from its beginning. It blocks, as everything here.
    pub fn open(&self, run: RunId, after: Option<Cursor>) -> Result<LogReader, LogError> {
        LogReader::open(&self.folder(run), after)
    }

    /// The last events of a log.
    pub fn open_last(&self, run: RunId, count: u64) -> Result<LogReader, LogError> {
        LogReader::open_last(&self.folder(run), count)
    }

    /// What the agent's program printed; nothing of a run that has no log.
    pub fn raw(&self, run: RunId, wanted: RawRef) -> Result<Vec<u8>, LogError> {
        let folder = self.folder(run);
        if folder.is_dir() { raw::read(&folder, wanted) } else { Ok(Vec::new()) }
    }

    /// When a log was last written, in Unix milliseconds.
    pub fn last_written(&self, run: RunId) -> Option<i64> {
        last_written(&self.folder(run))
    }

    /// What the runner was told when it began.
    pub fn spec(&self, run: RunId) -> Result<RunSpec, SpecError> {
        RunSpec::read(&self.folder(run))
    }

    /// The folder of a run, for those who write in it.
    pub(crate) fn folder(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string())
    }
}
