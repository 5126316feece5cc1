//! `musher wait`: waits until runs need a person or are over.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::place::{PlaceArgs, WorkLocation};
use super::run::duration;
use super::run_name::RunNameArg;
use super::terminal::Interrupts;
use super::{CliError, CliExit, ask, out, state, tell};
use musher_client::api::{ApiAsk, ApiAsks, ApiRun, Runs};
use musher_client::{Client, ClientError, StreamFollower, StreamUpdate};

/// Facts come in crowds, and one look serves them all.
const FACT_DEBOUNCE_DELAY: Duration = Duration::from_millis(100);
/// Looked at even when nothing is heard.
const WAIT_POLL_INTERVAL: Duration = Duration::from_secs(15);
/// Far enough away to be never.
const NO_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The runs: `r12`, or `STORY` or `STORY/AGENT` for all its runs; all active runs if left out.
    #[arg(value_name = "RUN")]
    runs: Vec<RunNameArg>,
    /// What to wait for; `needs-you` also returns when all runs have ended.
    #[arg(long, value_enum)]
    until: Until,
    /// Give up after this much time, such as `90s`, `10m` or `1h30m`; the exit code is then 5.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Until {
    /// An approval or a question is open.
    NeedsYou,
    /// The runs have ended.
    Done,
}

/// What is known of the runs that are waited for.
#[derive(Debug, Default)]
struct Seen {
    runs: Vec<ApiRun>,
    asks: Vec<ApiAsk>,
}

/// What was waited for has come.
#[derive(Debug)]
enum Reached {
    NeedsYou(Vec<ApiAsk>),
    Done(Vec<ApiRun>),
}

impl WaitArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.clone().place();
        // A server that is not there is told at once, rather than waited for.
        place.client()?;
        let begun = Instant::now();
        let limit = begun + self.timeout.unwrap_or(NO_TIMEOUT);
        let mut interrupts = Interrupts::listen();
        let mut follow = StreamFollower::new(|| place.find(), &["feed"], &[], None);
        let mut look_at = begun;
        let mut seen = Seen::default();
        loop {
            tokio::select! {
                heard = follow.next() => match heard {
                    Ok(StreamUpdate::Message(_)) => look_at = look_at.min(Instant::now() + FACT_DEBOUNCE_DELAY),
                    Ok(StreamUpdate::Back) => look_at = Instant::now(),
                    Ok(StreamUpdate::Lost { why, wait }) => {
                        tell(&format!("lost the server ({why}); trying again in {} ms", wait.as_millis()));
                    }
                    Err(error) => return Err(error.into()),
                },
                () = sleep_until(look_at) => {
                    look_at = Instant::now() + WAIT_POLL_INTERVAL;
                    match self.look(&place).await {
                        Ok(found) => seen = found,
                        // The feed tells when the server is back.
                        Err(error) if error.passes() => continue,
                        Err(error) => return Err(error.into()),
                    }
                    if let Some(reached) = seen.judge(self.until) {
                        return tell_reached(&place, reached);
                    }
                }
                () = sleep_until(limit) => return self.gave_up(&place, &seen),
                () = interrupts.next() => return Ok(CliExit::Stopped),
            }
        }
    }

    /// Looks at the runs that are waited for.
    async fn look(&self, place: &WorkLocation) -> Result<Seen, ClientError> {
        let client = place.find()?;
        let ApiAsks { asks } = client.read(&["asks"], &[("limit", "1000")]).await?;
        let mut seen = Seen::default();
        if self.runs.is_empty() {
            let Runs { runs, .. } = client.read(&["runs"], &[("state", "live")]).await?;
            seen.runs = runs;
            seen.asks = asks;
        } else {
            for name in &self.runs {
                seen.runs.extend(runs_of(&client, name).await?);
                seen.asks.extend(asks.iter().filter(|ask| concerns(name, ask)).cloned());
            }
        }
        seen.asks.retain(|ask| ask.state == "open");
        Ok(seen)
    }

    fn gave_up(&self, place: &WorkLocation, seen: &Seen) -> Result<CliExit, CliError> {
        let open: Vec<&ApiRun> = seen.runs.iter().filter(|run| !run.is_over()).collect();
        let ids: Vec<&str> = open.iter().map(|run| run.id.as_str()).collect();
        match place.json() {
            true => out::document(&json!({ "reached": null, "under_way": ids }).to_string())?,
            false => tell(&format!("timed out; still active: {}", ids.join(", "))),
        }
        Ok(CliExit::Limit)
    }
}

