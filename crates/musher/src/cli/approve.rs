//! `musher approve`: says yes to what agents want to do.

use clap::Args;
use musher_core::{Answer, Ask, GrantFor, Rule};

use super::open_ask::{AnswerToSend, OpenAsks, Which, send};
use super::place::PlaceArgs;
use super::text::plain;
use super::{CliError, CliExit, tell};
use musher_client::api::ApiAsk;

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    which: Which,
    /// Save the rule that `musher asks RUN` shows; if it shows none, allow similar requests for this session.
    #[arg(long)]
    always: bool,
    /// With --always: save this rule instead, such as `execute(cargo *)`; it must cover the request.
    #[arg(long, value_name = "RULE", requires = "always")]
    rule: Option<Rule>,
    /// With --always: for whom the rule holds: `run` (nothing is saved), `agent`, or `project` (every agent).
    #[arg(
        long = "for",
        value_name = "WHOM",
        requires = "always",
        default_value = "agent",
        hide_possible_values = true
    )]
    holds_for: HoldsFor,
    #[command(flatten)]
    place: PlaceArgs,
}

/// For whom a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HoldsFor {
    Run,
    Agent,
    Project,
}

impl From<HoldsFor> for GrantFor {
    fn from(named: HoldsFor) -> Self {
        match named {
            HoldsFor::Run => Self::Run,
            HoldsFor::Agent => Self::Agent,
            HoldsFor::Project => Self::Project,
        }
    }
}

impl Approve {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let mut chosen = OpenAsks::read(&client).await?.chosen(&client, &self.which).await?;
        // `--all` means every ask that a yes answers.
        if self.which.asks.is_empty() {
            let all = chosen.len();
            chosen.retain(|it| it.ask.body.as_ref().is_none_or(takes_yes));
            if chosen.len() < all {
                let left = all - chosen.len();
                tell(&format!("{left} not included: a question or a form needs `musher answer`"));
            }
        }
        let mut given = Vec::new();
        for chosen in chosen {
            let granted = self.rule.clone().or_else(|| chosen.ask.rule.clone());
            let answer = match self.always {
                true => {
                    let holds_for = self.holds_for.into();
                    Answer::AllowAlways { rule: granted.clone(), holds_for }
                }
                false => Answer::Allow { input: None },
            };
            check(&chosen.ask, &answer)?;
            let done = done(&chosen.ask, self.always, granted.as_ref(), self.holds_for);
            given.push(AnswerToSend { chosen, answer, done });
        }
        send(&place, &client, &self.which.seen, "Approve", given).await
    }
}

fn takes_yes(body: &Ask) -> bool {
    match body {
        Ask::Approval(_) | Ask::Plan { .. } => true,
        Ask::Question { .. } | Ask::Form { .. } => false,
    }
}

fn done(it: &ApiAsk, always: bool, granted: Option<&Rule>, holds_for: HoldsFor) -> String {
    let ApiAsk { run, ask, agent, .. } = it;
    match (always, granted) {
        (false, _) => format!("ask {ask} of {run} is approved"),
        (true, Some(rule)) => {
            let rule = plain(&rule.to_string());
            let granted = match holds_for {
                HoldsFor::Run => format!("{agent} may {rule} for the rest of this run"),
                HoldsFor::Agent => format!(
                    "{agent} may {rule} from now on (revoke it with `musher grants revoke`)"
                ),
                HoldsFor::Project => format!(
                    "every agent may {rule} from now on (revoke it with `musher grants revoke`)"
                ),
            };
            format!("ask {ask} of {run} is approved; {granted}")
        }
        (true, None) => {
            format!(
                "ask {ask} of {run} is approved, and so are similar ones for the rest of its session"
            )
        }
    }
}

/// Refuses here what the run would refuse there, with the command that fits.
fn check(it: &ApiAsk, answer: &Answer) -> Result<(), CliError> {
    let ApiAsk { run, ask, .. } = it;
    let Some(body) = &it.body else { return Ok(()) };
    let other = |what: &str| {
        Err(CliError::hinted(
            format!("ask {ask} of {run} is a {what}, which cannot be approved"),
            format!("use `musher answer {run} {ask} …`, or `musher deny`"),
        ))
    };
    match body {
        Ask::Question { .. } => other("question"),
        Ask::Form { .. } => other("form"),
        Ask::Approval(_) | Ask::Plan { .. } => body.accepts(answer).map_err(|why| {
            CliError::hinted(
                format!("ask {ask} of {run} cannot be approved with --always: {why}"),
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
        let open = |body| ApiAsk { run: "r1".into(), ask: "a1".into(), body, ..ApiAsk::default() };
        let yes = Answer::Allow { input: None };
        let question = Some(Ask::Question { questions: Vec::new() });
        let error = check(&open(question), &yes).unwrap_err();
        assert!(error.hint().unwrap().contains("musher answer r1 a1"), "{error}");
        let plan = Some(Ask::Plan { plan: String::new() });
        assert!(check(&open(plan.clone()), &yes).is_ok());
        assert!(check(&open(plan), &Answer::always(None)).is_err());
        assert!(check(&open(None), &yes).is_ok());
    }
}
