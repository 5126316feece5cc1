//! What a scenario may know of a request, whatever the wire format it came in.

use serde_json::Value;

use super::ledger::Call;
use super::marker::Marker;
use super::mint;
use super::quirk::Quirks;

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Wire {
    /// How the ids of tool calls begin.
    pub(super) fn tool_prefix(self) -> &'static str {
        match self {
            Self::Messages => "toolu_s",
            Self::Responses | Self::Chat => "call_s",
            Self::Gemini => "function-call-s",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A person, or the program that speaks in the person's name.
    User,
    Model,
    /// Words slipped into the conversation by the client: Claude Code hands over a message typed during a tool this way.
    System,
}

/// One message, reduced to its words and the ids of the tool calls it makes; a call without an id has an empty one.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) speaker: Speaker,
    pub(super) texts: Vec<String>,
    pub(super) tool_calls: Vec<String>,
}

/// A tool that the client offers.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: String,
    /// The JSON schema of its arguments.
    pub(super) schema: Value,
}

#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) wire: Wire,
    pub(super) path: String,
    pub(super) model: String,
    pub(super) stream: bool,
    /// Text outside the messages; the client's description of its surroundings is often here.
    pub(super) system: Vec<String>,
    pub(super) tools: Vec<Offer>,
    pub(super) turns: Vec<Turn>,
}

impl Conversation {
    /// A request without tools, or with tools that may not be called, asks for a title or a summary, not for work.
    pub(super) fn is_side(&self) -> bool {
        self.tools.is_empty()
    }

    pub(super) fn offer(&self, tool: &str) -> Option<&Offer> {
        self.tools.iter().find(|offer| offer.name == tool)
    }

    /// The marker in force and the step it has reached, read off the conversation itself.
    ///
    /// The step is one more than the highest step among our own tool-call ids after the marker. Nothing is remembered,
    /// so a resumed, forked or replayed conversation lands where it left off. Where the client had to make up the ids,
    /// the messages with calls are counted instead.
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
        let since = &self.turns[at.min(self.turns.len())..];
        let step = since
            .iter()
            .flat_map(|turn| &turn.tool_calls)
            .filter_map(|id| mint::step_of(id))
            .max()
            .map_or_else(
                || since.iter().filter(|turn| !turn.tool_calls.is_empty()).count(),
                |step| step + 1,
            );
        (marker, step)
    }

    /// How the server is asked to misbehave; names that nobody knows are refused when the scenario is played.
    pub(super) fn quirks(&self) -> Quirks {
        let (marker, _) = self.position();
        Quirks::read(&marker.text("quirk", "")).unwrap_or_default()
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
            path: self.path.clone(),
            model: self.model.clone(),
            scenario,
            step,
            stream: self.stream,
            status: 0,
            usage: super::Usage::default(),
            charged: super::Usage::default(),
            end: super::CallEnd::Open,
            counted: false,
            messages: self.turns.len(),
            prompt: self.user_texts().next_back().unwrap_or_default().to_owned(),
        }
    }
}
