//! Finds the asks that a person answers, shows each of them, and sends the answers with what was shown.

mod choose;
mod send;

use clap::Args;
use serde_json::json;

use super::CliError;
use super::run_name::RunNameArg;
use choose::{ParsedAnswer, choose};
use musher_client::Client;
use musher_client::api::{ApiAsk, ApiAsks, ApiRun};

pub(crate) use choose::{Chosen, short};
pub(crate) use send::{AnswerToSend, send};

/// Which asks are meant, and what the person has seen of them before this command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// Ids from `musher asks` or their first letters, or a run (`r12`, `STORY` or `STORY/AGENT`), followed by the ask's name
    /// if the run has several.
    #[arg(value_name = "ASK", required_unless_present = "all")]
    pub(crate) asks: Vec<String>,
    /// All open requests, or all of the named runs.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) seen: SeenAsk,
}

/// What the person has seen of an ask before this command.
#[derive(Debug, Clone, Args)]
pub(crate) struct SeenAsk {
    /// The digest of the request that you saw; without it the request is shown, then answered.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) shown: Option<String>,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// All open asks of the project.
#[derive(Debug)]
pub(crate) struct OpenAsks {
    asks: Vec<ApiAsk>,
}

impl OpenAsks {
    pub(crate) async fn read(client: &Client) -> Result<Self, CliError> {
        let ApiAsks { asks } = client.read(&["asks"], &[("limit", "1000")]).await?;
        Ok(Self { asks })
    }

    /// The asks that are meant. What is not open is asked of the server, which knows why.
    pub(crate) async fn chosen(
        &self,
        client: &Client,
        which: &Which,
    ) -> Result<Vec<Chosen>, CliError> {
        match choose(&self.asks, &which.asks, which.all)? {
            ParsedAnswer::Open(chosen) if chosen.is_empty() => Err(CliError::hinted(
                "nothing waits for an answer",
                "list active runs with `musher ps`",
            )),
            ParsedAnswer::Open(chosen) => Ok(chosen),
            ParsedAnswer::Elsewhere { run, ask } => {
                Err(refused(client, &run, ask.as_deref()).await)
            }
        }
    }

    /// The ask that the first words mean, and how many words that took; the rest is the answer to it.
    pub(crate) async fn one(
        &self,
        client: &Client,
        target: &str,
        next: Option<&String>,
    ) -> Result<(Chosen, usize), CliError> {
        if let Some(next) = next {
            // Only a whole id is taken for one: the beginning of an id may be the beginning of an answer.
            let named = |ask: &&ApiAsk| choose::is_of(ask, target) && ask.ask == *next;
            if let [only] = self.asks.iter().filter(named).collect::<Vec<_>>().as_slice() {
                return Ok((Chosen { ask: (*only).clone(), named: true }, 1));
            }
            // An ask that is closed is no answer to another one.
            if self.ever(client, target, next).await? {
                return Err(refused(client, target, Some(next)).await);
            }
        }
        match choose(&self.asks, &[target.to_owned()], false)? {
            ParsedAnswer::Open(mut chosen) if chosen.len() == 1 => Ok((chosen.remove(0), 0)),
            ParsedAnswer::Open(_) => Err(CliError::user("one ask is answered at a time")),
            ParsedAnswer::Elsewhere { run, ask } => {
                Err(refused(client, &run, ask.as_deref()).await)
            }
        }
    }

    /// Whether a run ever had an ask of this id.
    async fn ever(&self, client: &Client, run: &str, ask: &str) -> Result<bool, CliError> {
        let Ok(run) = run.parse::<RunNameArg>() else { return Ok(false) };
        let Ok(run) = client.read::<ApiRun>(&["runs", &run.wire()], &[]).await else {
            return Ok(false);
        };
        let query = [("run", run.id.as_str()), ("all", "true"), ("limit", "1000")];
        let ApiAsks { asks } = client.read(&["asks"], &query).await?;
        Ok(asks.iter().any(|it| it.ask == ask))
    }
}

/// Why nothing that is open is meant: what the server says of that run, or of that ask of it.
async fn refused(client: &Client, run: &str, ask: Option<&str>) -> CliError {
    let name: RunNameArg = match run.parse() {
        Ok(name) => name,
        Err(why) => {
            let message = format!("no open ask is called {run}, and no run can be: {why}");
            return CliError::hinted(message, "see what waits with `musher asks`");
        }
    };
    let run: ApiRun = match client.read(&["runs", &name.wire()], &[]).await {
        Ok(run) => run,
        Err(error) => return error.into(),
    };
    let nothing = || {
        CliError::hinted(
            format!("run {} asks nothing", run.id),
            "see what waits with `musher asks`",
        )
    };
    let Some(ask) = ask else { return nothing() };
    // Without a digest nothing can be answered; whatever else is in the way is told first.
    let path = ["runs", &run.id, "asks", ask, "answer"];
    let body = json!({ "answer": { "decision": "deny", "reason": "" } });
    match client.post(&path, &body).await {
        Err(error) => error.into(),
        Ok(_) => nothing(),
    }
}
