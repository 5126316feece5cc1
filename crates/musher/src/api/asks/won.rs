//! Who or what answered an ask, for an answer that comes second.

use musher_core::{Answer, AskId, ClosedBy, RunId, Sender};

use super::super::Shared;
use crate::journal::{AskPhase, AskView};

/// How much of a person's own words is told in a sentence.
const WORDS: usize = 120;

/// Who answered an ask, or what closed it, and with which answer.
#[derive(Debug, Clone)]
pub(crate) struct Won {
    /// As in the event `ask_closed`: `person`, `rule`, `deadline`, `agent` and so on.
    pub(super) by: ClosedBy,
    /// For people: the name of the browser or program, `the command line`, `a tool rule`, `the deadline`.
    pub(super) who: String,
    /// The answer, as far as it is known.
    pub(super) answer: Option<Answer>,
}

impl Won {
    /// What is known of it; nothing while the ask is open.
    pub(super) fn of(ask: &AskView, answer: Option<Answer>, api: &Shared) -> Option<Self> {
        let by = match ask.state {
            AskPhase::Open => return None,
            AskPhase::Offered | AskPhase::Answered => ClosedBy::Person,
            AskPhase::Closed => ask.by?,
        };
        let who = match (by, &ask.from) {
            (ClosedBy::Person, Some(from)) => sender(from, api),
            (ClosedBy::Person, None) => "a person".to_owned(),
            (ClosedBy::Rule, _) => "a tool rule".to_owned(),
            (ClosedBy::Deadline, _) => "the deadline".to_owned(),
            (ClosedBy::Unattended, _) => "the rule for runs that nobody attends".to_owned(),
            (ClosedBy::Agent, _) => "the agent".to_owned(),
            (ClosedBy::TurnEnd, _) => "the end of the turn".to_owned(),
            (ClosedBy::ProcessEnd, _) => "the end of the agent".to_owned(),
        };
        Some(Self { by, who, answer })
    }

    /// The same in a sentence.
    pub(super) fn sentence(&self, run: RunId, ask: &AskId) -> String {
        let done = match &self.answer {
            None if self.by == ClosedBy::Person => "answered".to_owned(),
            None => "closed".to_owned(),
            Some(Answer::Allow { input: None }) => "approved".to_owned(),
            Some(Answer::Allow { input: Some(_) }) => "approved with changes".to_owned(),
            Some(Answer::AllowAlways { .. }) => "always allowed".to_owned(),
            Some(Answer::Deny { reason } | Answer::DenyAndInterrupt { reason }) => {
                format!("denied (“{}”)", short(reason))
            }
            Some(Answer::Replies { replies }) => {
                let said: Vec<String> =
                    replies.iter().map(musher_core::QuestionReply::joined).collect();
                format!("answered (“{}”)", short(&said.join("; ")))
            }
            Some(Answer::Form { .. }) => "filled in".to_owned(),
        };
        format!("ask {ask} of run {run} was already {done} by {}", self.who)
    }
}

fn sender(from: &Sender, api: &Shared) -> String {
    let named = |token: &str| {
        let held = api.access.tokens().list();
        let held = held.into_iter().find(|held| held.id == token);
        held.map_or_else(|| format!("token {token}, which was revoked"), |held| held.name)
    };
    match from {
        Sender::CommandLine => "the command line".to_owned(),
        Sender::Token { token } => named(token),
        Sender::Assistant { token: None } => "an assistant".to_owned(),
        Sender::Assistant { token: Some(token) } => format!("the assistant {}", named(token)),
    }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
