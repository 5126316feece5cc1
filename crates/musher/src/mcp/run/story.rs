//! The tool that tells an agent what it works on.

use musher_core::ToolKind;
use musher_runtime::CancellationToken;
use musher_runtime::tools::{ReplyFuture, ToolCall, ToolHost, ToolReply, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::input;

const NAME: &str = "story";

/// What a run is about. One without a server has no ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunStory {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub title: String,
    pub text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Tells the story of one run. It knows no other, so none can be named.
impl ToolHost for RunStory {
    fn tools(&self) -> Vec<ToolSpec> {
        let about = "Reads the story that you work on: what is wanted, and when it is done.";
        vec![input::spec::<Nothing>(NAME, about, ToolKind::Read)]
    }

    fn call<'a>(&'a self, call: ToolCall, _: &'a CancellationToken) -> ReplyFuture<'a> {
        let reply = match input::read::<Nothing>(NAME, call.input) {
            _ if call.name != NAME => ToolReply::failed("there is no such tool; list the tools"),
            Err(failed) => failed,
            Ok(Nothing {}) => {
                let Self { story, title, text, .. } = self;
                let structured = serde_json::to_value(self).unwrap_or_default();
                let told = match story {
                    Some(story) => format!("{story}: {title}\n\n{text}"),
                    None => text.clone(),
                };
                ToolReply::done(told).with_structured(structured)
            }
        };
        Box::pin(std::future::ready(reply))
    }
}
