//! `musher take-back`: takes back a message that its agent was not told yet, or lists those.

use clap::Args;
use musher_runtime::now_ms;
use serde_json::json;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::table::{TextTable, Tone};
use super::text::{one_line, visible};
use super::{CliError, CliExit, age, out, receipt, tell};
use musher_client::api::{ApiQueuedMessage, ApiRun};

/// So much of a message is named.
const NAMED: usize = 60;
/// So many characters at the end of an id tell it from others; its beginning is the time at which it was made.
const SHORT: usize = 6;
/// Fewer characters name no message, so that a slip takes none back.
const MIN_ID_SUFFIX_BYTES: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct TakeBack {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// The message's id; lists queued messages if left out.
    id: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl TakeBack {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let run: ApiRun = client.read(&["runs", &self.run.wire()], &[]).await?;
        let Some(wanted) = &self.id else {
            match place.json() {
                true => out::document(&json!({ "run": run.id, "queued": run.queued }).to_string())?,
                false => list(&run)?,
            }
            return Ok(CliExit::Completed);
        };
        let (id, done) = match named(&run.queued, wanted) {
            Named::One(found) => {
                let text = one_line(&found.text, NAMED);
                (found.id.clone(), format!("withdrawn from {}: {text}", run.id))
            }
            Named::Several => {
                return Err(CliError::hinted(
                    format!("{} can mean several messages of {}", visible(wanted), run.id),
                    format!("give more of its id; `musher take-back {}` lists them", run.id),
                ));
            }
            // The server knows whether there was such a message, and what became of it.
            Named::None => (wanted.clone(), format!("withdrawn from {}", run.id)),
        };
        let path = ["runs", &run.id, "queued", &id];
        let reply = client.delete(&path, &json!({})).await?;
        receipt::told(&place, &reply, &done)
    }
}

enum Named<'a> {
    One(&'a ApiQueuedMessage),
    Several,
    None,
}

/// The message that a word means: by its whole id, or by the end of it.
fn named<'a>(queued: &'a [ApiQueuedMessage], word: &str) -> Named<'a> {
    let fits = |it: &&ApiQueuedMessage| {
        it.id == word || (word.len() >= MIN_ID_SUFFIX_BYTES && it.id.ends_with(word))
    };
    let found: Vec<&ApiQueuedMessage> = queued.iter().filter(fits).collect();
    match found.as_slice() {
        [] => Named::None,
        [only] => Named::One(only),
        _ => Named::Several,
    }
}

fn list(run: &ApiRun) -> Result<(), CliError> {
    if run.queued.is_empty() {
        return out::line(&format!("No messages are queued for {}.", run.id));
    }
    out::line(&table(&run.queued, now_ms()))?;
    tell(&format!("`musher take-back {} ID` withdraws one, until the next turn starts.", run.id));
    Ok(())
}

fn table(queued: &[ApiQueuedMessage], now: i64) -> String {
    let mut table = TextTable::new(&["ID", "AGE", "MESSAGE"]).right(&[1]);
    for message in queued {
        let row = [short(&message.id), age::age(message.at, now), one_line(&message.text, 200)];
        table.row(Tone::Heed, row);
    }
    table.text()
}

fn short(id: &str) -> String {
    let skipped = id.chars().count().saturating_sub(SHORT);
    id.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn a_message_is_named_by_its_id_or_the_end_of_it_and_never_by_less() {
        let message = |id: &str| ApiQueuedMessage { id: id.into(), text: "x\ny".into(), at: 0 };
        let all = [message("c0192aaaa1111"), message("c0192bbbb1111"), message("c0192bbbb2222")];
        let found = |word: &str| match named(&all, word) {
            Named::One(found) => found.id.clone(),
            Named::Several => "several".into(),
            Named::None => "none".into(),
        };
        assert_eq!(found("c0192aaaa1111"), "c0192aaaa1111");
        assert_eq!(found("a1111"), "c0192aaaa1111");
        assert_eq!(found("2222"), "c0192bbbb2222");
        assert_eq!(found("1111"), "several");
        assert_eq!(found("222"), "none");
        assert_eq!(found("c0192"), "none", "that is only when they were said");
        let table = plain(&table(&all, 60_000));
        assert!(table.contains("bb2222  1 m  x…"), "{table}");
    }
}
