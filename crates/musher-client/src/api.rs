//! The types of the HTTP API: the server writes them, the client reads them, and `docs/openapi.json` is made from them.
//!
//! Names and words are texts here, because a newer server may know more of them than this client does. A reader skips
//! fields that it does not know, and those that an older server does not tell are empty.

mod ask;
mod diff;
mod money;
mod network;
mod project;
mod run;
mod story;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

pub use ask::{ApiAsk, ApiAskPhase, ApiAsks, ApiScope, ApiWon};
pub use diff::{ApiDiff, ApiDiffLine, ApiFileDiff, ApiHunk, ApiLineKind, ApiSecretFound, ApiSince};
pub use money::{
    ApiCaps, ApiGrant, ApiLocalSettings, ApiSpent, ApiUsageBy, ApiUsageReport, ApiUsageRow,
};
pub use network::{ApiHostTraffic, ApiNetwork, ApiTrafficFigures};
pub use project::{
    ApiCounts, ApiDay, ApiLimits, ApiNewToken, ApiProject, ApiToken, ApiTokenScope, ApiTokens,
};
pub use run::{ApiContextUsed, ApiQueuedMessage, ApiRun, ApiRunPowers, ApiSessionStatus, Runs};
pub use story::{
    ApiConflict, ApiCriterion, ApiLatestRun, ApiLineCount, ApiPutStories, ApiStory, ApiStoryPhase,
    ApiStoryRuns, ApiStorySpec, ApiStoryWhole, Stories,
};

/// What became of a command. Everything in it is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case", from = "ReceiptRead")]
#[schema(as = Receipt)]
pub enum ApiReceipt {
    /// A story was added.
    Added { story: String },
    /// A run was queued.
    Queued { run: String },
    /// It is done, or there was nothing left to do.
    Done,
    /// The run has it.
    Sent,
    /// It will be delivered; the facts in the feed with this command will tell what became of it.
    Pending { command: String },
}

/// What became of a command, as it is read: what only a newer server says counts as done.
#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum ReceiptRead {
    Added {
        story: String,
    },
    Queued {
        run: String,
    },
    Sent,
    Pending {
        #[serde(default)]
        command: String,
    },
    #[serde(other)]
    Done,
}

impl From<ReceiptRead> for ApiReceipt {
    fn from(read: ReceiptRead) -> Self {
        match read {
            ReceiptRead::Added { story } => Self::Added { story },
            ReceiptRead::Queued { run } => Self::Queued { run },
            ReceiptRead::Sent => Self::Sent,
            ReceiptRead::Pending { command } => Self::Pending { command },
            ReceiptRead::Done => Self::Done,
        }
    }
}

/// A page of a run's log; the events are as they stand there.
#[derive(Debug, Deserialize)]
pub struct Events {
    pub events: Vec<Box<RawValue>>,
    pub next: String,
    pub end: bool,
    #[serde(default)]
    pub reset: bool,
}

/// A word of ours as the API writes it; empty for what is no word.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}
