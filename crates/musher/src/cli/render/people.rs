//! For people: text as it comes, one line per tool call, a spinner while waiting, a closing line.

mod closing;
mod line;
mod reading;

use std::collections::HashMap;
use std::io;

use anstyle::{AnsiColor, Style};
use musher_core::{
    Ask, AskId, CallId, Channel, ClosedBy, Delta, Event, EventKind, EventScope, ItemBody, ItemId,
    Level, ToolPhase, ToolUpdate,
};
use musher_runtime::SessionOutput;

use super::super::ask;
use super::super::terminal::{tell, width};
use super::super::text::{last_line, one_line, plain};
use super::View;
use line::TerminalLines;

/// Stands before what the agent thinks, where colours do not tell it apart.
const THOUGHT: &str = "✻ ";
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// A session on a terminal or in a pipe.
#[derive(Debug, Default)]
pub(crate) struct People {
    lines: TerminalLines,
    /// Content that was shown piece by piece, with what was shown of it.
    streamed: Option<(ItemId, String)>,
    /// The name and subject of calls that are not done.
    tools: HashMap<CallId, (String, String)>,
    model: Option<String>,
    /// The agent's own permission mode, once it was told.
    mode: Option<String>,
    /// A turn is under way.
    working: bool,
    /// What is asked and not closed yet, in a few words.
    asks: HashMap<AskId, String>,
    seat: Audience,
    /// The names of tokens by their ids, to say who has answered.
    holders: HashMap<String, String>,
}

/// Where the person sits: before the run itself, or before its log.
#[derive(Debug, Default)]
enum Audience {
    /// Asks are put to the person, who also knows what was prompted.
    #[default]
    Host,
    /// Prompts, asks and answers are told, with the commands that answer.
    Reader { run: String },
}

