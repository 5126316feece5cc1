//! Runs that the journal does not know, because it has lost its end or is another one: their agents are stopped, and named.

use std::path::PathBuf;

use futures_util::future::join_all;
use musher_core::{RunId, SessionEnded};

use crate::home::Home;
use crate::journal::{Journal, JournalError, JournalFindings, Owner};
use crate::runner::closing::{Unclosed, close_dead};
use crate::runner::end;
use crate::runner::spec::RunSpec;
use musher_log::wire::RunCommand;
use musher_log::{Lock, outcome};

/// How many runs are named one by one.
const NAMED: usize = 20;

/// The folder of a run that is not in the journal.
struct Stray {
    run: RunId,
    folder: PathBuf,
}

/// Ends what is not in the journal, sees to it that none of its numbers is given again, and tells of all of it in words.
pub(super) async fn settle(
    home: &Home,
    journal: &mut Journal,
) -> Result<Vec<String>, JournalError> {
    let known = journal.newest_run()?;
    let strays = beyond(home, known);
    journal.skip_runs(strays.last().map_or(0, |stray| stray.run.number()));
    let mut notices = in_words(home, journal.findings());
    let owner = journal.owner();
    let told = join_all(strays.iter().map(|stray| stray.end(owner))).await;
    let more = told.len().saturating_sub(NAMED);
    notices.extend(told.into_iter().take(NAMED));
    if more > 0 {
        notices.push(format!("{more} more runs are not in the journal; their folders are kept."));
    }
    Ok(notices)
}

/// The folders of runs with higher numbers than the journal has given, in order.
fn beyond(home: &Home, known: u64) -> Vec<Stray> {
    let entries = std::fs::read_dir(home.runs()).into_iter().flatten().flatten();
    let mut strays: Vec<Stray> = entries
        .filter_map(|entry| {
            let run = RunId::parse(entry.file_name().to_str()?).ok()?;
            (run.number() > known).then(|| Stray { run, folder: entry.path() })
        })
        .collect();
    strays.sort_by_key(|stray| stray.run);
    strays
}

impl Stray {
    /// Stops its agent, if it is at work and ours, and closes its log.
    async fn end(&self, owner: &Owner) -> String {
        let Self { run, folder } = self;
        let spec = RunSpec::read(folder).ok();
        let who = match &spec {
            Some(spec) => format!("Run {run} (story {}, agent {})", spec.story, spec.agent),
            None => format!("Run {run}"),
        };
        let rest = format!("Its log is in {}", folder.display());
        let ours = spec.as_ref().is_none_or(|spec| owner.owns(spec.journal.as_deref()));
        if !ours {
            return format!("{who} belongs to another journal, and was left alone. {rest}.");
        }
        let alive = Lock::is_held(folder).unwrap_or(false);
        let rest = match &spec {
            Some(spec) => format!("{rest}, its work in {}", spec.cwd.display()),
            None => rest,
        };
        if alive {
            return match end::end(folder, RunCommand::Stop).await {
                Ok(()) => format!(
                    "{who} is not in the journal; its agent was at work and was stopped. {rest}."
                ),
                Err(why) => format!(
                    "{who} is not in the journal, and its agent could not be stopped: {why}. {rest}."
                ),
            };
        }
        if !matches!(outcome::read::<SessionEnded>(folder), Ok(Some(_))) {
            let folder = folder.clone();
            let closed = tokio::task::spawn_blocking(move || close_dead(&folder, |_| true)).await;
            // It can still be read, and nobody waits for its end.
            if let Ok(Err(Unclosed::NotYet(cause) | Unclosed::Broken(cause))) = closed {
                tracing::warn!(run.id = %run, cause, "run log could not be closed, given up");
            }
        }
        format!("{who} is not in the journal. {rest}.")
    }
}

fn in_words(home: &Home, findings: &JournalFindings) -> Vec<String> {
    let JournalFindings { lost, replaced, moved } = findings;
    let journal = home.journal();
    let mut notices = Vec::new();
    if let Some((first, last)) = lost {
        notices.push(format!(
            "{} has lost its end: facts {first} to {last} were acknowledged and are gone. Put back a newer copy of it, or go \
             on without them; no number is given again.",
            journal.display()
        ));
    }
    if *replaced {
        notices.push(format!(
            "{} is not the journal that was here before. No number that was given is given again.",
            journal.display()
        ));
    }
    if *moved {
        notices.push(format!(
            "{} was taken over under a new id. Runs of the state directory that it comes from are ended here, and no agent of \
             theirs was touched.",
            home.path().display()
        ));
    }
    notices
}
