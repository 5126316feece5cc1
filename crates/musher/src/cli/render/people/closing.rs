//! The closing line: how it ended, what it took, what it cost.

use std::io;

use musher_core::{ErrorInfo, Outcome, SessionEnded};

use super::super::super::money;
use super::super::super::terminal::tell;
use super::super::super::text::plain;
use super::{DIM, GREEN, People, RED, YELLOW};

impl People {
    pub(super) fn closing(&mut self, end: &SessionEnded) -> io::Result<()> {
        self.lines.close()?;
        if let Some(error) = &end.error {
            print(error);
        }
        if end.turns == 0 && end.session.is_none() && end.error.is_some() {
            // Nothing ran, so there is nothing to sum up.
            return Ok(());
        }
        let style = match end.outcome {
            Outcome::Completed => GREEN,
            Outcome::Failed | Outcome::Lost => RED,
            Outcome::Stopped
            | Outcome::Interrupted
            | Outcome::TimedOut
            | Outcome::OutOfTurns
            | Outcome::OutOfBudget => YELLOW,
        };
        let bold = style.bold();
        let facts = [
            format!("{bold}● {}{bold:#}", end.outcome.as_str()),
            plural(end.turns, "turn"),
            plural(end.model_calls, "model call"),
            format!(
                "{} in, {} out",
                money::tokens(end.usage.context()),
                money::tokens(end.usage.output)
            ),
            money::of_end(end),
            format!("{:.1} s", end.duration_ms as f64 / 1000.0),
        ];
        self.lines.line(&facts.join(" · "))?;
        match &end.session {
            Some(session) => self.lines.line(&format!("{DIM}  session {session}{DIM:#}")),
            None => Ok(()),
        }
    }
}

fn print(error: &ErrorInfo) {
    let bold = RED.bold();
    tell(&format!("{bold}error:{bold:#} {}", plain(&error.to_string())));
    if let Some(hint) = &error.hint {
        tell(&format!("  fix: {}", plain(hint)));
    }
}

fn plural(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
