//! `musher show`: everything about one run.

use clap::Args;
use musher_core::Activity;
use musher_runtime::now_ms;
use serde_json::{Map, Value};

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::text::{one_line, plain, wrapped};
use super::{CliError, CliExit, age, ask, money, network, out, state, terminal};
use crate::secrets;
use musher_client::api::{ApiAsks, ApiContextUsed, ApiNetwork, ApiRun};
use musher_client::{Client, ClientError};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    #[command(flatten)]
    place: PlaceArgs,
}

impl ShowArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let reply = client.get(&["runs", &self.run.wire()], &[]).await?;
        let run: ApiRun = reply.read()?;
        let network = network(&client, &run).await?;
        if place.json() {
            out::document(&with_network(&reply.text(), network.as_ref()))?;
            return Ok(CliExit::Completed);
        }
        let asks: ApiAsks = match run.open_asks {
            0 => ApiAsks::default(),
            _ => client.read(&["asks"], &[("run", &run.id)]).await?,
        };
        out::line(&text(&run, now_ms(), terminal::seen_width(std::io::stdout())))?;
        for open in &asks.asks {
            let what = open.body.as_ref().map(ask::described);
            out::line(&format!("\nask {}\n{}", plain(&open.ask), what.unwrap_or_default()))?;
        }
        if let Some(table) = network.as_ref().and_then(network::table) {
            out::line(&format!("\n{table}"))?;
        }
        Ok(CliExit::Completed)
    }
}

/// The hosts that the run spoke to, where they can be counted. A server of an older build does not know.
async fn network(client: &Client, run: &ApiRun) -> Result<Option<ApiNetwork>, CliError> {
    match client.read(&["runs", &run.id, "network"], &[]).await {
        Ok(network) => Ok(Some(network).filter(|network: &ApiNetwork| network.proxied)),
        Err(ClientError::Refused(problem)) if problem.status == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The run as the server tells it, with its network.
fn with_network(run: &str, network: Option<&ApiNetwork>) -> String {
    let told = network.and_then(|network| {
        let mut run: Map<String, Value> = serde_json::from_str(run).ok()?;
        run.insert("network".to_owned(), serde_json::to_value(network).ok()?);
        serde_json::to_string(&run).ok()
    });
    told.unwrap_or_else(|| run.to_owned())
}

/// Where the values stand.
const VALUES: usize = 12;

fn text(run: &ApiRun, now: i64, width: Option<usize>) -> String {
    let (state, tone) = state::of_run(run);
    let style = tone.style();
    let mut text = format!("{} {style}{state}{style:#}", run.id);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let line = format!("  {name:<9} {}", one_line(&value, 500));
            text += "\n";
            text += &width.map_or(line.clone(), |width| wrapped(&line, width, VALUES - 2));
        }
    };
    line("story", Some(run.story.clone()));
    line("agent", Some(run.agent.clone()));
    let status = run.status.clone().unwrap_or_default();
    line("model", status.model.or_else(|| run.model.clone()));
    line("mode", status.mode);
    line("activity", status.activity.map(in_words).map(ToOwned::to_owned));
    line("context", status.context.map(context));
    line("kind", run.of.as_ref().map(|of| format!("{} of {of}", run.kind)));
    line("branch", run.branch.clone());
    line("worktree", run.worktree.clone());
    line("begun at", run.head.as_ref().map(|head| short(head)));
    line("session", run.session.clone());
    line("queued", Some(format!("{} ago", age::age(run.queued_at, now))));
    line("started", run.started_at.map(|at| format!("{} ago", age::age(at, now))));
    line("ended", run.ended_at.map(|at| format!("{} ago", age::age(at, now))));
    let tokens = format!(
        "{} in, {} out, {}",
        money::tokens(money::shown(&run.spent)),
        money::tokens(run.spent.output),
        money::bill(&run.spent)
    );
    line("spent", Some(tokens));
    line("commit", run.commit.as_ref().map(|commit| short(commit)));
    line("note", run.note.clone());
    let warns = |error: &String| error.starts_with(secrets::NOTE);
    line("warning", run.finish_error.clone().filter(warns));
    line("not kept", run.finish_error.clone().filter(|error| !warns(error)));
    line("error", run.error.as_ref().map(ToString::to_string));
    line("fix", run.error.as_ref().and_then(|error| error.hint.clone()));
    text
}

fn in_words(activity: Activity) -> &'static str {
    match activity {
        Activity::Running => "in a turn",
        Activity::Idle => "idle",
        Activity::NeedsYou => "waits for you",
    }
}

fn context(ApiContextUsed { used, window }: ApiContextUsed) -> String {
    match window {
        Some(window) => format!("{} of {} tokens", money::tokens(used), money::tokens(window)),
        None => format!("{} tokens", money::tokens(used)),
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shows_what_is_known_and_leaves_out_what_is_not() {
        let run: ApiRun = serde_json::from_value(serde_json::json!({
            "id": "r7", "story": "s1", "agent": "coder", "phase": "over", "outcome": "lost",
            "branch": "musher/s1/1", "worktree": "/state/worktrees/1", "queued_at": 0, "ended_at": 60_000,
            "error": { "class": "process_exit", "message": "gone \u{1b}[2J", "hint": "resume it, or start it anew" },
        }))
        .unwrap();
        let narrow = text(&run, 120_000, Some(36));
        assert!(narrow.contains("\n  worktree  /state/worktrees/1\n"), "{narrow}");
        assert!(
            narrow.contains("\n  fix       resume it, or start it\n            anew"),
            "{narrow}"
        );
        let text = plain(&text(&run, 120_000, None));
        assert!(text.starts_with("r7 ✗ lost\n  story     s1\n"), "{text}");
        assert!(text.contains("\n  ended     1 m ago"), "{text}");
        assert!(
            text.contains("\n  error     gone\n  fix       resume it, or start it anew"),
            "{text}"
        );
        assert!(!text.contains("session"), "{text}");
    }
}
