//! Reads a Messages request into a conversation, leniently: what is invalid is judged elsewhere.

use serde_json::Value;

use crate::model::asked::{Asked, list, string};
use crate::model::conversation::{Conversation, Offer, Speaker, Turn, Wire};

pub(super) fn conversation(asked: &Asked) -> Conversation {
    let request = &asked.body;
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        Some(Offer { name: string(&tool["name"])?, schema: tool["input_schema"].clone() })
    });
    Conversation {
        wire: Wire::Messages,
        path: asked.path.clone(),
        model: string(&request["model"]).unwrap_or_default(),
        stream: request["stream"].as_bool().unwrap_or(false),
        system: texts(&request["system"]),
        tools: tools.filter(|_| !asked.forbids_calls()).collect(),
        turns: list(&request["messages"]).iter().map(turn).collect(),
    }
}

fn turn(message: &Value) -> Turn {
    let speaker = match message["role"].as_str() {
        Some("assistant") => Speaker::Model,
        Some("system") => Speaker::System,
        _ => Speaker::User,
    };
    let calls = blocks(&message["content"], "tool_use").filter_map(|block| string(&block["id"]));
    Turn { speaker, texts: texts(&message["content"]), tool_calls: calls.collect() }
}

/// Content is either one string or a list of blocks; tool results are no words of the speaker and are left out.
fn texts(content: &Value) -> Vec<String> {
    match content.as_str() {
        Some(text) => vec![text.to_owned()],
        None => blocks(content, "text").filter_map(|block| string(&block["text"])).collect(),
    }
}

/// The blocks of one type.
pub(super) fn blocks<'a>(
    content: &'a Value,
    kind: &'static str,
) -> impl Iterator<Item = &'a Value> {
    list(content).iter().filter(move |block| block["type"] == kind)
}
