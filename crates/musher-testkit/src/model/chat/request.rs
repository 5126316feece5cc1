//! Reads a Chat Completions request into a conversation, leniently: what is invalid is judged elsewhere.

use serde_json::Value;

use crate::model::asked::{Asked, list, string};
use crate::model::conversation::{Conversation, Offer, Speaker, Turn, Wire};

pub(super) fn conversation(asked: &Asked) -> Conversation {
    let request = &asked.body;
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        let function = &tool["function"];
        Some(Offer { name: string(&function["name"])?, schema: function["parameters"].clone() })
    });
    Conversation {
        wire: Wire::Chat,
        path: asked.path.clone(),
        model: string(&request["model"]).unwrap_or_default(),
        stream: request["stream"].as_bool().unwrap_or(false),
        system: vec![],
        tools: tools.filter(|_| !asked.forbids_calls()).collect(),
        turns: list(&request["messages"]).iter().map(turn).collect(),
    }
}

fn turn(message: &Value) -> Turn {
    let (speaker, texts) = match message["role"].as_str() {
        Some("assistant") => (Speaker::Model, texts(&message["content"])),
        Some("system" | "developer") => (Speaker::System, texts(&message["content"])),
        // The result of a tool is nobody's word.
        Some("tool") => (Speaker::User, vec![]),
        _ => (Speaker::User, texts(&message["content"])),
    };
    let calls = list(&message["tool_calls"]);
    let tool_calls = calls.iter().map(|call| string(&call["id"]).unwrap_or_default()).collect();
    Turn { speaker, texts, tool_calls }
}

fn texts(content: &Value) -> Vec<String> {
    match content.as_str() {
        Some(text) => vec![text.to_owned()],
        None => list(content).iter().filter_map(|part| string(&part["text"])).collect(),
    }
}
