//! What every wire format must give: how a request is written, and how its answer is put together.

use std::borrow::Cow;
use std::fmt::Debug;

use musher_core::ItemBody;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::refusal::{HttpRefusal, RequestFailure};
use super::stop::AnswerEnd;
use super::told::Told;
use crate::tools::ToolSpec;
use crate::{ModelOptions, PromptImage};

/// One wire format. It remembers what its service turned out not to take.
pub(crate) trait Wire: Send + Sync + Debug {
    /// Its name in stored histories, where only its own raw pieces are sent back as they came.
    fn name(&self) -> &'static str;

    /// Where a request goes, below the base address, and what it says.
    fn write(&self, request: &Request<'_>) -> Outgoing;

    /// The headers that carry the key, and those that the format needs.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Puts the answer to one request together.
    fn reader(&self) -> Box<dyn AnswerReader>;

    /// What an answer means that is no success.
    fn refusal(&self, refused: &HttpRefusal<'_>) -> RequestFailure;

    /// Learns from a refusal. If the request can be written in another way now, says what has changed.
    fn adapt(&mut self, refusal: &RequestFailure) -> Option<&'static str>;

    /// Whether an answer without any content is a fault of the service rather than an answer.
    fn empty_is_a_fault(&self) -> bool {
        false
    }
}

/// Everything that a request is made of.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) session: &'a str,
    pub(crate) model: &'a str,
    pub(crate) system: &'a str,
    pub(crate) entries: &'a [HistoryEntry],
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) choice: ToolChoice,
    pub(crate) options: &'a ModelOptions,
    /// The most tokens of the answer, as far as anybody knows.
    pub(crate) max_output: Option<u64>,
}

/// Whether the model may call tools in its answer. They are named in any case, because the history speaks of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    Auto,
    None,
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) path: String,
    pub(crate) body: Json,
}

/// One entry of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum HistoryEntry {
    User {
        text: String,
        /// Images that the model is shown with it. They are of this run alone: a session that is resumed has their names and
        /// paths in its text.
        #[serde(skip)]
        images: Vec<PromptImage>,
    },
    Model {
        /// The wire format in whose words `raw` is.
        wire: String,
        /// The answer as it came; signatures and the like in it must go back untouched.
        raw: Vec<Json>,
        /// What it said, in case it must be told in another format.
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolRequest>,
    },
    Results {
        results: Vec<CallResult>,
    },
}

impl HistoryEntry {
    /// What was said in words alone.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }
}

/// A call that a model wants made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolRequest {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: CallArguments,
    /// The model gave no id; this one is ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) minted: bool,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallArguments {
    Json(Json),
    /// They could not be read.
    Broken {
        text: String,
        why: String,
    },
}

impl CallArguments {
    /// Reads arguments that came as text; none at all are an empty object.
    pub(crate) fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Json(Json::Object(serde_json::Map::new()));
        }
        match serde_json::from_str::<Json>(text) {
            Ok(json) => Self::of(json),
            Err(error) => Self::broken(text, error.to_string()),
        }
    }

    /// Takes arguments that came as JSON. Some services send a text with JSON in it, some send nothing.
    pub(crate) fn of(json: Json) -> Self {
        match json {
            Json::Object(_) => Self::Json(json),
            Json::Null => Self::Json(Json::Object(serde_json::Map::new())),
            Json::String(text) => match serde_json::from_str::<Json>(&text) {
                Ok(object @ Json::Object(_)) => Self::Json(object),
                Ok(_) | Err(_) => Self::broken(&text, "they are a text, not an object".into()),
            },
            Json::Bool(_) | Json::Number(_) | Json::Array(_) => {
                Self::broken(&json.to_string(), "they are not an object".into())
            }
        }
    }

    pub(crate) fn broken(text: &str, why: String) -> Self {
        let cut = text.floor_char_boundary(text.len().min(2000));
        Self::Broken { text: text[..cut].to_owned(), why }
    }

    /// The arguments as an object, which the vendors want back whatever came.
    pub(crate) fn object(&self) -> Json {
        match self {
            Self::Json(json) => json.clone(),
            Self::Broken { .. } => Json::Object(serde_json::Map::new()),
        }
    }
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallResult {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) minted: bool,
}

/// Puts one answer together. It never fails on what it is fed; what it cannot read it tells as such.
pub(crate) trait AnswerReader: Send + Sync + Debug {
    /// Takes in one event of the stream.
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamPiece>;

    /// Nothing more needs to be read.
    fn is_done(&self) -> bool;

    /// Takes in what came whole instead of as a stream.
    fn whole(&mut self, data: &str) -> Vec<StreamPiece>;

    /// What was told of the usage so far.
    fn usage(&self) -> Told;

    /// The model that answers, once the service has named it.
    fn model(&self) -> Option<&str>;

    /// The whole answer, once the stream has ended; what was still open is closed by pieces.
    fn finish(&mut self) -> (Vec<StreamPiece>, Result<ModelAnswer, RequestFailure>);
}

/// What an event of a stream meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamPiece {
    Text {
        block: u32,
        text: String,
    },
    Thought {
        block: u32,
        text: String,
    },
    /// Arguments in flight.
    Input {
        call: String,
        text: String,
    },
    /// A block is whole.
    Done {
        block: u32,
        body: ItemBody,
    },
    /// The service broke off with this.
    Failed(RequestFailure),
    /// An event that has no words here.
    Native {
        name: String,
    },
    /// An event that could not be read.
    Unparsed {
        text: String,
    },
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelAnswer {
    pub(crate) raw: Vec<Json>,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolRequest>,
    pub(crate) end: AnswerEnd,
}

impl ModelAnswer {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }
}

/// The id of a call that came without one.
pub(crate) fn mint_call() -> String {
    format!("call_{}", uuid::Uuid::new_v4().simple())
}

/// Joins texts that are not empty.
pub(crate) fn joined<'a>(texts: impl Iterator<Item = &'a str>, between: &str) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(between)
}

/// A history as one wire format can tell it: ids that another format gave are replaced, because each has its own rules
/// for them, and some know their own again.
pub(crate) fn told_in<'a>(wire: &str, entries: &'a [HistoryEntry]) -> Cow<'a, [HistoryEntry]> {
    let foreign = |entry: &HistoryEntry| matches!(entry, HistoryEntry::Model { wire: other, calls, .. } if other != wire && !calls.is_empty());
    if !entries.iter().any(foreign) {
        return Cow::Borrowed(entries);
    }
    let mut told = entries.to_vec();
    let mut replacing = false;
    for entry in &mut told {
        let is_foreign = foreign(entry);
        match entry {
            HistoryEntry::Model { calls, .. } => {
                replacing = is_foreign;
                calls.iter_mut().filter(|_| replacing).for_each(|call| replace(&mut call.id));
            }
            HistoryEntry::Results { results } => {
                results.iter_mut().filter(|_| replacing).for_each(|result| replace(&mut result.id));
            }
            HistoryEntry::User { .. } => {}
        }
    }
    Cow::Owned(told)
}

/// The same id always becomes the same id, so that what was sent before is found in the service's cache.
fn replace(id: &mut String) {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    *id = format!("call_{hash:016x}");
}