impl People {
    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        let style = match delta.channel {
            Channel::Text if delta.scope.is_main() => Style::new(),
            Channel::Reasoning if delta.scope.is_main() => DIM.italic(),
            // A call is told in one line when it is done, and a helper when it has finished.
            Channel::Text | Channel::Reasoning | Channel::ToolInput | Channel::ToolOutput => {
                return Ok(());
            }
        };
        if self.streamed.as_ref().is_none_or(|(item, _)| *item != delta.item) {
            self.lines.close()?;
            self.streamed = Some((delta.item.clone(), String::new()));
            if delta.channel == Channel::Reasoning {
                self.lines.stream(THOUGHT)?;
            }
        }
        if let Some((_, shown)) = &mut self.streamed {
            shown.push_str(&delta.text);
        }
        self.lines.stream(&format!("{style}{}{style:#}", plain(&delta.text)))
    }

    fn item(&mut self, item: &ItemId, body: &ItemBody, scope: &EventScope) -> io::Result<()> {
        if let Some((_, shown)) = self.streamed.take_if(|(streamed, _)| streamed == item) {
            // Whoever follows from afar may have missed the end of it.
            let rest = match body {
                ItemBody::Text { text } | ItemBody::Reasoning { text, .. } => {
                    text.strip_prefix(shown.as_str()).unwrap_or_default()
                }
                ItemBody::Other { .. } => "",
            };
            if !rest.is_empty() {
                self.lines.stream(&plain(rest))?;
            }
            return self.lines.close();
        }
        let italic = DIM.italic();
        match (body, scope) {
            (ItemBody::Reasoning { text, .. }, _) if text.is_empty() => Ok(()),
            (ItemBody::Text { text }, EventScope::Main) => self.lines.line(&plain(text)),
            (ItemBody::Reasoning { text, .. }, EventScope::Main) => {
                self.lines.line(&format!("{THOUGHT}{italic}{}{italic:#}", plain(text)))
            }
            (
                ItemBody::Text { text } | ItemBody::Reasoning { text, .. },
                EventScope::Subagent { .. },
            ) => {
                let text = one_line(text, width().saturating_sub(4));
                self.lines.line(&format!("{DIM}  │ {text}{DIM:#}"))
            }
            (ItemBody::Other { name, .. }, _) => {
                self.lines.line(&format!("{DIM}[{}]{DIM:#}", plain(name)))
            }
        }
    }

    fn tool(&mut self, update: &ToolUpdate, scope: &EventScope, asking: bool) -> io::Result<()> {
        let known = self.tools.entry(update.call.clone()).or_default();
        known.0.clone_from(update.name.as_ref().unwrap_or(&known.0.clone()));
        known.1.clone_from(update.subject.as_ref().unwrap_or(&known.1.clone()));
        let (name, subject) = known.clone();
        let failure = update.output.as_ref().map_or_else(String::new, |output| {
            match (last_line(&output.text, 60), output.exit_code) {
                (words, Some(code)) if words.is_empty() => format!("exit code {code}"),
                (words, _) => words,
            }
        });
        let (style, sign, why) = match update.phase {
            ToolPhase::Proposed | ToolPhase::Running | ToolPhase::Progress => {
                if !asking {
                    self.lines.wait(&format!("{name} {}", one_line(&subject, 60)));
                }
                return Ok(());
            }
            ToolPhase::Completed => (GREEN, "✓", None),
            ToolPhase::Failed => (RED, "✗", Some(failure.as_str())),
            ToolPhase::Denied => (YELLOW, "⊘", update.reason.as_deref().or(Some("denied"))),
            ToolPhase::Cancelled => (DIM, "∅", Some("cancelled")),
        };
        self.tools.remove(&update.call);
        let indent = if scope.is_main() { "" } else { "  │ " };
        let why = why.map(|why| format!(" — {}", one_line(why, 60))).unwrap_or_default();
        let room = width().saturating_sub(name.len() + indent.len() + why.chars().count() + 4);
        self.lines.line(&format!(
            "{indent}{style}{sign} {}{style:#} {}{DIM}{why}{DIM:#}",
            plain(&name),
            one_line(&subject, room.max(20)),
        ))
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "people see what matters to them; --json has the rest"
    )]
    fn event(&mut self, event: &Event, asking: bool) -> io::Result<()> {
        match &event.kind {
            EventKind::SessionInfo(info) => {
                if info.model.is_some() && info.model != self.model {
                    self.model.clone_from(&info.model);
                    self.lines.wait(if self.working { "thinking" } else { "starting" });
                }
                let Some(mode) = &info.permission_mode else { return Ok(()) };
                match self.mode.replace(mode.clone()) {
                    Some(before) if before != *mode => {
                        self.lines.line(&format!("{DIM}mode is now {}{DIM:#}", plain(mode)))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            EventKind::TurnStarted { .. } => {
                self.working = true;
                self.lines.wait("thinking");
                Ok(())
            }
            EventKind::TurnEnded(_) => {
                self.working = false;
                Ok(())
            }
            EventKind::UserMessage { text, .. } => self.prompted(text),
            EventKind::AskOpened { ask, body, settled, .. } => {
                self.asks.insert(ask.clone(), in_short(body));
                if *settled { Ok(()) } else { self.asked(ask, body) }
            }
            EventKind::ItemDone { item, body, aborted } => {
                self.item(item, body, &event.scope)?;
                match aborted {
                    true => self.lines.line(&format!("{DIM}[broken off]{DIM:#}")),
                    false => Ok(()),
                }
            }
            EventKind::Tool(update) => self.tool(update, &event.scope, asking),
            EventKind::ItemsRetracted { why, .. } => self
                .lines
                .line(&format!("{YELLOW}↺ the text above was retracted: {}{YELLOW:#}", plain(why))),
            EventKind::AskClosed { ask, by, answer, who, .. } => {
                let about = self.asks.remove(ask).unwrap_or_default();
                match by {
                    ClosedBy::Unattended => self
                        .lines
                        .line(&format!("{YELLOW}⊘ nobody is there to answer: {about}{YELLOW:#}")),
                    ClosedBy::Deadline => self
                        .lines
                        .line(&format!("{YELLOW}⊘ no answer came in time: {about}{YELLOW:#}")),
                    ClosedBy::Person => self.answered(answer.as_ref(), who.as_ref()),
                    ClosedBy::Rule | ClosedBy::Agent | ClosedBy::TurnEnd | ClosedBy::ProcessEnd => {
                        Ok(())
                    }
                }
            }
            EventKind::Retry { attempt, max, delay_ms, cause } => {
                let of = max.map(|max| format!("/{max}")).unwrap_or_default();
                let wait = delay_ms
                    .map(|ms| format!(" in {:.1} s", ms as f64 / 1000.0))
                    .unwrap_or_default();
                let cause = plain(&cause.to_string());
                self.lines.line(&format!("{YELLOW}↻ retry {attempt}{of}{wait}: {cause}{YELLOW:#}"))
            }
            EventKind::RateLimit(limit) if limit.exhausted => {
                let window = plain(limit.window.as_deref().unwrap_or("usage"));
                self.lines.line(&format!("{YELLOW}⏳ the {window} limit is used up{YELLOW:#}"))
            }
            EventKind::Compaction { done: true, .. } => {
                self.lines.line(&format!("{DIM}⇲ the conversation was compacted{DIM:#}"))
            }
            EventKind::ModelChanged { to, .. } => {
                self.model = Some(to.clone());
                self.lines.line(&format!("{DIM}model is now {}{DIM:#}", plain(to)))
            }
            EventKind::Notice { level, text, .. } => {
                let style = match level {
                    Level::Info => DIM,
                    Level::Warning => YELLOW,
                    Level::Error => RED,
                };
                self.lines.line(&format!("{style}{}{style:#}", plain(text)))
            }
            EventKind::Unparsed { text, .. } => {
                self.lines.line(&format!("{DIM}{}{DIM:#}", one_line(text, width())))
            }
            EventKind::SessionEnded(end) => self.closing(end),
            _ => Ok(()),
        }
    }
}

impl View for People {
    fn show(&mut self, output: &SessionOutput, asking: bool) -> io::Result<()> {
        match output {
            SessionOutput::Event(event) => self.event(event, asking),
            SessionOutput::Delta(delta) => self.delta(delta),
        }
    }

    fn ask(&mut self, text: &str) {
        // A terminal that is gone is noticed when the next output is shown.
        let _gone = self.lines.line(text).and_then(|()| self.lines.prompt());
    }

    fn say(&mut self, text: &str) {
        let _gone = self.lines.close();
        tell(&format!("{DIM}{text}{DIM:#}"));
    }
}

/// An ask in a few words, with what would have settled it.
fn in_short(ask: &Ask) -> String {
    let short = ask::in_short(ask);
    match ask {
        Ask::Approval(approval) => {
            format!("{short} (a rule such as --allow {} settles it)", approval.tool_kind.as_str())
        }
        Ask::Question { .. } | Ask::Plan { .. } | Ask::Form { .. } => short,
    }
}
