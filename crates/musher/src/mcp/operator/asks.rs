//! Tools about what waits for a person.

use std::collections::BTreeMap;

use musher_core::{RunId, StoryId, ToolKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::OperatorTool;
use super::name::RunPathName;
use crate::mcp::api_client::ApiRequest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAsks {
    /// Only those of this run.
    #[schemars(with = "Option<String>")]
    run: Option<RunId>,
    /// Only runs on this story.
    #[schemars(with = "Option<String>")]
    story: Option<StoryId>,
    /// At most so many (100 when left out).
    limit: Option<u32>,
}

impl OperatorTool for ListAsks {
    const NAME: &'static str = "list_asks";
    const ABOUT: &'static str =
        "List what waits for a person, the oldest first: approvals, questions, plans and forms.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["asks"])
            .with("run", self.run)
            .with("story", self.story)
            .with("limit", self.limit)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerAsk {
    run: RunPathName,
    /// The ask's id, as list_asks tells it.
    #[schemars(length(min = 1))]
    ask: AskName,
    /// The ask's digest, as list_asks tells it: an answer belongs to what your person has seen.
    #[schemars(length(min = 1))]
    shown: String,
    answer: Answer,
}

/// An ask's id, which an agent may have made up.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct AskName(String);

impl TryFrom<String> for AskName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // These two mean a place in every path.
        match text.as_str() {
            "" | "." | ".." => Err("that is no ask; list_asks lists the ids"),
            _ => Ok(Self(text)),
        }
    }
}

/// What the person decided. A grant that lasts is theirs to give by their own hand.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
enum Answer {
    /// Yes to an approval or a plan; the fields of `input` replace those of what the agent wanted to do.
    Allow {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<BTreeMap<String, Json>>,
    },
    /// No; the agent is told why and may go on with something else.
    Deny { reason: String },
    /// No, and end the turn.
    DenyAndInterrupt { reason: String },
    /// The answers to a question, in the order of its parts.
    Replies { replies: Vec<Reply> },
    /// A form that was filled in.
    Form { content: BTreeMap<String, Json> },
}

/// The answer to one part of a question: labels chosen, or words of one's own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    chosen: Vec<String>,
    text: Option<String>,
}

impl OperatorTool for AnswerAsk {
    const NAME: &'static str = "answer_ask";
    const ABOUT: &'static str = "Answer an ask with what your person decided after they saw it. Do not decide in their place.";
    const KIND: ToolKind = ToolKind::Other;

    fn wanted(self) -> ApiRequest {
        let path = ["runs", self.run.as_str(), "asks", &self.ask.0, "answer"];
        ApiRequest::command(path, json!({ "answer": self.answer, "shown": self.shown }))
    }
}
