//! The wire formats as a client sees them, written apart from the server so that each can prove the other wrong.

mod chat;
mod gemini;
mod messages;
mod responses;

use musher_testkit::model::{ModelServer, Usage};
use serde_json::{Value, json};

use crate::wire::{Answer, Client};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Messages,
    Responses,
    Chat,
    Gemini,
    /// Gemini without `alt=sse`: a stream is one JSON array.
    GeminiArray,
}

/// What a client makes of an answer.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) thought: String,
    pub(crate) refusal: String,
    pub(crate) calls: Vec<Called>,
    /// The vendor's word for how it ended.
    pub(crate) finish: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) thoughts: u64,
    /// What goes back into the history.
    pub(crate) items: Vec<Value>,
    pub(crate) error: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    /// As the model wrote them.
    pub(crate) arguments: String,
}

impl Called {
    pub(crate) fn input(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap()
    }
}

pub(crate) const TOOLS: [&str; 6] =
    ["run_command", "read_file", "edit_file", "write_file", "finish", "ask_person"];

impl Dialect {
    pub(crate) const ALL: [Self; 5] =
        [Self::Messages, Self::Responses, Self::Chat, Self::Gemini, Self::GeminiArray];

    pub(crate) fn client(self, server: &ModelServer, stream: bool) -> Client {
        let method = if stream { "streamGenerateContent" } else { "generateContent" };
        let bearer: &[(&str, &str)] = &[("authorization", "Bearer dummy")];
        match self {
            Self::Messages => Client::of(server),
            Self::Responses => Client::to(server, "/v1/responses", bearer),
            Self::Chat => Client::to(server, "/v1/chat/completions", bearer),
            Self::Gemini => {
                let path = format!("/v1beta/models/gemini-3-test:{method}?alt=sse");
                Client::to(server, &path, &[("x-goog-api-key", "dummy")])
            }
            Self::GeminiArray => {
                let path = format!("/v1beta/models/gemini-3-test:{method}");
                Client::to(server, &path, &[("x-goog-api-key", "dummy")])
            }
        }
    }

    /// A request with all tools and one prompt.
    pub(crate) fn ask(self, prompt: &str, stream: bool) -> Value {
        match self {
            Self::Messages => messages::ask(prompt, stream),
            Self::Responses => responses::ask(prompt, stream),
            Self::Chat => chat::ask(prompt, stream),
            Self::Gemini | Self::GeminiArray => gemini::ask(prompt),
        }
    }

    pub(crate) fn read(self, answer: &Answer, stream: bool) -> Said {
        match (self, stream) {
            (Self::Messages, true) => messages::stream(&events(&answer.body)),
            (Self::Messages, false) => messages::plain(&answer.json()),
            (Self::Responses, true) => responses::stream(&events(&answer.body)),
            (Self::Responses, false) => responses::plain(&answer.json()),
            (Self::Chat, true) => chat::stream(&events(&answer.body)),
            (Self::Chat, false) => chat::plain(&answer.json()),
            (Self::Gemini, true) => gemini::responses(&events(&answer.body)),
            (Self::GeminiArray, true) => gemini::responses(answer.json().as_array().unwrap()),
            (Self::Gemini | Self::GeminiArray, false) => gemini::responses(&[answer.json()]),
        }
    }

    /// Appends what the model said and a result for each of its calls.
    pub(crate) fn append(self, body: &mut Value, said: &Said) {
        match self {
            Self::Messages => messages::append(body, said),
            Self::Responses => responses::append(body, said),
            Self::Chat => chat::append(body, said),
            Self::Gemini | Self::GeminiArray => gemini::append(body, said),
        }
    }

    /// Appends something that the user says.
    pub(crate) fn prompt(self, body: &mut Value, text: &str) {
        let (key, message) = match self {
            Self::Messages | Self::Chat => ("messages", json!({"role": "user", "content": text})),
            Self::Responses => ("input", json!({"role": "user", "content": text})),
            Self::Gemini | Self::GeminiArray => {
                ("contents", json!({"role": "user", "parts": [{"text": text}]}))
            }
        };
        body[key].as_array_mut().unwrap().push(message);
    }
}

/// The data of every whole event, by the letter of the format: any line end, comments, a byte order mark, many lines.
pub(crate) fn events(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let Some((whole, _)) = text.rsplit_once("\n\n") else {
        return vec![];
    };
    let data = whole.split("\n\n").map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    data.filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(&data).unwrap_or(Value::String(data)))
        .collect()
}

/// The schema of a tool that takes whatever the scripted model might give it.
fn schema(tool: &str) -> Value {
    let text = json!({"type": "string"});
    let properties = match tool {
        "run_command" => json!({"command": text}),
        "read_file" => json!({"path": text}),
        "edit_file" => json!({"path": text, "old": text, "new": text}),
        "write_file" => json!({"path": text, "content": text}),
        "finish" => json!({"summary": text}),
        _ => json!({"questions": {"type": "array", "items": {"type": "object"}}}),
    };
    json!({"type": "object", "properties": properties})
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
