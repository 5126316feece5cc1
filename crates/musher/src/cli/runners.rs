//! The runners of a state directory that are alive, server or not, and how to end them.

use std::path::PathBuf;
use std::time::Duration;

use musher_core::{CommandId, RunId};

use crate::home::Home;
use crate::runner::link::{Link, LinkError};
use crate::runner::log::Lock;
use crate::runner::spec::RunSpec;
use crate::runner::wire::RunCommand;

/// A stop takes up to 20 s, and a runner that is paused by a full disk a little longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a runner is looked at that does not answer.
const LOOK: Duration = Duration::from_millis(50);

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

/// Why a runner did not do as it was told.
enum Deaf {
    /// It may answer in a moment.
    Silent(String),
    /// It will not.
    Refused(String),
}

/// How a runner is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Stop,
    Kill,
}

impl Alive {
    /// Tells the runner to end and waits until it is gone; the error says why it is not.
    pub(crate) async fn end(&self, how: End) -> Result<(), String> {
        let command = match how {
            End::Stop => RunCommand::Stop,
            End::Kill => RunCommand::Kill,
        };
        let id = CommandId::parse(&format!("c{}", uuid::Uuid::now_v7().simple()))
            .map_err(|error| error.to_string())?;
        let mut why = "it does not answer".to_owned();
        let told = async {
            // A runner that begins or ends does not answer for a moment.
            while self.is_alive() {
                match self.tell(&id, &command).await {
                    Ok(()) => return self.gone().await,
                    Err(Deaf::Refused(refused)) => return Err(refused),
                    Err(Deaf::Silent(silent)) => why = silent,
                }
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        match tokio::time::timeout(PATIENCE, told).await {
            Ok(told) => told,
            Err(_) => Err(format!("it did not end within {} s: {why}", PATIENCE.as_secs())),
        }
    }

    /// Tells the runner once, and waits until it leaves.
    async fn tell(&self, id: &CommandId, command: &RunCommand) -> Result<(), Deaf> {
        let mut link = Link::open(&self.folder).await.map_err(|error| match error {
            LinkError::Unreachable(..) => Deaf::Silent(error.to_string()),
            LinkError::Stranger(_) => Deaf::Refused(error.to_string()),
        })?;
        match link.ask(id.clone(), command.clone()).await {
            Ok(Ok(())) => {}
            Ok(Err(refused)) if refused.code == "run_ended" => {}
            Ok(Err(refused)) => return Err(Deaf::Refused(refused.message)),
            Err(error) => return Err(Deaf::Silent(error.to_string())),
        }
        // The socket closes when the runner leaves.
        while let Ok(Some(_)) = link.next().await {}
        Ok(())
    }

    fn is_alive(&self) -> bool {
        Lock::is_held(&self.folder).unwrap_or(false)
    }

    /// Waits for the lock, which the kernel frees a moment after the socket.
    async fn gone(&self) -> Result<(), String> {
        while self.is_alive() {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}
