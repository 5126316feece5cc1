//! Makes a conversation shorter before it outgrows the model: all of it is told by a summary from then on.

use musher_core::{ErrorClass, ErrorInfo, EventKind};

use super::agent::ModelAgent;
use super::call::estimated;
use super::inbox::WaitBroken;
use super::stop::StopReason;
use super::wire::{HistoryEntry, ToolChoice};

/// A summary is worth its price only when there is more than this to tell.
const MIN_HISTORY_ENTRIES: usize = 3;
/// How often the conversation is cut down further when even the request for a summary does not fit.
const TRIES: u32 = 4;
/// What is left of a long result when a summary is asked for.
const RESULT: usize = 2000;
/// What an image counts for, in bytes of text: vendors take up to about 1600 tokens for a large one.
const IMAGE_SIZE: usize = 6400;
/// The prompt is repeated word by word, unless it is longer than this.
const PROMPT: usize = 64 * 1024;

const ASK: &str = "The conversation is about to be cut, because it has become too long. Write a summary with which \
you can go on with the work as if nothing had happened: what was asked, word by word where it matters; what you found \
out, with the names of files, functions and commands; what you changed and why; what failed; what is left to do, and \
the next step. Write nothing but the summary, and call no tool.";

const TOLD: &str =
    "This is the summary of the conversation so far, which was cut because it had become too long:";

impl ModelAgent {
    /// Makes the conversation shorter if the next answer might not fit.
    pub(super) async fn make_room(&mut self) -> Result<(), WaitBroken> {
        let Some(window) = self.window() else { return Ok(()) };
        let known = self.prices.find(&self.model).and_then(|model| model.max_output);
        let answer = self.spec.model_options.max_output.or(known).unwrap_or(0);
        let limit = window.saturating_sub(answer.clamp(window / 10, window / 5));
        if self.history.entries.len() < MIN_HISTORY_ENTRIES || self.used() <= limit {
            return Ok(());
        }
        self.compact().await
    }

    /// How much of the window the next request takes, as far as it can be told.
    fn used(&self) -> u64 {
        let fresh = self.history.entries.get(self.shown..).unwrap_or_default();
        let fresh = estimated(fresh.iter().map(size).sum());
        if self.context > 0 {
            return self.context.saturating_add(fresh);
        }
        let tools = self.offered.iter().map(|tool| {
            tool.input_schema.to_string().len() + tool.description.len() + tool.name.len()
        });
        let all = self.history.entries.iter().map(size);
        estimated(all.chain(tools).sum::<usize>() + self.system.len())
    }

    /// Has the model tell what happened so far, and goes on with that.
    pub(super) async fn compact(&mut self) -> Result<(), WaitBroken> {
        let before = self.used();
        let compaction = |done, after| EventKind::Compaction {
            done,
            auto: Some(true),
            before: Some(before),
            after,
        };
        self.outbox.event(compaction(false, None)).await?;
        let summary = self.summary().await?;
        let prompt = self.prompt();
        let cut = prompt.floor_char_boundary(prompt.len().min(PROMPT));
        let text = format!(
            "{TOLD}\n\n{summary}\n\nThis is what you were asked last:\n\n{}\n\nContinue with it.",
            &prompt[..cut]
        );
        self.history.compact(vec![HistoryEntry::said(text)]).map_err(WaitBroken::Failed)?;
        (self.context, self.shown) = (0, 0);
        let after = Some(self.used());
        self.outbox.event(compaction(true, after)).await
    }

