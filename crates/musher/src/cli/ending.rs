//! Ends runs: through the server when there is one, else through the runs' own sockets.

use std::time::Duration;

use clap::Args;
use futures_util::{StreamExt, stream};
use musher_core::SessionEnded;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::run_name::RunNameArg;
use super::runners::{self, Alive, RunnerStop};
use super::{CliError, CliExit, out, tell};
use musher_client::api::{ApiReceipt, ApiRun, Runs};
use musher_client::{Client, ClientError};
use musher_log::outcome;

/// How many runs are told at the same time.
const MAX_PARALLEL_STOPS: usize = 16;
/// How often a run is looked at whose log has ended.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A stop takes up to 20 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Which runs are to end.
#[derive(Debug, Args)]
pub(crate) struct EndArgs {
    /// The runs: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    #[arg(value_name = "RUN", required_unless_present = "all")]
    runs: Vec<RunNameArg>,
    /// All active runs.
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    /// Do not wait until they have ended.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// What became of one run.
struct Ended {
    run: String,
    how: Result<Ending, CliError>,
}

enum Ending {
    /// It is over; the outcome is told if it is known.
    Over(Option<String>),
    /// It has heard of it.
    Told,
    /// Its runner does not answer yet.
    Pending,
}

/// Ends the runs and tells of each what became of it.
pub(crate) async fn end(args: EndArgs, how: RunnerStop) -> Result<CliExit, CliError> {
    let place = args.place.clone().place();
    let ended = match place.client_that_answers().await? {
        Some(client) => through_server(&client, &args, how).await?,
        None => through_sockets(&place, &args, how).await?,
    };
    if ended.is_empty() && !place.json() {
        out::line("No active runs.")?;
    }
    let many = ended.len() > 1;
    let mut exit = CliExit::Completed;
    for Ended { run, how: ended } in ended {
        if place.json() {
            out::document(&document(&run, &ended))?;
        }
        match ended {
            Ok(ending) if !place.json() => out::prose(&in_words(&run, how, &ending))?,
            Ok(_) => {}
            Err(error) => {
                if many {
                    tell(&format!("{run}:"));
                }
                error.print();
                exit = error.exit();
            }
        }
    }
    Ok(exit)
}

fn document(run: &str, ended: &Result<Ending, CliError>) -> String {
    let document = match ended {
        Ok(Ending::Over(outcome)) => json!({ "run": run, "status": "over", "outcome": outcome }),
        Ok(Ending::Told) => json!({ "run": run, "status": "sent" }),
        Ok(Ending::Pending) => json!({ "run": run, "status": "pending" }),
        Err(error) => json!({ "run": run, "status": "failed", "error": error.to_string() }),
    };
    document.to_string()
}

fn in_words(run: &str, how: RunnerStop, ending: &Ending) -> String {
    match (ending, how) {
        (Ending::Over(Some(outcome)), _) => format!("{run} has ended: {outcome}"),
        (Ending::Over(None), _) => format!("{run} has ended"),
        (Ending::Told, RunnerStop::Stop) => format!("{run} is stopping"),
        (Ending::Told, RunnerStop::Kill) => format!("{run} is being killed"),
        (Ending::Pending, _) => format!("{run} ends as soon as its runner answers again"),
    }
}

async fn through_server(
    client: &Client,
    args: &EndArgs,
    how: RunnerStop,
) -> Result<Vec<Ended>, CliError> {
    let names: Vec<(String, String)> = match args.all {
        true => {
            let live: Runs = client.read(&["runs"], &[("state", "live")]).await?;
            live.runs.into_iter().map(|run| (run.id.clone(), run.id)).collect()
        }
        false => args.runs.iter().map(|run| (run.to_string(), run.wire())).collect(),
    };
    let told = stream::iter(names).map(|(run, wire)| async move {
        let how = end_one(client, &wire, how, args.no_wait).await.map_err(CliError::from);
        Ended { run, how }
    });
    Ok(told.buffered(MAX_PARALLEL_STOPS).collect().await)
}

async fn end_one(
    client: &Client,
    name: &str,
    how: RunnerStop,
    no_wait: bool,
) -> Result<Ending, ClientError> {
    let verb = match how {
        RunnerStop::Stop => "stop",
        RunnerStop::Kill => "kill",
    };
    // The name is settled first: by the end it might stand for another run.
    let run: ApiRun = client.read(&["runs", name], &[]).await?;
    if run.is_over() {
        return Ok(over(run));
    }
    let sent = client.post(&["runs", &run.id, verb], &json!({})).await;
    let receipt: ApiReceipt = match sent {
        Ok(reply) => reply.read()?,
        Err(error) => {
            // It may have ended by itself in the meantime, which is as good.
            let run: ApiRun = client.read(&["runs", &run.id], &[]).await?;
            return if run.is_over() { Ok(over(run)) } else { Err(error) };
        }
    };
    match receipt {
        ApiReceipt::Pending { .. } => return Ok(Ending::Pending),
        ApiReceipt::Done
        | ApiReceipt::Sent
        | ApiReceipt::Added { .. }
        | ApiReceipt::Queued { .. } => {}
    }
    if no_wait {
        return Ok(Ending::Told);
    }
    // The server went away or the run takes its time; it was told in any case.
    let ended = tokio::time::timeout(STOP_TIMEOUT, until_over(client, &run.id)).await;
    Ok(ended.ok().transpose()?.flatten().map_or(Ending::Told, over))
}

fn over(run: ApiRun) -> Ending {
    Ending::Over(run.outcome.map(|outcome| outcome.replace('_', " ")))
}

/// Waits until a run is over; `None` if the server went away before.
async fn until_over(client: &Client, run: &str) -> Result<Option<ApiRun>, ClientError> {
    let path = ["runs", run, "events", "stream"];
    let mut log = client.stream(&path, &[("kinds", "session_ended")], None).await?;
    loop {
        match log.next().await {
            Ok(Some(message)) if message.event.as_deref() == Some("end") => break,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Ok(None),
        }
    }
    // What the run left in its worktree is kept after the last word of its log.
    loop {
        let run: ApiRun = client.read(&["runs", run], &[]).await?;
        if run.is_over() {
            return Ok(Some(run));
        }
        tokio::time::sleep(STOP_POLL_INTERVAL).await;
    }
}

async fn through_sockets(
    place: &WorkLocation,
    args: &EndArgs,
    how: RunnerStop,
) -> Result<Vec<Ended>, CliError> {
    let alive = place.home()?.map(|home| runners::alive(&home)).unwrap_or_default();
    if !args.all && alive.is_empty() {
        return Err(place.no_server());
    }
    let wanted: Vec<(String, Option<&Alive>)> = match args.all {
        true => alive.iter().map(|alive| (alive.run.to_string(), Some(alive))).collect(),
        false => args.runs.iter().map(|run| (run.to_string(), named(run, &alive))).collect(),
    };
    let told = stream::iter(wanted).map(|(run, alive)| async move {
        let how = match alive {
            Some(alive) => match alive.end(how).await {
                Ok(()) => Ok(Ending::Over(outcome_of(alive))),
                Err(why) => Err(CliError::Unavailable(format!("{run} was not ended: {why}"))),
            },
            None => Err(CliError::hinted(
                format!("there is no live run {run}, and no server that would know more"),
                "see the live ones with `musher ps`",
            )),
        };
        Ended { run, how }
    });
    Ok(told.buffered(MAX_PARALLEL_STOPS).collect().await)
}

fn outcome_of(alive: &Alive) -> Option<String> {
    let end: Option<SessionEnded> = outcome::read(&alive.folder).ok()?;
    Some(end?.outcome.as_str().to_owned())
}

/// The live run that a name stands for: the newest that fits.
fn named<'a>(name: &RunNameArg, alive: &'a [Alive]) -> Option<&'a Alive> {
    let fits = |alive: &&Alive| match name {
        RunNameArg::Id(run) => alive.run == *run,
        RunNameArg::Latest { story, agent } => alive.spec.as_ref().is_some_and(|spec| {
            spec.story == *story && agent.as_ref().is_none_or(|agent| spec.agent == *agent)
        }),
    };
    // They are in the order of their ids.
    alive.iter().rfind(fits)
}
