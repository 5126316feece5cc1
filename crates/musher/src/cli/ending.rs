//! Ends runs: through the server when there is one, else through the runs' own sockets.

use clap::Args;
use futures_util::{StreamExt, stream};
use musher_core::RunId;
use serde_json::json;

use super::place::{Place, PlaceArgs};
use super::run_name::RunName;
use super::runners::{self, Alive, End};
use super::{CliError, Exit, out, receipt, tell};
use crate::client::Client;
use crate::client::views::{Receipt, Runs};

/// How many runs are told at the same time.
const AT_ONCE: usize = 16;

/// Which runs are to end.
#[derive(Debug, Args)]
pub(crate) struct EndArgs {
    /// The runs: `r12`, or `STORY` or `STORY/AGENT` for the latest there.
    #[arg(value_name = "RUN", required_unless_present = "all")]
    runs: Vec<RunName>,
    /// Every run that is not over.
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// What became of one run.
struct Ended {
    run: String,
    outcome: Result<Receipt, CliError>,
}

/// Ends the runs and tells of each what became of it.
pub(crate) async fn end(args: EndArgs, how: End) -> Result<Exit, CliError> {
    let place = args.place.place();
    let ended = match place.client_if_any()? {
        Some(client) => through_server(&client, &args.runs, args.all, how).await?,
        None => through_sockets(&place, &args.runs, args.all, how).await?,
    };
    if ended.is_empty() && !place.json() {
        out::line("No run is under way.")?;
    }
    let mut exit = Exit::Completed;
    for Ended { run, outcome } in ended {
        match outcome {
            Ok(receipt) => {
                let status = match &receipt {
                    Receipt::Pending => "pending",
                    Receipt::Sent => "sent",
                    Receipt::Added { .. }
                    | Receipt::Queued { .. }
                    | Receipt::Done
                    | Receipt::Other => "done",
                };
                match place.json() {
                    true => out::document(&json!({ "run": run, "status": status }).to_string())?,
                    false => {
                        out::line(&receipt::sentence(&receipt, &in_words(&run, how, &receipt)))?;
                    }
                }
            }
            Err(error) => {
                if place.json() {
                    let message = error.to_string();
                    let failed = json!({ "run": run, "status": "failed", "error": message });
                    out::document(&failed.to_string())?;
                }
                tell(&format!("{run}:"));
                error.print();
                exit = error.exit();
            }
        }
    }
    Ok(exit)
}

fn in_words(run: &str, how: End, receipt: &Receipt) -> String {
    match (how, receipt) {
        (_, Receipt::Done) => format!("{run} is over"),
        (End::Stop, _) => format!("{run} is stopping"),
        (End::Kill, _) => format!("{run} is killed"),
    }
}

async fn through_server(
    client: &Client,
    runs: &[RunName],
    all: bool,
    how: End,
) -> Result<Vec<Ended>, CliError> {
    let names: Vec<(String, String)> = match all {
        true => {
            let live: Runs = client.read(&["runs"], &[("state", "live")]).await?;
            live.runs.into_iter().map(|run| (run.id.clone(), run.id)).collect()
        }
        false => runs.iter().map(|run| (run.to_string(), run.wire())).collect(),
    };
    let verb = match how {
        End::Stop => "stop",
        End::Kill => "kill",
    };
    let told = stream::iter(names).map(|(run, wire)| async move {
        let sent = client.post(&["runs", &wire, verb], &json!({})).await;
        let outcome = sent.and_then(|reply| reply.read()).map_err(CliError::from);
        Ended { run, outcome }
    });
    Ok(told.buffered(AT_ONCE).collect().await)
}

async fn through_sockets(
    place: &Place,
    runs: &[RunName],
    all: bool,
    how: End,
) -> Result<Vec<Ended>, CliError> {
    let alive = place.home()?.map(|home| runners::alive(&home)).unwrap_or_default();
    if !all && alive.is_empty() {
        return Err(place.no_server());
    }
    let mut wanted: Vec<(String, Option<&Alive>)> = Vec::new();
    match all {
        true => wanted.extend(alive.iter().map(|alive| (alive.run.to_string(), Some(alive)))),
        false => wanted.extend(runs.iter().map(|run| (run.to_string(), named(run, &alive)))),
    }
    let told = stream::iter(wanted).map(|(run, alive)| async move {
        let outcome = match alive {
            Some(alive) => match alive.end(how).await {
                Ok(()) => Ok(Receipt::Done),
                Err(why) => Err(CliError::Unavailable(format!("{run} was not ended: {why}"))),
            },
            None => Err(CliError::hinted(
                format!("there is no live run {run}, and no server that would know more"),
                "see the live ones with `musher ps`",
            )),
        };
        Ended { run, outcome }
    });
    Ok(told.buffered(AT_ONCE).collect().await)
}

/// The live run that a name stands for: the newest that fits.
fn named<'a>(name: &RunName, alive: &'a [Alive]) -> Option<&'a Alive> {
    let fits = |alive: &&Alive| match name {
        RunName::Id(run) => alive.run == *run,
        RunName::Latest { story, agent } => alive.spec.as_ref().is_some_and(|spec| {
            spec.story == *story && agent.as_ref().is_none_or(|agent| spec.agent == *agent)
        }),
    };
    alive.iter().filter(fits).max_by_key(|alive: &&Alive| -> RunId { alive.run })
}