    async fn summary(&mut self) -> Result<String, WaitBroken> {
        let whole = self.history.entries.clone();
        let mut most = match self.window() {
            // Bytes, at four to a token and with room for the summary.
            Some(window) => usize::try_from(window.saturating_mul(4) / 2).unwrap_or(usize::MAX),
            None => whole.iter().map(size).sum::<usize>() / 2,
        };
        for _ in 0..TRIES {
            let mut entries = shortened(&whole, most);
            entries.push(HistoryEntry::said(ASK));
            self.history.entries = entries;
            self.quiet = true;
            let answer = self.call(ToolChoice::None).await;
            self.quiet = false;
            self.history.entries.clone_from(&whole);
            match answer {
                // A summary that was cut is one. What a model says to decline is none.
                Ok(answer) if answer.end.stop == StopReason::Declined => {
                    return Err(answer.end.broken(0).unwrap_or(WaitBroken::Ending));
                }
                Ok(answer) if !answer.text.trim().is_empty() => return Ok(answer.text),
                Ok(_) => break,
                Err(WaitBroken::Failed(error)) if error.class == ErrorClass::ContextOverflow => {
                    most /= 2;
                }
                Err(broken) => return Err(broken),
            }
        }
        let message = "the conversation no longer fits the model, and it gave no summary of it";
        Err(WaitBroken::Failed(
            ErrorInfo::new(ErrorClass::ContextOverflow, message)
                .with_hint("begin a new session, or use a model with a larger window"),
        ))
    }
}

fn size(entry: &HistoryEntry) -> usize {
    match entry {
        HistoryEntry::User { text, images } => text.len() + images.len() * IMAGE_SIZE,
        HistoryEntry::Model { raw, text, .. } => {
            text.len().max(raw.iter().map(|json| json.to_string().len()).sum())
        }
        HistoryEntry::Results { results } => results.iter().map(|result| result.text.len()).sum(),
    }
}

/// The conversation in at most so many bytes: first long results are cut, then the oldest answers are left out, each
/// with its results, because neither is taken without the other.
fn shortened(entries: &[HistoryEntry], most: usize) -> Vec<HistoryEntry> {
    let total = |entries: &[HistoryEntry]| entries.iter().map(size).sum::<usize>();
    let mut short = entries.to_vec();
    if total(&short) <= most {
        return short;
    }
    for entry in &mut short {
        if let HistoryEntry::Results { results } = entry {
            for result in results.iter_mut().filter(|result| result.text.len() > RESULT) {
                let cut = result.text.floor_char_boundary(RESULT);
                result.text.truncate(cut);
                result.text.push_str("\n[the rest was left out]");
            }
        }
    }
    while total(&short) > most {
        let Some(at) = short.iter().position(|entry| matches!(entry, HistoryEntry::Model { .. }))
        else {
            break;
        };
        let results = matches!(short.get(at + 1), Some(HistoryEntry::Results { .. }));
        short.drain(at..=at + usize::from(results));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::super::wire::{CallArguments, CallResult, ToolRequest};
    use super::*;

    fn round(number: usize, length: usize) -> [HistoryEntry; 2] {
        let id = format!("call-{number}");
        let input = CallArguments::Json(serde_json::json!({}));
        let call = ToolRequest { id: id.clone(), name: "read_file".into(), input, minted: false };
        let text = "x".repeat(length);
        let result =
            CallResult { id, name: "read_file".into(), text, failed: false, minted: false };
        [
            HistoryEntry::Model {
                wire: "w".into(),
                raw: vec![],
                text: "Hm.".into(),
                calls: vec![call],
            },
            HistoryEntry::Results { results: vec![result] },
        ]
    }

    #[test]
    fn what_is_left_out_is_left_out_with_its_results_and_the_prompt_stays() {
        let mut entries = vec![HistoryEntry::said("Do it.")];
        entries.extend((0..50).flat_map(|number| round(number, 10_000)));
        for most in [0, 5_000, 50_000, 200_000, 1_000_000] {
            let short = shortened(&entries, most);
            assert_eq!(short[0], entries[0]);
            for pair in short[1..].chunks(2) {
                let [HistoryEntry::Model { calls, .. }, HistoryEntry::Results { results }] = pair
                else {
                    panic!("a call without its result: {pair:?}");
                };
                assert_eq!(calls[0].id, results[0].id);
            }
            let size: usize = short.iter().map(size).sum();
            assert!(size <= most.max(6), "{size} of {most}");
        }
    }
}
