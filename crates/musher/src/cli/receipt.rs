//! What became of a command, told to its sender.

use serde_json::Value as Json;

use super::place::WorkLocation;
use super::run_name::RunNameArg;
use super::{CliError, CliExit, out};
use musher_client::Document;
use musher_client::api::ApiReceipt;

/// Sends a command about a run and tells what became of it; `done` says it in words.
pub(crate) async fn send(
    place: &WorkLocation,
    run: &RunNameArg,
    verb: &str,
    body: &Json,
    done: &str,
) -> Result<CliExit, CliError> {
    let reply = place.client()?.post(&["runs", &run.wire(), verb], body).await?;
    told(place, &reply, done)
}

/// Tells what became of a command.
pub(crate) fn told(
    place: &WorkLocation,
    reply: &Document,
    done: &str,
) -> Result<CliExit, CliError> {
    match place.json() {
        true => out::document(&reply.text())?,
        false => out::prose(&sentence(&reply.read()?, done))?,
    }
    Ok(CliExit::Completed)
}

/// What became of a command, in a sentence.
pub(crate) fn sentence(receipt: &ApiReceipt, done: &str) -> String {
    match receipt {
        ApiReceipt::Added { story } => {
            format!("story {story} is added; start an agent on it with `musher start {story}`")
        }
        ApiReceipt::Queued { run } => {
            format!("run {run} begins; watch it with `musher logs -f {run}`")
        }
        ApiReceipt::Done | ApiReceipt::Sent => done.to_owned(),
        ApiReceipt::Pending { .. } => {
            format!("{done}: it is kept, and delivered when the runner answers again")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_has_its_words_and_a_newer_one_is_no_error() {
        let said =
            |json: &str| sentence(&serde_json::from_str(json).unwrap(), "the prompt is sent");
        assert!(said(r#"{"status":"queued","run":"r3"}"#).contains("musher logs -f r3"));
        assert!(said(r#"{"status":"added","story":"s1"}"#).contains("musher start s1"));
        assert_eq!(said(r#"{"status":"sent"}"#), "the prompt is sent");
        assert!(said(r#"{"status":"pending","command":"c1"}"#).contains("is kept"));
        assert_eq!(said(r#"{"status":"from_the_future","x":1}"#), "the prompt is sent");
    }
}
