//! A tool that waits until runs are over, or need a person.

use std::time::Duration;

use futures_util::StreamExt;
use musher_runtime::tools::{CallProgress, ToolReply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::time::{Instant, sleep_until};

use super::name::RunPathName;
use super::refused;
use crate::mcp::api_client::{ApiClient, ApiRequest, ChangeNotice};

pub(super) const NAME: &str = "wait_for_runs";
pub(super) const ABOUT: &str = "\
Wait until runs are over, or until one of them needs a person. When the time is up, the reply says how they stand; \
then wait again.";

/// How long it waits when nobody says, which most clients let pass, and at most.
const USUAL: u64 = 50;
const MAX_WAIT_SECONDS: u64 = 3600;
/// Runs that are waited for at once.
const RUNS: usize = 50;
/// Facts come in crowds, and one look serves them all.
const FACT_DEBOUNCE_DELAY: Duration = Duration::from_millis(100);
/// Looked at even when nothing is heard.
const RUNS_POLL_INTERVAL: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitForRuns {
    /// The runs to wait for, all of them.
    #[schemars(length(min = 1, max = 50))]
    runs: Vec<RunPathName>,
    /// What to wait for; `needs_person` when left out.
    #[serde(default)]
    until: Until,
    /// Give up after so many seconds (50 when left out, 3600 at most).
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// Every run is over.
    Over,
    /// An ask of one of them waits for a person, or every run is over.
    #[default]
    NeedsPerson,
}

pub(super) async fn wait(
    office: &dyn ApiClient,
    given: WaitForRuns,
    progress: &CallProgress,
) -> Result<ToolReply, ToolReply> {
    if given.runs.is_empty() || given.runs.len() > RUNS {
        return Err(ToolReply::failed(format!("name 1 to {RUNS} runs")));
    }
    let seconds = given.timeout_seconds.unwrap_or(USUAL).min(MAX_WAIT_SECONDS);
    let limit = Instant::now() + Duration::from_secs(seconds);
    let mut news = Some(office.news());
    let mut told = String::new();
    loop {
        let mut seen = Vec::new();
        for run in &given.runs {
            let found = office.ask(ApiRequest::read(["runs", run.as_str()])).await;
            seen.push(found.map_err(|why| refused(&why))?);
        }
        let now = in_words(&seen);
        if now != told {
            progress.say(now.clone());
            told = now;
        }
        let reached = judge(given.until, &seen);
        if reached.is_some() || Instant::now() >= limit {
            return Ok(reply(reached, &told, &seen));
        }
        let look_at = limit.min(Instant::now() + RUNS_POLL_INTERVAL);
        tokio::select! {
            more = next(&mut news) => match more {
                Some(()) => sleep_until(limit.min(Instant::now() + FACT_DEBOUNCE_DELAY)).await,
                // The server went away; it is looked for again at the next look.
                None => {
                    news = None;
                    sleep_until(look_at).await;
                }
            },
            () = sleep_until(look_at) => {}
        }
    }
}

async fn next(news: &mut Option<ChangeNotice>) -> Option<()> {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}

fn is_over(run: &Json) -> bool {
    run["phase"] == "over"
}

fn needs_person(run: &Json) -> bool {
    run["open_asks"].as_u64().is_some_and(|asks| asks > 0) || run["parked"] == true
}

/// What was waited for, if it has come.
fn judge(until: Until, runs: &[Json]) -> Option<&'static str> {
    if until == Until::NeedsPerson && runs.iter().any(needs_person) {
        return Some("needs_person");
    }
    runs.iter().all(is_over).then_some("over")
}

fn in_words(runs: &[Json]) -> String {
    let word = |run: &Json| {
        let text = |field: &str| run[field].as_str().unwrap_or_default().to_owned();
        let mut words = match is_over(run) {
            true => format!("{} {}", text("id"), text("outcome")),
            false => format!("{} {}", text("id"), text("phase")),
        };
        if needs_person(run) {
            words.push_str(", needs a person");
        }
        words
    };
    runs.iter().map(word).collect::<Vec<_>>().join("; ")
}

fn reply(reached: Option<&str>, told: &str, runs: &[Json]) -> ToolReply {
    let text = match reached {
        Some(_) => told.to_owned(),
        None => format!("The time is up. {told}"),
    };
    ToolReply::done(text).with_structured(json!({ "reached": reached, "runs": runs }))
}
