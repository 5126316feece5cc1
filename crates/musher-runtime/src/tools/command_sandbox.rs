//! The sandbox that all commands of a run share: it is made once, and each command enters it.
//!
//! So a server that one command has left in the background answers the next, and no command is at work in the home while a
//! sandbox is being made of it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use musher_sandbox::{Sandbox, SandboxBackend};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::Mutex;

use crate::process::{
    Confinement, Containment, Errors, Launch, Process, ProcessorShare, ProgramError, RunMark, Said,
    StdinMode, Weights,
};

/// Makes the sandbox when it is first needed, and again should it have ended.
#[derive(Debug)]
pub(super) struct CommandSandbox {
    sandbox: Arc<Sandbox>,
    kept: Mutex<Option<KeptSandbox>>,
}

/// Where and as what a sandbox is made.
#[derive(Debug)]
pub(super) struct SandboxPlace {
    pub(super) folder: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) mark: RunMark,
    pub(super) containment: Containment,
}

#[derive(Debug)]
struct KeptSandbox {
    /// Its first process, which nothing inside can end.
    first: Arc<OwnedFd>,
    /// Dropped, it ends the sandbox.
    _holder: Process,
}

impl KeptSandbox {
    fn lives(&self) -> bool {
        let mut ended = [PollFd::new(&self.first, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }
}

impl CommandSandbox {
    pub(super) fn new(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox, kept: Mutex::default() }
    }

    /// The way in for a command; `place` is where the sandbox is made, should it have to be.
    pub(super) async fn enter(&self, place: SandboxPlace) -> Result<Confinement, ProgramError> {
        match self.sandbox.backend {
            SandboxBackend::Namespaces => {}
            // There is nothing to keep: rules are for each process and what it starts, and a container is made for each command.
            SandboxBackend::Landlock | SandboxBackend::Container(_) => {
                return Ok(Confinement::of(self.sandbox.clone()));
            }
        }
        let mut kept = self.kept.lock().await;
        let first = match kept.as_ref().filter(|kept| kept.lives()) {
            Some(kept) => kept.first.clone(),
            None => kept.insert(self.make(place).await?).first.clone(),
        };
        Ok(Confinement::guest(self.sandbox.clone(), first))
    }

    async fn make(&self, place: SandboxPlace) -> Result<KeptSandbox, ProgramError> {
        let path = self.sandbox.helper.clone();
        let mut holder = Process::start(Launch {
            program: path.clone(),
            args: Vec::new(),
            cwd: place.folder,
            env: place.env,
            mark: place.mark,
            containment: place.containment,
            stdin: StdinMode::Piped,
            stderr: Errors::Tail,
            weights: Weights::default(),
            tap: None,
            confinement: Some(Confinement::holder(self.sandbox.clone())),
            share: ProcessorShare::default(),
        })
        .await?;
        let failed = |source| ProgramError::Spawn { path: path.clone(), source };
        let why = match holder.next().await {
            Some(Said::Line(..)) => {
                let first = Arc::new(holder.first_inside().map_err(failed)?);
                return Ok(KeptSandbox { first, _holder: holder });
            }
            Some(Said::Ended(exit)) => exit.stderr_tail,
            None => String::new(),
        };
        Err(failed(std::io::Error::other(format!("the sandbox cannot be made: {}", why.trim()))))
    }

    /// Ends it, with all that is inside.
    pub(super) async fn end(&self) {
        drop(self.kept.lock().await.take());
    }
}
