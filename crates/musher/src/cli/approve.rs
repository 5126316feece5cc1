//! `musher approve`: says yes to what an agent wants to do.

use clap::Args;
use musher_core::{Answer, Ask};

use super::open_ask::{self, Meant, Open, Seen};
use super::place::PlaceArgs;
use super::run_name::RunName;
use super::text::plain;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for the latest there.
    run: RunName,
    /// The ask; it may be left out while the run has one.
    ask: Option<String>,
    /// Grant the rule that `musher asks RUN` shows; without one, the agent's own offer for its session.
    #[arg(long)]
    always: bool,
    #[command(flatten)]
    seen: Seen,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Approve {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let open = Open::of(&client, &self.run).await?;
        let meant = open.meant(self.ask.as_deref())?;
        let answer = match self.always {
            true => Answer::AllowAlways { rule: meant.rule.clone() },
            false => Answer::Allow { input: None },
        };
        check(&open.run, &meant, &answer)?;
        let agent = open.asks.first().map(|ask| ask.agent.as_str()).unwrap_or_default();
        let done = match (self.always, &meant.rule) {
            (false, _) => format!("ask {} of {} is approved", meant.ask, open.run),
            (true, Some(rule)) => format!(
                "ask {} of {} is approved; {agent} may {} from now on (take it back with `musher grants revoke`)",
                meant.ask,
                open.run,
                plain(&rule.to_string()),
            ),
            (true, None) => format!(
                "ask {} of {} is approved, and the like for the rest of its session",
                meant.ask, open.run
            ),
        };
        open_ask::send(&place, &client, &open.run, &meant, &self.seen, &answer, &done).await
    }
}

/// Refuses here what the run would refuse there, with the command that fits.
fn check(run: &str, meant: &Meant, answer: &Answer) -> Result<(), CliError> {
    let Some(body) = &meant.body else { return Ok(()) };
    let other = |what: &str| {
        Err(CliError::hinted(
            format!("ask {} of {run} is a {what}, which yes does not answer", meant.ask),
            format!("use `musher answer {run} {} …`, or `musher deny`", meant.ask),
        ))
    };
    match body {
        Ask::Question { .. } => other("question"),
        Ask::Form { .. } => other("form"),
        Ask::Approval(_) | Ask::Plan { .. } => body.accepts(answer).map_err(|why| {
            CliError::hinted(
                format!("ask {} of {run} cannot be approved for good: {why}", meant.ask),
                "leave out --always",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_is_refused_where_something_else_is_asked() {
        let meant = |body| Meant { ask: "a1".into(), body, rule: None, digest: None };
        let yes = Answer::Allow { input: None };
        let question = Some(Ask::Question { questions: Vec::new() });
        let error = check("r1", &meant(question), &yes).unwrap_err();
        assert!(error.hint().unwrap().contains("musher answer r1 a1"), "{error}");
        let plan = Some(Ask::Plan { plan: String::new() });
        assert!(check("r1", &meant(plan.clone()), &yes).is_ok());
        assert!(check("r1", &meant(plan), &Answer::AllowAlways { rule: None }).is_err());
        assert!(check("r1", &meant(None), &yes).is_ok());
    }
}