async fn runs_of(client: &Client, name: &RunNameArg) -> Result<Vec<ApiRun>, ClientError> {
    match name {
        RunNameArg::Id(run) => Ok(vec![client.read(&["runs", &run.to_string()], &[]).await?]),
        RunNameArg::Latest { story, agent } => {
            // A story without any run is an error here, and the server has the words for it.
            let latest: ApiRun = client.read(&["runs", &name.wire()], &[]).await?;
            let mut query = vec![("state", "live"), ("story", story.as_str())];
            query.extend(agent.as_ref().map(|agent| ("agent", agent.as_str())));
            let Runs { mut runs, .. } = client.read(&["runs"], &query).await?;
            if runs.is_empty() {
                runs.push(latest);
            }
            Ok(runs)
        }
    }
}

fn concerns(name: &RunNameArg, ask: &ApiAsk) -> bool {
    match name {
        RunNameArg::Id(run) => ask.run == run.to_string(),
        RunNameArg::Latest { story, agent } => {
            ask.story == story.as_str()
                && agent.as_ref().is_none_or(|agent| ask.agent == agent.as_str())
        }
    }
}

impl Seen {
    /// Whether what is waited for has come.
    fn judge(&self, until: Until) -> Option<Reached> {
        match until {
            Until::NeedsYou if !self.asks.is_empty() => Some(Reached::NeedsYou(self.asks.clone())),
            Until::NeedsYou | Until::Done => {
                self.runs.iter().all(ApiRun::is_over).then(|| Reached::Done(self.runs.clone()))
            }
        }
    }
}

fn tell_reached(place: &WorkLocation, reached: Reached) -> Result<CliExit, CliError> {
    if place.json() {
        let document = match reached {
            Reached::NeedsYou(asks) => {
                let ask =
                    |ask: &ApiAsk| json!({ "run": ask.run, "ask": ask.ask, "story": ask.story });
                json!({ "reached": "needs_you", "asks": asks.iter().map(ask).collect::<Vec<_>>() })
            }
            Reached::Done(runs) => {
                let run = |run: &ApiRun| json!({ "run": run.id, "story": run.story, "outcome": run.outcome });
                json!({ "reached": "done", "runs": runs.iter().map(run).collect::<Vec<_>>() })
            }
        };
        out::document(&document.to_string())?;
        return Ok(CliExit::Completed);
    }
    match reached {
        Reached::NeedsYou(asks) => {
            for open in asks {
                let what = open.body.as_ref().map(ask::in_short).unwrap_or_default();
                out::prose(&format!("{} needs you: {what}", open.run))?;
            }
        }
        Reached::Done(runs) if runs.is_empty() => out::line("No active runs.")?,
        Reached::Done(runs) => {
            for run in &runs {
                let (state, tone) = state::of_run(run);
                let style = tone.style();
                out::prose(&format!(
                    "{style}{state}{style:#} {} ({}, {})",
                    run.id, run.story, run.agent
                ))?;
            }
        }
    }
    Ok(CliExit::Completed)
}

#[cfg(test)]
mod tests {
    use musher_core::RunPhaseKind::{self, Finishing, Live, Over};

    use super::*;

    fn seen(runs: &[RunPhaseKind], asks: usize) -> Seen {
        let run = |phase: &RunPhaseKind| ApiRun { phase: *phase, ..ApiRun::default() };
        Seen { runs: runs.iter().map(run).collect(), asks: vec![ApiAsk::default(); asks] }
    }

    #[test]
    fn done_means_that_every_run_is_over() {
        assert!(seen(&[Live, Over], 0).judge(Until::Done).is_none());
        assert!(seen(&[Finishing], 0).judge(Until::Done).is_none());
        assert!(seen(&[Live], 1).judge(Until::Done).is_none());
        assert!(matches!(seen(&[Over, Over], 0).judge(Until::Done), Some(Reached::Done(_))));
    }

    #[test]
    fn needs_you_ends_with_an_ask_or_when_nobody_can_ask_any_more() {
        assert!(seen(&[Live], 0).judge(Until::NeedsYou).is_none());
        assert!(matches!(seen(&[Live], 1).judge(Until::NeedsYou), Some(Reached::NeedsYou(_))));
        assert!(matches!(seen(&[Over], 1).judge(Until::NeedsYou), Some(Reached::NeedsYou(_))));
        assert!(matches!(seen(&[Over], 0).judge(Until::NeedsYou), Some(Reached::Done(_))));
        assert!(matches!(seen(&[], 0).judge(Until::NeedsYou), Some(Reached::Done(_))));
    }

    #[test]
    fn an_ask_concerns_its_run_its_story_and_its_agent() {
        let ask = ApiAsk {
            run: "r3".into(),
            story: "s1".into(),
            agent: "coder".into(),
            ..ApiAsk::default()
        };
        let concerns = |name: &str| concerns(&name.parse().unwrap(), &ask);
        assert!(concerns("r3") && concerns("s1") && concerns("s1/coder"));
        assert!(!concerns("r33") && !concerns("s2") && !concerns("s1/tester"));
    }
}
