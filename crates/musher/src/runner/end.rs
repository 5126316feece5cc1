//! Ends one run through its runner's socket, or without the runner's help when it gives none.

use std::path::Path;
use std::time::Duration;

use musher_core::CommandId;
use tokio::time::Instant;

use super::closing::{Unclosed, close_dead, close_left};
use super::force::{self, EndDeadlines};
use super::link::{Link, LinkError};
use musher_log::Lock;
use musher_log::wire::{FromRunner, RunCommand};

/// How often a runner is looked at that does not answer.
const SILENT_RUNNER_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often one is looked at that may have been stopped by a signal.
const STOPPED_RUNNER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a runner that waits for room on its disk is spared beyond its time.
const FULL_DISK_GRACE: Duration = Duration::from_secs(10);

/// Why a runner did not do as it was told.
enum EndFailure {
    /// It may answer in a moment.
    Silent(String),
    /// It will not.
    Refused(String),
}

/// What is known of a runner that was told to end.
#[derive(Default)]
struct Heard {
    answered: bool,
    /// It waits for something outside of it, such as room on its disk.
    paused: bool,
    why: Option<String>,
}

/// Tells the runner in this folder to end, and returns when it is gone and its log has an end; the error says why not.
pub async fn end(folder: &Path, command: RunCommand) -> Result<(), String> {
    let Some(bounds) = EndDeadlines::of(&command) else {
        return Err("only a stop or a kill ends a run".to_owned());
    };
    let id = CommandId::parse(&format!("c{}", uuid::Uuid::now_v7().simple()))
        .map_err(|error| error.to_string())?;
    let mut heard = Heard::default();
    let began = Instant::now();
    let (mut rouse_at, mut killed, mut attempt) =
        (began + STOPPED_RUNNER_CHECK_INTERVAL, false, 0_u32);
    while is_alive(folder) {
        let until = if heard.answered { bounds.gone } else { bounds.answer };
        let until = began + if heard.paused { bounds.gone + FULL_DISK_GRACE } else { until };
        let now = Instant::now();
        if now >= until {
            if heard.paused {
                let why = heard.why.unwrap_or_else(|| "it waits for room on its disk".to_owned());
                return Err(format!("it did not end within {} s: {why}", (now - began).as_secs()));
            }
            let waited = (now - began).as_secs();
            let why = format!("it did not stop within {waited} s, so it was killed");
            kill(folder, &why).await?;
            killed = true;
            break;
        }
        if now >= rouse_at {
            rouse_at = now + STOPPED_RUNNER_CHECK_INTERVAL;
            let folder = folder.to_owned();
            // One that cannot be woken is killed when its time is up.
            let _asleep = tokio::task::spawn_blocking(move || force::wake(&folder)).await;
        }
        let told = tell(folder, &id, &command, &mut heard);
        attempt += 1;
        match tokio::time::timeout_at(until.min(rouse_at), told).await {
            Ok(Ok(())) | Err(_) => {}
            Ok(Err(EndFailure::Refused(refused))) => return Err(refused),
            Ok(Err(EndFailure::Silent(silent))) => {
                tracing::debug!(attempt, cause = silent, "runner does not answer, trying again");
                heard.why = Some(silent);
            }
        }
        tokio::time::sleep(SILENT_RUNNER_POLL_INTERVAL).await;
    }
    let folder = folder.to_owned();
    let closed = tokio::task::spawn_blocking(move || match killed {
        // Its runner held the lock in this very folder.
        true => close_dead(&folder, |_| true),
        false => close_left(&folder),
    });
    let closed = closed.await;
    match closed.map_err(|error| error.to_string())? {
        Ok(()) => Ok(()),
        Err(Unclosed::NotYet(why) | Unclosed::Broken(why)) => {
            Err(format!("it is gone, but its log has no end: {why}"))
        }
    }
}

async fn kill(folder: &Path, why: &str) -> Result<(), String> {
    let (folder, why) = (folder.to_owned(), why.to_owned());
    let killed = tokio::task::spawn_blocking(move || force::kill(&folder, &why)).await;
    killed.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Tells the runner once, and waits until it leaves.
async fn tell(
    folder: &Path,
    id: &CommandId,
    command: &RunCommand,
    heard: &mut Heard,
) -> Result<(), EndFailure> {
    let mut link = Link::open(folder).await.map_err(|error| match error {
        LinkError::Unreachable(..) => EndFailure::Silent(error.to_string()),
        LinkError::Stranger(_) => EndFailure::Refused(error.to_string()),
    })?;
    let silent = |error: std::io::Error| EndFailure::Silent(error.to_string());
    link.send(id.clone(), command.clone()).await.map_err(silent)?;
    // The socket closes when the runner leaves.
    while let Some(said) = link.next().await.map_err(silent)? {
        match said {
            FromRunner::Reply { id: replied, refused } if replied == *id => match refused {
                // Without the secret a run can still be ended, by force.
                Some(refused) if refused.code == "wrong_secret" => {
                    return Err(EndFailure::Silent(refused.message));
                }
                Some(refused) if refused.code != "run_ended" => {
                    return Err(EndFailure::Refused(refused.message));
                }
                Some(_) | None => heard.answered = true,
            },
            FromRunner::Paused { why } => {
                heard.paused = why.is_some();
                heard.why = why;
            }
            FromRunner::Hello { .. }
            | FromRunner::Reply { .. }
            | FromRunner::Tools { .. }
            | FromRunner::Delta(_)
            | FromRunner::Unknown => {}
        }
    }
    Ok(())
}

fn is_alive(folder: &Path) -> bool {
    Lock::is_held(folder).unwrap_or(false)
}
