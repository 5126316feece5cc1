//! What a scenario decides to answer, in words that every wire format can carry.

use std::time::Duration;

use serde_json::Value;

use super::ledger::Usage;

#[derive(Debug)]
pub(super) enum Answer {
    Reply(Reply),
    Refuse(Refusal),
    /// The request is taken and nothing ever comes back.
    Hang,
    /// A 200 whose body is in no known format.
    Garbage,
}

/// A message of the model, with how it is cut into pieces and how it ends.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) blocks: Vec<Block>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
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
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            split: Split::ByEvent,
            ending: Ending::Complete,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    /// Text, in the pieces in which it is streamed.
    Text(Vec<String>),
    Thinking(Vec<String>),
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

#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    End,
    Tools,
    MaxTokens,
    Refusal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// One write for each event of the wire format.
    ByEvent,
    /// One write for each byte, so that every multi-byte character arrives in parts.
    ByByte,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// The last block stays open and no further byte comes.
    Silence,
    /// The last block stays open and the connection is closed.
    Cut,
    /// The last block stays open and the stream reports that the service is overloaded.
    Overloaded,
}

/// An error answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Refusal {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Cuts a text into pieces of so many characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
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
