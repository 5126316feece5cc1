//! Closes the log of a runner that is gone, and ends what it has left.

use std::path::Path;

use musher_core::{ErrorClass, ErrorInfo, Lineage, SessionEnded};
use musher_runtime::{Environment, now_ms, sweep};
use musher_sandbox::SandboxBackend;
use tracing::warn;

use super::launch;
use super::spec::RunSpec;
use crate::runtimes;
use musher_log::{Lock, LockError, Lost, close_lost, outcome};

/// Why a log was not closed.
#[derive(Debug)]
pub enum Unclosed {
    /// The runner lives after all, or the disk is full.
    NotYet(String),
    /// It is gone, or it cannot be read or written.
    Broken(String),
}

/// Ends the processes of the run in this folder and writes the end of its log, if its runner is gone. The processes of a run
/// that is not ours are left alone. It blocks.
pub fn close_dead(folder: &Path, ours: impl Fn(&RunSpec) -> bool) -> Result<(), Unclosed> {
    let lock = Lock::take(folder).map_err(|error| match error {
        LockError::Held { .. } => Unclosed::NotYet(error.to_string()),
        LockError::Io { .. } => Unclosed::Broken(error.to_string()),
    })?;
    let mut message = match launch::last_words(folder) {
        Some(words) => format!("the runner died before the run ended; it said: {words}"),
        None => "the runner died before the run ended".to_owned(),
    };
    let (mut lineage, mut asks_a_model) = (Lineage::default(), true);
    if let Ok(spec) = RunSpec::read(folder) {
        let left = match ours(&spec) {
            true => end_left(&spec),
            false => {
                message = "it is a run of the state directory from which this one was taken; its agent was left alone"
                    .to_owned();
                Vec::new()
            }
        };
        // A runtime that this build does not know may ask one.
        asks_a_model =
            runtimes::choose(&spec.runtime, spec.preset.as_ref(), &Environment::default())
                .map_or(true, |runtime| runtime.asks_a_model());
        lineage = spec.resume.map(|resume| resume.lineage).unwrap_or_default();
        if !left.is_empty() {
            message = format!("{message}, and processes {left:?} could not be ended");
        }
    }
    let reason = ErrorInfo::new(ErrorClass::ProcessExit, message);
    let lost = Lost { reason, now_ms: now_ms(), lineage, asks_a_model };
    close_lost(lock, lost).map(|_| ()).map_err(|error| match error.is_full() {
        true => Unclosed::NotYet(error.to_string()),
        false => Unclosed::Broken(error.to_string()),
    })
}

/// The same for a runner that left by itself, as most do: one that has recorded the outcome has closed its log.
pub fn close_left(folder: &Path) -> Result<(), Unclosed> {
    let recorded = outcome::read::<SessionEnded>(folder);
    if !matches!(recorded, Ok(Some(_))) {
        return close_dead(folder, |_| true);
    }
    match RunSpec::read(folder).map(|spec| end_left(&spec)) {
        Ok(left) if !left.is_empty() => {
            Err(Unclosed::Broken(format!("processes {left:?} could not be ended")))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Ends what is left of a run: its containers, which an engine would keep, and its processes. The engine goes first, because it waits in
/// vain for what others have killed.
fn end_left(spec: &RunSpec) -> Vec<i32> {
    remove_containers(spec);
    let left = sweep(&spec.mark, spec.group.as_deref());
    // A client of the engine that was about to make one has been ended only now.
    remove_containers(spec);
    left
}

fn remove_containers(spec: &RunSpec) {
    if let Some(SandboxBackend::Container(container)) =
        spec.sandbox.as_ref().map(|sandbox| &sandbox.backend)
        && let Err(error) = container.remove(&spec.mark)
    {
        warn!(run = %spec.run, cause = %error, "containers of a run may be left");
    }
}
