//! A tool that reads a run's log.

use musher_core::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::OperatorTool;
use super::name::RunPathName;
use crate::mcp::api_client::ApiRequest;

/// Events on a page when nobody says, and at most.
const PAGE: u64 = 50;
const MAX_OPERATOR_PAGE_EVENTS: u64 = 500;
/// The longest text inside an event; a model rarely needs a whole file.
const MAX_EVENT_TEXT_BYTES: usize = 2_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadEvents {
    run: RunPathName,
    /// The `next` of the page before; left out, the page begins with the first event.
    cursor: Option<String>,
    /// Begin with the last so many events instead.
    last: Option<u64>,
    /// At most so many events (50 when left out, 500 at most).
    limit: Option<u64>,
    /// Only these kinds, such as `item_done`, `tool`, `turn_ended` or `session_ended`.
    kinds: Option<Vec<String>>,
}

impl OperatorTool for ReadEvents {
    const NAME: &'static str = "read_events";
    const ABOUT: &'static str =
        "Read a page of what a run did, event by event. Long texts are cut.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["runs", self.run.as_str(), "events"])
            .with("after", self.cursor)
            .with("last", self.last)
            .with("limit", Some(self.limit.unwrap_or(PAGE).clamp(1, MAX_OPERATOR_PAGE_EVENTS)))
            .with("kinds", self.kinds.map(|kinds| kinds.join(",")))
    }

    fn shown(mut reply: Json) -> (Json, String) {
        shorten(&mut reply);
        let events = reply["events"].as_array();
        let mut text: String =
            events.into_iter().flatten().map(|event| format!("{event}\n")).collect();
        text.push_str(&format!("next: {}, end: {}", reply["next"], reply["end"]));
        (reply, text)
    }
}

/// Cuts every long text in a value.
fn shorten(value: &mut Json) {
    match value {
        Json::String(text) if text.len() > MAX_EVENT_TEXT_BYTES => {
            let end = text.floor_char_boundary(MAX_EVENT_TEXT_BYTES);
            let rest = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… ({rest} more bytes)"));
        }
        Json::Array(items) => items.iter_mut().for_each(shorten),
        Json::Object(fields) => fields.values_mut().for_each(shorten),
        Json::String(_) | Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
