//! The runners of a state directory that are alive, server or not, and how to end them.

use std::path::PathBuf;

use musher_core::RunId;

use crate::home::Home;
use crate::runner::end;
use crate::runner::spec::RunSpec;
use musher_log::Lock;
use musher_log::wire::RunCommand;

/// A runner that is alive.
#[derive(Debug)]
pub(crate) struct Alive {
    pub(crate) run: RunId,
    pub(crate) folder: PathBuf,
    /// Absent when it cannot be read; the runner is alive all the same.
    pub(crate) spec: Option<RunSpec>,
}

/// Every runner that holds the lock of its run, the oldest run first.
pub(crate) fn alive(home: &Home) -> Vec<Alive> {
    let entries = std::fs::read_dir(home.runs()).into_iter().flatten().flatten();
    let mut found: Vec<Alive> = entries
        .filter_map(|entry| {
            let run = RunId::parse(entry.file_name().to_str()?).ok()?;
            let folder = entry.path();
            let held = Lock::is_held(&folder).unwrap_or(false);
            held.then(|| Alive { run, spec: RunSpec::read(&folder).ok(), folder })
        })
        .collect();
    found.sort_by_key(|alive| alive.run);
    found
}

/// How a runner is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunnerStop {
    Stop,
    Kill,
}

impl Alive {
    /// Tells the runner to end and waits until it is gone; the error says why it is not.
    pub(crate) async fn end(&self, how: RunnerStop) -> Result<(), String> {
        let command = match how {
            RunnerStop::Stop => RunCommand::Stop,
            RunnerStop::Kill => RunCommand::Kill,
        };
        end::end(&self.folder, command).await
    }
}
