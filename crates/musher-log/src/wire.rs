//! What is said over a run's control socket: one JSON object per line, both ways.
//!
//! Fields and variants are only ever added; a reader skips what it does not know.

use musher_core::{
    Answer, AskId, Channel, CommandId, EventScope, ItemId, PromptId, RunId, SessionChange, Who,
};
use serde::{Deserialize, Serialize};

/// The version of this protocol. A server drives runners of its own and of the previous version.
pub const PROTOCOL: u32 = 1;

/// The longest line that either side reads. A text has 256 KiB at most, and JSON may need six bytes for each of its own.
pub const MAX_WIRE_LINE_BYTES: usize = 2 * 1024 * 1024;

/// What a runner is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToRunner {
    /// A wish; the same id again gets the same reply and no second effect.
    Command { id: CommandId, command: RunCommand },
    /// Text in flight is wanted from now on.
    Watch,
    /// The secret of the control socket. A run in a sandbox takes no command before it; older runners do not know the word.
    Control { secret: String },
    /// The first word of a bridge: from the reply on, the connection speaks MCP.
    Tools { secret: String },
}

/// A wish about a live run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum RunCommand {
    Prompt {
        text: String,
    },
    Steer {
        text: String,
    },
    /// Forget a prompt that waits; a runner takes it if its first word says so.
    TakeBack {
        prompt: PromptId,
    },
    Answer {
        ask: AskId,
        answer: Answer,
        /// Who answers; older servers do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        who: Option<Who>,
    },
    Interrupt,
    /// Change the model or the mode; a runner takes it if its first word says so.
    Change {
        change: SessionChange,
    },
    Stop,
    Kill,
}

impl RunCommand {
    /// An end must not wait for a disk that takes nothing.
    pub fn ends(&self) -> bool {
        match self {
            Self::Stop | Self::Kill => true,
            Self::Prompt { .. }
            | Self::Steer { .. }
            | Self::TakeBack { .. }
            | Self::Answer { .. }
            | Self::Interrupt
            | Self::Change { .. } => false,
        }
    }
}

/// What a runner says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromRunner {
    /// The first word.
    Hello {
        protocol: u32,
        run: RunId,
        pid: u32,
        /// It can take a prompt back, which the first runners could not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        takes_back: bool,
        /// It can change the model and the mode of its session, which the first runners could not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        changes: bool,
    },
    /// The last word on a command: it is durable and done, or it was refused.
    Reply {
        id: CommandId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<CommandRefused>,
    },
    /// The last word on a bridge's request, in this protocol.
    Tools {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<CommandRefused>,
    },
    Delta(DeltaLine),
    /// The run waits for something outside of it, or no longer does.
    Paused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A newer runner said something that this build does not know.
    #[serde(other)]
    Unknown,
}

/// Text in flight. `from` is how many bytes of the item came before; a reader that has another number has missed
/// some, and waits for the whole text in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeltaLine {
    pub item: ItemId,
    pub channel: Channel,
    pub from: u64,
    /// The number of the last event before it; a reader shows the text when it has that event.
    #[serde(default)]
    pub after: u64,
    pub text: String,
    #[serde(default, skip_serializing_if = "EventScope::is_main")]
    pub scope: EventScope,
}

/// Why a command had no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRefused {
    pub code: String,
    pub message: String,
}
