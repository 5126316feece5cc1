//! A run as a text to be read: what was asked, said and done, and how it ended.

use std::collections::HashMap;
use std::fmt::Write as _;

use musher_core::{Answer, Ask, Event, EventKind, ItemBody, Level, Origin, ToolPhase, ToolUpdate};

use crate::journal::RunView;

/// Calls whose names are remembered until their end; more are told without a name.
const UNDER_WAY: usize = 1_000;

/// Writes one event after the other.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The names of calls that are under way.
    calls: HashMap<String, String>,
}

/// What stands at the top.
pub(super) fn opening(run: &RunView, title: Option<&str>) -> String {
    let mut out = format!("# {}: {}\n\n", run.id, one_line(title.unwrap_or(run.story.as_str())));
    let mut row = |name: &str, value: &str| {
        // Writing to a text cannot fail.
        let _infallible = writeln!(out, "- {name}: {}", one_line(value));
    };
    row("Story", run.story.as_str());
    row("Agent", run.agent.as_str());
    if let Some(model) = &run.model {
        row("Model", model);
    }
    if let Some(branch) = &run.branch {
        row("Branch", branch);
    }
    if let Some(at) = run.started_at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()) {
        row("Started", &at.to_string());
    }
    let known = run.spent.known_cost_usd;
    let cost = match run.spent.cost_usd {
        Some(cost) if run.spent.estimated => format!("≈ ${cost:.4}"),
        Some(cost) => format!("${cost:.4}"),
        None if known > 0.0 => format!("at least ${known:.4}, and more that is unknown"),
        None => "unknown".to_owned(),
    };
    row("Cost", &cost);
    out.push('\n');
    out
}

impl Markdown {
    /// Writes what a line of the log says to people.
    pub(super) fn write(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Ok(event) = serde_json::from_slice::<Event>(line) else { return };
        if let Some(text) = self.told(&event) {
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\n\n");
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for programs")]
    fn told(&mut self, event: &Event) -> Option<String> {
        Some(match &event.kind {
            EventKind::TurnStarted { .. } => format!("## Turn {}", event.turn.unwrap_or_default()),
            EventKind::UserMessage { text, origin, .. } => match origin {
                Origin::Prompt => format!("**Prompt**\n\n{}", quoted(text)),
                Origin::Steer => format!("**Said meanwhile**\n\n{}", quoted(text)),
                Origin::Synthetic | Origin::Replay => return None,
            },
            EventKind::ItemDone { body, .. } => match body {
                ItemBody::Text { text } => text.trim_end().to_owned(),
                ItemBody::Reasoning { text, .. } if !text.trim().is_empty() => {
                    format!("*Thought*\n\n{}", quoted(text))
                }
                ItemBody::Reasoning { .. } | ItemBody::Other { .. } => return None,
            },
            EventKind::Tool(update) => return self.tool(update),
            EventKind::AskOpened { body, settled: false, .. } => {
                format!("**Asked** {}", asked(body))
            }
            EventKind::AskClosed { answer: Some(answer), .. } => {
                format!("**Answer**: {}", answered(answer))
            }
            EventKind::Notice { level: Level::Warning | Level::Error, text, .. } => {
                format!("**Notice**: {}", one_line(text))
            }
            EventKind::Error { error } => format!("**Error**: {}", one_line(&error.message)),
            EventKind::Compaction { done: true, .. } => {
                "*The conversation was shortened.*".to_owned()
            }
            EventKind::SessionEnded(ended) => {
                let outcome = serde_json::to_value(ended.outcome).unwrap_or_default();
                let outcome = outcome.as_str().unwrap_or_default().replace('_', " ");
                match &ended.error {
                    Some(error) => format!("## End: {outcome}\n\n{}", quoted(&error.message)),
                    None => format!("## End: {outcome}"),
                }
            }
            _ => return None,
        })
    }

    fn tool(&mut self, update: &ToolUpdate) -> Option<String> {
        if let Some(name) = &update.name {
            if self.calls.len() < UNDER_WAY {
                self.calls.insert(update.call.as_str().to_owned(), name.clone());
            }
            let subject = update.subject.as_deref().unwrap_or_default();
            let mut text = format!("**{}**", one_line(name));
            if !subject.is_empty() {
                text.push(' ');
                text.push_str(&code(subject));
            }
            for edit in &update.edits {
                let mut changed = String::new();
                for line in edit.old.iter().flat_map(|old| old.lines()) {
                    let _infallible = writeln!(changed, "-{line}");
                }
                for line in edit.new.lines() {
                    let _infallible = writeln!(changed, "+{line}");
                }
                let _infallible = write!(text, "\n\n{}", fenced("diff", &changed));
            }
            return Some(text);
        }
        if !update.phase.is_final() {
            return None;
        }
        let name = self.calls.remove(update.call.as_str());
        let how = match update.phase {
            ToolPhase::Failed => Some("failed"),
            ToolPhase::Denied => Some("was denied"),
            ToolPhase::Cancelled => Some("was cancelled"),
            ToolPhase::Proposed
            | ToolPhase::Running
            | ToolPhase::Progress
            | ToolPhase::Completed => None,
        };
        let output = update.output.as_ref().map(|output| output.text.as_str()).unwrap_or_default();
        let output = (!output.trim().is_empty()).then(|| fenced("", output));
        let how = how.map(|how| format!("*{} {how}.*", name.as_deref().unwrap_or("The call")));
        match (how, output) {
            (None, None) => None,
            (how, output) => {
                Some([how, output].into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
            }
        }
    }
}

fn asked(body: &Ask) -> String {
    match body {
        Ask::Approval(approval) => {
            let subject = approval.subject.as_deref().unwrap_or_default();
            format!("for approval: {} {}", one_line(&approval.tool), code(subject))
        }
        Ask::Question { questions } => {
            let texts: Vec<String> = questions.iter().map(|it| quoted(&it.text)).collect();
            format!("a question\n\n{}", texts.join("\n\n"))
        }
        Ask::Plan { plan } => format!("about its plan\n\n{}", quoted(plan)),
        Ask::Form { message, .. } => format!("for a form\n\n{}", quoted(message)),
    }
}

fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Allow { .. } => "allowed".to_owned(),
        Answer::AllowAlways { .. } => "allowed, and similar ones".to_owned(),
        Answer::Deny { reason } | Answer::DenyAndInterrupt { reason } => {
            format!("denied: {}", one_line(reason))
        }
        Answer::Replies { replies } => {
            let replies: Vec<String> =
                replies.iter().map(|reply| one_line(&reply.joined())).collect();
            replies.join("; ")
        }
        Answer::Form { .. } => "the form was filled in".to_owned(),
    }
}

/// A text as a quotation.
fn quoted(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A text in a block of its own, which nothing in it can end.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A text inside of a line, which nothing in it can end.
fn code(text: &str) -> String {
    let text = one_line(text);
    match longest_run(&text) {
        0 => format!("`{text}`"),
        run => {
            let fence = "`".repeat(run + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_ends_its_own_block(text in "[`a\n~ ]{0,40}") {
            let block = fenced("", &text);
            let (fence, rest) = block.split_once('\n').unwrap();
            let inside = rest.strip_suffix(fence).unwrap();
            prop_assert!(fence.len() >= 3 && !inside.contains(fence));
        }
    }
}
