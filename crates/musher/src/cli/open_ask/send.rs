//! Shows asks, asks for a yes where nobody has named them one by one, and sends an answer to each.

use musher_core::Answer;
use serde_json::{Value as Json, json};

use super::super::place::WorkLocation;
use super::super::receipt::{sentence, told};
use super::super::terminal::Typed;
use super::super::text::plain;
use super::super::{CliError, CliExit, ask, out, tell, terminal};
use super::{Chosen, SeenAsk};
use musher_client::Client;
use musher_client::api::ApiReceipt;

/// An answer to one ask, and how it is told that it was given.
pub(crate) struct AnswerToSend {
    pub(crate) chosen: Chosen,
    pub(crate) answer: Answer,
    pub(crate) done: String,
}

impl AnswerToSend {
    /// The path and the body of the request, with the digest of the ask that was shown.
    fn request(&self, seen: &SeenAsk) -> ([&str; 5], Json) {
        let Chosen { ask, .. } = &self.chosen;
        let shown = seen.shown.as_ref().unwrap_or(&ask.digest);
        let body = json!({ "answer": self.answer, "shown": shown });
        (["runs", &ask.run, "asks", &ask.ask, "answer"], body)
    }
}

/// Shows what is answered, and sends the answers; `verb` says what a yes would do.
pub(crate) async fn send(
    place: &WorkLocation,
    client: &Client,
    seen: &SeenAsk,
    verb: &str,
    given: Vec<AnswerToSend>,
) -> Result<CliExit, CliError> {
    if let (Some(_), [_, _, ..]) = (&seen.shown, given.as_slice()) {
        return Err(CliError::hinted(
            "--shown is the digest of one ask, and several are meant",
            "name one ask, or leave out --shown",
        ));
    }
    for it in &given {
        show(&it.chosen);
    }
    let at_once = given.len() > 1 || given.iter().any(|it| !it.chosen.named);
    let told_before = seen.yes || seen.shown.is_some() || place.json();
    if at_once && !told_before && terminal::can_ask() && !confirmed(verb, given.len()).await? {
        tell("nothing was sent");
        return Ok(CliExit::Stopped);
    }
    match given.as_slice() {
        [only] => {
            let (path, body) = only.request(seen);
            told(place, &client.post(&path, &body).await?, &only.done)
        }
        several => all(place, client, seen, several).await,
    }
}

/// The ask as it is answered now, for whoever reads along.
fn show(chosen: &Chosen) {
    let it = &chosen.ask;
    let what = match &it.body {
        Some(body) => ask::described(body),
        None => "What it asks cannot be read any more.".to_owned(),
    };
    tell(&format!("ask {} of {} ({}, {})\n{what}", plain(&it.ask), it.run, it.story, it.agent));
}

async fn confirmed(verb: &str, count: usize) -> Result<bool, CliError> {
    let mut typed = Typed::default();
    // What was typed before the question is no answer to it.
    typed.listen();
    let these = if count == 1 { "this".to_owned() } else { format!("these {count}") };
    tell(&format!("{verb} {these}? [y/N]"));
    let line = typed.next().await.unwrap_or_default();
    Ok(matches!(line.trim(), "y" | "yes" | "Y"))
}

/// Answers one after another; one that is refused is told, and does not keep back the others.
async fn all(
    place: &WorkLocation,
    client: &Client,
    seen: &SeenAsk,
    given: &[AnswerToSend],
) -> Result<CliExit, CliError> {
    let mut exit = CliExit::Completed;
    let mut answers = Vec::new();
    for it in given {
        let Chosen { ask, .. } = &it.chosen;
        let (path, body) = it.request(seen);
        match client.post(&path, &body).await.map_err(CliError::from) {
            Ok(reply) if place.json() => {
                let mut receipt: Json = reply.read()?;
                receipt["run"] = ask.run.clone().into();
                receipt["ask"] = ask.ask.clone().into();
                answers.push(receipt);
            }
            Ok(reply) => out::prose(&sentence(&reply.read::<ApiReceipt>()?, &it.done))?,
            Err(error) => {
                answers.push(json!({ "run": ask.run, "ask": ask.ask, "status": "refused",
                    "detail": error.to_string() }));
                error.print();
                exit = error.exit();
            }
        }
    }
    if place.json() {
        out::document(&json!({ "answers": answers }).to_string())?;
    }
    Ok(exit)
}
