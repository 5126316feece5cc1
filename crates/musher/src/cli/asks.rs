//! `musher asks`: what waits for a person, the oldest first.

use clap::Args;
use musher_core::Ask;
use musher_runtime::now_ms;

use super::open_ask::short;
use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::table::{TextTable, Tone};
use super::text::{plain, visible};
use super::{CliError, CliExit, age, ask, out, tell};
use musher_client::api::{ApiAsk, ApiAsks, ApiRun, ApiScope};

#[derive(Debug, Args)]
pub(crate) struct AsksArgs {
    /// Only those of this run, in full.
    run: Option<RunNameArg>,
    /// Include closed ones.
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl AsksArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let run: Option<ApiRun> = match &self.run {
            Some(run) => Some(client.read(&["runs", &run.wire()], &[]).await?),
            None => None,
        };
        let mut query: Vec<(&str, &str)> = Vec::new();
        query.extend(self.all.then_some(("all", "true")));
        query.extend(run.as_ref().map(|run| ("run", run.id.as_str())));
        let reply = client.get(&["asks"], &query).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let ApiAsks { asks } = reply.read()?;
        let now = now_ms();
        match (asks.as_slice(), &run) {
            ([], Some(run)) => out::line(&format!("Run {} asks nothing.", run.id))?,
            ([], None) => {
                out::prose("No open approvals or questions. `musher ps` lists active runs.")?;
            }
            (asks, Some(_)) => {
                for ask in asks {
                    out::line(&whole(ask, now))?;
                }
            }
            (asks, None) => {
                out::line(&table(asks, now))?;
                tell(
                    "`musher asks RUN` shows one in full; `musher approve ID`, `deny ID` and `answer ID TEXT` answer it.",
                );
            }
        }
        Ok(CliExit::Completed)
    }
}

/// What kind of ask it is, in a word.
fn kind(ask: &ApiAsk) -> &'static str {
    match &ask.body {
        Some(Ask::Approval(_)) => "approval",
        Some(Ask::Question { .. }) => "question",
        Some(Ask::Plan { .. }) => "plan",
        Some(Ask::Form { .. }) => "form",
        None => "ask",
    }
}

fn state(ask: &ApiAsk) -> (String, Tone) {
    match ask.state.as_str() {
        "open" => (format!("? {}", kind(ask)), Tone::Heed),
        "offered" => ("→ on its way".into(), Tone::Quiet),
        "answered" => ("✓ answered".into(), Tone::Good),
        _ => {
            let by = ask.by.as_deref().unwrap_or("closed").replace('_', " ");
            (format!("■ {by}"), Tone::Quiet)
        }
    }
}

/// By when its default answers; that of an ask that is closed is nobody's business any more.
fn deadline(ask: &ApiAsk) -> Option<i64> {
    ask.deadline.filter(|_| matches!(ask.state.as_str(), "open" | "offered"))
}

fn table(asks: &[ApiAsk], now: i64) -> String {
    let heading = ["ID", "KIND", "RUN", "ASK", "STORY", "AGENT", "AGE", "DEADLINE", "WHAT"];
    let mut table = TextTable::new(&heading).right(&[6]);
    for open in asks {
        let (state, tone) = state(open);
        table.row(
            tone,
            [
                short(open, asks),
                state,
                open.run.clone(),
                open.ask.clone(),
                open.story.clone(),
                open.agent.clone(),
                age::age(open.opened_at, now),
                deadline(open).map(|at| age::until(at, now)).unwrap_or_default(),
                open.body.as_ref().map(ask::in_short).unwrap_or_default(),
            ],
        );
    }
    table.text()
}

fn whole(open: &ApiAsk, now: i64) -> String {
    let dim = Tone::Quiet.style();
    let deadline =
        deadline(open).map(|at| format!(", its default answers {}", age::until(at, now)));
    let what = open.body.as_ref().map(ask::described).unwrap_or_default();
    let always = open.rule.as_ref().map(|rule| {
        let other = |scope: &&ApiScope| scope.rule != *rule;
        let scope = |ApiScope { rule, label }: &ApiScope| {
            format!("\n    {} ({})", visible(&rule.to_string()), visible(label))
        };
        let others: String = open.scopes.iter().filter(other).map(scope).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; with --rule also{others}"),
        };
        format!(
            "\n  {dim}--always grants {}{others}\n  --for run|agent|project says for whom (agent){dim:#}",
            visible(&rule.to_string())
        )
    });
    format!(
        "{dim}ask {} of run {}, {} ago{}{dim:#}\n{what}{}\n  {dim}digest {}{dim:#}",
        plain(&open.ask),
        open.run,
        age::age(open.opened_at, now),
        deadline.unwrap_or_default(),
        always.unwrap_or_default(),
        open.digest,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told_with_its_age_and_its_deadline() {
        let reply: ApiAsks = serde_json::from_value(serde_json::json!({ "asks": [
            { "run": "r7", "ask": "a1", "story": "s1", "agent": "coder", "state": "open", "digest": "3f2abb",
              "opened_at": 0, "deadline": 1_800_000,
              "body": { "kind": "approval", "tool": "Bash", "tool_kind": "execute",
                        "subject": "rm -rf x\nls", "input": {} } },
            { "run": "r8", "ask": "restart", "story": "s1", "agent": "coder", "state": "closed", "digest": "3f2acc",
              "by": "process_end", "opened_at": 0, "deadline": 1_800_000, "body": null },
        ] }))
        .unwrap();
        let text = plain(&table(&reply.asks, 60_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "3f2ab  ? approval     r7   a1       s1     coder  1 m  in 29 m   Bash rm -rf x…"
        );
        assert!(lines[2].starts_with("3f2ac  ■ process end  r8   restart"), "{text}");
        assert!(!lines[2].contains("in 29 m"), "what is closed has no deadline: {text}");
        assert!(!whole(&reply.asks[1], 60_000).contains("its default answers"));
    }
}
