//! What a scenario may know of a request, whatever the wire format it came in.

use super::ledger::Call;
use super::marker::Marker;
use super::mint;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A person, or the program that speaks in the person's name.
    User,
    Model,
    /// Words slipped into the conversation by the client: Claude Code hands over a message typed during a tool this way.
    System,
}

/// One message, reduced to its words and the ids of the tool calls it makes.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) speaker: Speaker,
    pub(super) texts: Vec<String>,
    pub(super) tool_calls: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) path: &'static str,
    pub(super) model: String,
    pub(super) stream: bool,
    /// Text outside the messages; the client's description of its surroundings is often here.
    pub(super) system: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) turns: Vec<Turn>,
}

impl Conversation {
    /// A request without tools asks for a title or a summary, not for work.
    pub(super) fn is_side(&self) -> bool {
        self.tools.is_empty()
    }

    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|offered| offered == tool)
    }

    /// The marker in force and the step it has reached, read off the conversation itself.
    ///
    /// The step is one more than the highest step among our own tool-call ids after the marker. Nothing is remembered,
    /// so a resumed, forked or replayed conversation lands where it left off.
    pub(super) fn position(&self) -> (Marker, usize) {
        let found = self
            .turns
            .iter()
            .enumerate()
            .filter(|(_, turn)| turn.speaker != Speaker::Model)
            .flat_map(|(at, turn)| turn.texts.iter().map(move |text| (at, text)))
            .filter_map(|(at, text)| Some((at, Marker::last_in(text)?)))
            .next_back();
        let (at, marker) = found.unwrap_or_else(|| (0, Marker::plain()));
        let step = self.turns[at.min(self.turns.len())..]
            .iter()
            .flat_map(|turn| &turn.tool_calls)
            .filter_map(|id| mint::step_of(id))
            .max()
            .map_or(0, |step| step + 1);
        (marker, step)
    }

    /// What the user said, without the reminders that the client adds in the user's name.
    pub(super) fn user_texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.turns
            .iter()
            .filter(|turn| turn.speaker == Speaker::User)
            .flat_map(|turn| &turn.texts)
            .map(String::as_str)
            .filter(|text| !text.trim_start().starts_with("<system-reminder>"))
    }

    /// The folder the agent works in, if the client told the model.
    pub(super) fn folder(&self) -> Option<&str> {
        let told = self.turns.iter().flat_map(|turn| &turn.texts);
        self.system.iter().chain(told).find_map(|text| {
            let (_, after) = text.split_once("orking directory: ")?;
            let line = after.lines().next()?.trim();
            line.starts_with('/').then_some(line)
        })
    }

    /// The ledger line for this request before it is answered.
    pub(super) fn call(&self) -> Call {
        let (marker, step) = self.position();
        let scenario = if self.is_side() { "side".to_owned() } else { marker.name };
        Call {
            path: self.path.to_owned(),
            model: self.model.clone(),
            scenario,
            step,
            stream: self.stream,
            status: 0,
            usage: super::Usage::default(),
            counted: false,
            messages: self.turns.len(),
            prompt: self.user_texts().next_back().unwrap_or_default().to_owned(),
        }
    }
}
