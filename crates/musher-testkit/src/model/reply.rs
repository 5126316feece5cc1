//! What a scenario decides to answer, in words that every wire format can carry.

use std::time::Duration;

use serde_json::Value;

use super::ledger::Usage;
use super::quirk::Quirks;
use super::trouble::{Fault, Trouble};

#[derive(Debug)]
pub(super) enum Answer {
    Reply(Box<Reply>),
    Refuse(Fault),
    /// The request is taken and nothing ever comes back.
    Hang,
    /// A 200 whose body is in no known format.
    Garbage,
    /// A page for people, with this status, as proxies send it.
    Page(u16),
    /// A 200 with this content type and this text, whatever they are.
    Text {
        kind: String,
        text: String,
    },
}

/// A message of the model, with how it is cut into pieces and how it ends.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) blocks: Vec<Block>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
    /// Stands where the usage should be told.
    pub(super) usage_told: Option<Value>,
    /// The model that answers, if it is another than was asked for.
    pub(super) served: Option<String>,
    /// The content type, if it is another than the format's.
    pub(super) kind: Option<String>,
    /// How many of the output tokens were thoughts.
    pub(super) thoughts: u64,
    /// How many of the input tokens were spent on the vendor's own tools.
    pub(super) tool_prompt: u64,
    /// What the ids of this reply have in common.
    pub(super) seed: String,
    pub(super) quirks: Quirks,
    /// Silence before the first byte.
    pub(super) delay: Duration,
    /// Silence before each piece of text.
    pub(super) pace: Duration,
    pub(super) split: Split,
    pub(super) ending: Ending,
}

impl Reply {
    pub(super) fn new(blocks: Vec<Block>, usage: Usage) -> Self {
        let calls = blocks.iter().any(|block| matches!(block, Block::Tool(_)));
        Self {
            blocks,
            stop: if calls { Stop::Tools } else { Stop::End },
            usage,
            usage_told: None,
            served: None,
            kind: None,
            thoughts: 0,
            tool_prompt: 0,
            seed: String::new(),
            quirks: Quirks::default(),
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            split: Split::ByEvent,
            ending: Ending::Complete,
        }
    }

    /// Whether the model thought before it spoke.
    pub(super) fn thought(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Thinking(_) | Block::Redacted => true,
            Block::Text(_) | Block::Tool(_) => false,
        })
    }

    /// Whether this block is the one in which the reply breaks off.
    pub(super) fn breaks_in(&self, index: usize) -> bool {
        let whole = matches!(self.ending, Ending::Complete | Ending::Unmarked);
        !whole && index + 1 == self.blocks.len()
    }

    /// The model that the reply names.
    pub(super) fn model<'a>(&'a self, asked: &'a str) -> &'a str {
        self.served.as_deref().unwrap_or(asked)
    }

    /// The usage as it is told to the client, unless something else stands in its place.
    pub(super) fn tells(&self, usage: Usage) -> Option<Usage> {
        self.usage_told.is_none().then_some(usage)
    }

    /// What stands where this usage should.
    pub(super) fn usage_or(&self, usage: Value) -> Value {
        self.usage_told.clone().unwrap_or(usage)
    }
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    /// Text, in the pieces in which it is streamed.
    Text(Vec<String>),
    Thinking(Vec<String>),
    /// A thought that nobody may read.
    Redacted,
    Tool(ToolCall),
}

impl Block {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(pieces(text, 16))
    }

    pub(super) fn thinking(text: &str) -> Self {
        Self::Thinking(pieces(text, 16))
    }
}

/// A long text comes in longer pieces, so that a megabyte does not take a minute.
const MOST_PIECES: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    /// Given when the reply is finished.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Input,
}

impl ToolCall {
    pub(super) fn new(name: impl Into<String>, input: Value) -> Self {
        Self { id: String::new(), name: name.into(), input: Input::Json(input) }
    }

    /// The arguments as the model wrote them.
    pub(super) fn arguments(&self) -> String {
        match &self.input {
            Input::Json(input) => input.to_string(),
            Input::Broken(text) => text.clone(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Input {
    Json(Value),
    /// The model wrote something that is no JSON.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    End,
    Tools,
    MaxTokens,
    /// The model will not do it, and says so.
    Refusal,
    /// Something around the model stopped it.
    Filter,
    /// The prompt was not let through, for this reason.
    Blocked(String),
    /// The model wants to be asked to go on.
    Pause,
    /// The window was full before the answer was.
    Context,
    /// In these very words.
    Named(Words),
}

/// The words of one wire format about an end; none where there should be one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) reason: Option<String>,
    /// Where a format tells the state and the reason apart.
    pub(super) status: Option<String>,
    /// The event that tells it.
    pub(super) event: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// One write for each event of the wire format.
    ByEvent,
    /// One write for each byte, so that every multi-byte character arrives in parts.
    ByByte,
    /// One write for each byte, with a wait before each.
    Drip(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// The last block stays open and no further byte comes.
    Silence,
    /// The last block stays open and the connection is closed.
    Cut,
    /// The last block stays open and the body ends as if it were whole.
    Eof,
    /// The body ends in the middle of an event.
    Half,
    /// All was said but that this is the end, and the connection is closed.
    Unmarked,
    /// The last block stays open and the stream reports an error.
    Error(Mishap),
}

/// What a stream can report after it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    Overloaded,
    Server,
    Rate,
    Context,
}

impl Mishap {
    /// The same as an error answer, for requests that do not stream.
    pub(super) fn fault(self) -> Fault {
        Fault::from(match self {
            Self::Overloaded => Trouble::Overloaded,
            Self::Server => Trouble::Status(500),
            Self::Rate => Trouble::Rate,
            Self::Context => Trouble::ContextFull,
        })
    }
}

/// Cuts a text into pieces of so many characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let size = size.max(text.len() / MOST_PIECES);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces
}
