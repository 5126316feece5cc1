//! `musher ps`: the runs that are not over, with or without a server.

use clap::Args;
use musher_core::{AgentName, StoryId};
use musher_runtime::now_ms;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::table::{TextTable, Tone};
use super::text::one_line;
use super::{CliError, CliExit, age, ask, money, out, runners, state, tell};
use crate::secrets;
use musher_client::Client;
use musher_client::api::{ApiAsk, ApiAsks, ApiRun, Runs};

#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Include ended runs, newest first.
    #[arg(short, long)]
    all: bool,
    /// Only runs on this story.
    #[arg(long)]
    story: Option<StoryId>,
    /// Only runs of this agent.
    #[arg(long)]
    agent: Option<AgentName>,
    /// How many ended runs.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Ps {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.clone().place();
        match place.client_that_answers().await? {
            Some(client) => self.of_server(&place, &client).await,
            None => self.of_sockets(&place),
        }
    }

    async fn of_server(&self, place: &WorkLocation, client: &Client) -> Result<CliExit, CliError> {
        let limit = self.limit.to_string();
        let mut query = vec![("state", if self.all { "all" } else { "live" }), ("limit", &limit)];
        query.extend(self.story.as_ref().map(|story| ("story", story.as_str())));
        query.extend(self.agent.as_ref().map(|agent| ("agent", agent.as_str())));
        let reply = client.get(&["runs"], &query).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let Runs { runs, .. } = reply.read()?;
        match runs.as_slice() {
            [] if self.all => {
                out::prose("No runs yet. Start one with `musher start STORY`.")?;
            }
            [] => out::prose(
                "No active runs. Start one with `musher start STORY`; `musher ps --all` lists ended runs.",
            )?,
            runs => {
                let waits = runs.iter().any(|run| run.open_asks > 0);
                let asks = match waits {
                    true => client.read::<ApiAsks>(&["asks"], &[("limit", "1000")]).await?.asks,
                    false => Vec::new(),
                };
                out::line(&table(runs, &asks, now_ms()))?;
            }
        }
        Ok(CliExit::Completed)
    }

    /// What the runners themselves tell; they need no server.
    fn of_sockets(&self, place: &WorkLocation) -> Result<CliExit, CliError> {
        let mut alive = place.home()?.map(|home| runners::alive(&home)).unwrap_or_default();
        alive.retain(|alive| {
            let spec = alive.spec.as_ref();
            let fits = |spec: &crate::runner::spec::RunSpec| {
                self.story.as_ref().is_none_or(|story| spec.story == *story)
                    && self.agent.as_ref().is_none_or(|agent| spec.agent == *agent)
            };
            spec.map_or(self.story.is_none() && self.agent.is_none(), fits)
        });
        if place.json() {
            let runs: Vec<_> = alive
                .iter()
                .map(|alive| {
                    let spec = alive.spec.as_ref();
                    json!({
                        "id": alive.run,
                        "story": spec.map(|spec| &spec.story),
                        "agent": spec.map(|spec| &spec.agent),
                        "model": spec.and_then(|spec| spec.model.as_ref()),
                        "phase": "live",
                    })
                })
                .collect();
            out::document(&json!({ "runs": runs, "server": false }).to_string())?;
            return Ok(CliExit::Completed);
        }
        if alive.is_empty() {
            out::prose(
                "No active runs, and no server for this project; start one with `musher serve`.",
            )?;
            return Ok(CliExit::Completed);
        }
        tell("No server runs for this project; these runners are alive without it:");
        let mut table = TextTable::new(&["STATE", "RUN", "STORY", "AGENT", "MODEL"]);
        for alive in &alive {
            let spec = alive.spec.as_ref();
            let text = |text: Option<String>| text.unwrap_or_else(|| "?".into());
            table.row(
                Tone::Good,
                [
                    "● working".into(),
                    alive.run.to_string(),
                    text(spec.map(|spec| spec.story.to_string())),
                    text(spec.map(|spec| spec.agent.to_string())),
                    spec.and_then(|spec| spec.model.clone()).unwrap_or_default(),
                ],
            );
        }
        out::line(&table.text())?;
        tell("`musher serve` takes them over; `musher stop` and `musher kill` work without it.");
        Ok(CliExit::Completed)
    }
}

/// How much of a story's title is shown.
const TITLE: usize = 32;

pub(crate) fn table(runs: &[ApiRun], asks: &[ApiAsk], now: i64) -> String {
    let mut table = TextTable::new(&[
        "STATE", "RUN", "STORY", "TITLE", "AGENT", "MODEL", "AGE", "COST", "NOTE",
    ])
    .right(&[6, 7]);
    for run in runs {
        let (state, tone) = state::of_run(run);
        table.row(
            tone,
            [
                state,
                run.id.clone(),
                run.story.clone(),
                one_line(run.title.as_deref().unwrap_or_default(), TITLE),
                run.agent.clone(),
                run.model.clone().unwrap_or_default(),
                age::age(run.ended_at.or(run.started_at).unwrap_or(run.queued_at), now),
                money::cost(&run.spent),
                note(run, asks, now),
            ],
        );
    }
    table.text()
}

/// What else is to be said of a run.
fn note(run: &ApiRun, asks: &[ApiAsk], now: i64) -> String {
    let asked = asks.iter().find(|ask| ask.run == run.id).and_then(|ask| ask.body.as_ref());
    let asks = match (run.open_asks, asked) {
        (0, _) => None,
        (1, Some(asked)) => Some(format!("waits for you: {}", ask::in_short(asked))),
        (1, None) => Some("waits for you: 1 ask".to_owned()),
        (asks, _) => Some(format!("waits for you: {asks} asks")),
    };
    let quiet = || Some(format!("no output for {}", age::age(run.quiet_since?, now)));
    let error = || run.error.as_ref().map(|error| error.message.clone());
    let follows = || {
        let of = run.of.as_ref()?;
        Some(format!("{} of {of}", run.kind))
    };
    let kept = || {
        let error = run.finish_error.as_ref()?;
        Some(match error.starts_with(secrets::NOTE) {
            true => error.clone(),
            false => format!("work not committed: {error}"),
        })
    };
    asks.or_else(|| run.note.clone())
        .or_else(quiet)
        .or_else(kept)
        .or_else(error)
        .or_else(follows)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn a_run_is_told_in_one_line() {
        let runs: Runs = serde_json::from_value(json!({ "runs": [
            { "id": "r7", "story": "s1", "title": "Greet people", "agent": "coder", "phase": "live", "open_asks": 2,
              "queued_at": 0, "started_at": 60_000, "spent": { "cost_usd": 0.126, "output": 3 } },
            { "id": "r6", "story": "s1", "agent": "coder", "model": "m", "phase": "over",
              "outcome": "failed", "kind": "resume", "of": "r5", "queued_at": 0, "ended_at": 0, "spent": { "cost_usd": 0.0 },
              "error": { "class": "overloaded", "message": "busy\nvery" } },
            { "id": "r5", "story": "s1", "agent": "coder", "phase": "live", "queued_at": 0,
              "started_at": 0, "quiet_since": 0, "spent": { "cost_usd": 0.0 } },
        ] }))
        .unwrap();
        let text = plain(&table(&runs.runs, &[], 240_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "? needs you  r7   s1     Greet people  coder         3 m  $0.126  waits for you: 2 asks"
        );
        assert_eq!(
            lines[2],
            "✗ failed     r6   s1                   coder  m      4 m      $0  busy…"
        );
        assert!(lines[3].ends_with("no output for 4 m"), "{text}");
    }
}
