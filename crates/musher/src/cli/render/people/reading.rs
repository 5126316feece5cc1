//! What the reader of a log is told beside what the host of a run sees.

use std::collections::HashMap;
use std::io;

use musher_core::{Answer, Ask, AskId, GrantFor, Who};

use super::super::super::ask::{described, indented};
use super::super::super::text::plain;
use super::{Audience, DIM, People};

impl People {
    /// For the log of this run, which is shown to somebody who was not there.
    pub(crate) fn reading(run: String, holders: HashMap<String, String>) -> Self {
        Self { seat: Audience::Reader { run }, holders, ..Self::default() }
    }

    /// What was shown piece by piece broke off, so the whole text is shown when it comes.
    pub(crate) fn broke_off(&mut self) -> io::Result<()> {
        self.streamed = None;
        self.lines.close()
    }

    pub(super) fn prompted(&mut self, text: &str) -> io::Result<()> {
        match &self.seat {
            Audience::Host => Ok(()),
            Audience::Reader { .. } => {
                let text = plain(text);
                let mut lines = text.lines();
                let first = lines.next().unwrap_or_default();
                let rest = indented(&lines.collect::<Vec<_>>().join("\n"));
                self.lines.line(&format!("{DIM}›{DIM:#} {first}{rest}"))
            }
        }
    }

    pub(super) fn asked(&mut self, ask: &AskId, body: &Ask) -> io::Result<()> {
        let Audience::Reader { run } = &self.seat else { return Ok(()) };
        let ask = plain(ask.as_str());
        let how = match body {
            Ask::Approval(_) | Ask::Plan { .. } => {
                format!("musher approve {run} {ask}, or musher deny {run} {ask}")
            }
            Ask::Question { .. } | Ask::Form { .. } => format!("musher answer {run} {ask} …"),
        };
        self.lines.line(&format!("{}\n  {DIM}{how}{DIM:#}", described(body)))
    }

    pub(super) fn answered(
        &mut self,
        answer: Option<&Answer>,
        who: Option<&Who>,
    ) -> io::Result<()> {
        let said = match (&self.seat, answer) {
            (Audience::Host, _) | (_, None) => return Ok(()),
            (_, Some(Answer::Allow { .. })) => "yes".into(),
            (_, Some(Answer::AllowAlways { rule: None, .. })) => "yes, always".into(),
            (_, Some(Answer::AllowAlways { rule: Some(rule), holds_for })) => match holds_for {
                GrantFor::Run => format!("yes, and {rule} for this run"),
                GrantFor::Agent => format!("yes, and always {rule}"),
                GrantFor::Project => format!("yes, and always {rule} for every agent"),
            },
            (_, Some(Answer::Deny { reason })) => format!("no: {reason}"),
            (_, Some(Answer::DenyAndInterrupt { reason })) => {
                format!("no, and end the turn: {reason}")
            }
            (_, Some(Answer::Replies { replies })) => {
                let replies: Vec<String> = replies.iter().map(|reply| reply.joined()).collect();
                replies.join("; ")
            }
            (_, Some(Answer::Form { .. })) => "the form was filled in".into(),
        };
        let by = match who {
            Some(Who::Program { token }) => {
                let name = self.holders.get(token.as_str());
                name.map_or_else(|| format!(" (by token {token})"), |name| format!(" (by {name})"))
            }
            Some(Who::Owner | Who::Run { .. } | Who::Pool | Who::Unknown) | None => String::new(),
        };
        self.lines.line(&format!("{DIM}› {}{DIM:#}", plain(&format!("{said}{by}"))))
    }

    /// Leaves the terminal as it was found.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.lines.close()
    }
}
