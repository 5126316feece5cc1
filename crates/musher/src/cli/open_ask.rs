//! Finds the ask that a person answers, and sends the answer.

use clap::Args;
use musher_core::{Answer, Ask, Rule};
use serde_json::json;

use super::place::Place;
use super::run_name::RunName;
use super::{CliError, Exit, ask, receipt, tell};
use crate::client::Client;
use crate::client::views::{AskNow, Asks, Run};

/// What the person has seen of an ask before this command.
#[derive(Debug, Args)]
pub(crate) struct Seen {
    /// The digest of the ask as it was shown to you; without it the ask is read and shown, and then answered.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) shown: Option<String>,
}

/// The open asks of a run.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) run: String,
    pub(crate) asks: Vec<AskNow>,
}

/// The ask that is meant.
#[derive(Debug, Clone)]
pub(crate) struct Meant {
    pub(crate) ask: String,
    /// Absent when the ask is not open, or what it asks is not known; then the server judges the answer.
    pub(crate) body: Option<Ask>,
    /// What "always" would grant.
    pub(crate) rule: Option<Rule>,
    /// The digest of what is shown, which goes with the answer.
    pub(crate) digest: Option<String>,
}

impl Open {
    pub(crate) async fn of(client: &Client, run: &RunName) -> Result<Self, CliError> {
        let run: Run = client.read(&["runs", &run.wire()], &[]).await?;
        let Asks { asks } = client.read(&["asks"], &[("run", &run.id)]).await?;
        Ok(Self { run: run.id, asks })
    }

    /// The ids of all asks that the run ever had: one that is closed is still no answer.
    pub(crate) async fn ever(client: &Client, run: &str) -> Result<Vec<String>, CliError> {
        let query = [("run", run), ("all", "true")];
        let Asks { asks } = client.read(&["asks"], &query).await?;
        Ok(asks.into_iter().map(|ask| ask.ask).collect())
    }

    /// The ask of this id; without one, the only ask that is open.
    pub(crate) fn meant(&self, id: Option<&str>) -> Result<Meant, CliError> {
        let found = |ask: &AskNow| Meant {
            ask: ask.ask.clone(),
            body: ask.body.clone(),
            rule: ask.rule.clone(),
            digest: Some(ask.digest.clone()),
        };
        if let Some(id) = id {
            let open = self.asks.iter().find(|ask| ask.ask == id).map(found);
            return Ok(open.unwrap_or_else(|| Meant {
                ask: id.to_owned(),
                body: None,
                rule: None,
                digest: None,
            }));
        }
        match self.asks.as_slice() {
            [only] => Ok(found(only)),
            [] => Err(CliError::hinted(
                format!("run {} asks nothing", self.run),
                "see what waits with `musher asks`",
            )),
            several => {
                let list: Vec<String> = several.iter().map(in_a_line).collect();
                Err(CliError::hinted(
                    format!("run {} asks {} things:{}", self.run, several.len(), list.concat()),
                    format!("name the one that you mean after {}", self.run),
                ))
            }
        }
    }
}

fn in_a_line(open: &AskNow) -> String {
    format!("\n  {} {}", open.ask, open.body.as_ref().map(ask::in_short).unwrap_or_default())
}

/// Sends the answer and tells what became of it.
pub(crate) async fn send(
    place: &Place,
    client: &Client,
    run: &str,
    meant: &Meant,
    seen: &Seen,
    answer: &Answer,
    done: &str,
) -> Result<Exit, CliError> {
    // It is shown before it is answered, whoever reads along.
    if let Some(body) = &meant.body {
        tell(&ask::described(body));
    }
    let path = ["runs", run, "asks", &meant.ask, "answer"];
    let shown = seen.shown.as_ref().or(meant.digest.as_ref());
    let reply = client.post(&path, &json!({ "answer": answer, "shown": shown })).await?;
    receipt::told(place, &reply, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(asks: &[&str]) -> Open {
        let ask = |id: &&str| AskNow {
            ask: (*id).into(),
            body: Some(Ask::Plan { plan: format!("plan {id}") }),
            ..AskNow::default()
        };
        Open { run: "r1".into(), asks: asks.iter().map(ask).collect() }
    }

    #[test]
    fn the_id_may_be_left_out_while_one_ask_is_open() {
        assert_eq!(open(&["a1"]).meant(None).unwrap().ask, "a1");
        let error = open(&[]).meant(None).unwrap_err();
        assert!(error.to_string().contains("asks nothing"), "{error}");
        let error = open(&["a1", "a2"]).meant(None).unwrap_err().to_string();
        assert!(error.contains("a1 a plan: plan a1") && error.contains("\n  a2"), "{error}");
    }

    #[test]
    fn an_ask_that_is_not_open_is_left_to_the_server_which_knows_who_won() {
        let meant = open(&["a1"]).meant(Some("a7")).unwrap();
        assert!(meant.ask == "a7" && meant.body.is_none());
    }
}
