//! Reads a Responses request into a conversation, leniently: what is invalid is judged elsewhere.

use serde_json::Value;

use crate::model::asked::{Asked, list, string};
use crate::model::conversation::{Conversation, Offer, Speaker, Turn, Wire};

pub(super) fn conversation(asked: &Asked) -> Conversation {
    let request = &asked.body;
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        // The vendor's own tools have a type and no name.
        let name = string(&tool["name"]).or_else(|| string(&tool["type"]))?;
        Some(Offer { name, schema: tool["parameters"].clone() })
    });
    let turns = match string(&request["input"]) {
        Some(text) => vec![Turn { speaker: Speaker::User, texts: vec![text], tool_calls: vec![] }],
        None => list(&request["input"]).iter().map(turn).collect(),
    };
    Conversation {
        wire: Wire::Responses,
        path: asked.path.clone(),
        model: string(&request["model"]).unwrap_or_default(),
        stream: request["stream"].as_bool().unwrap_or(false),
        system: string(&request["instructions"]).into_iter().collect(),
        tools: tools.filter(|_| !asked.forbids_calls()).collect(),
        turns,
    }
}

fn turn(item: &Value) -> Turn {
    let mut turn = Turn { speaker: Speaker::Model, texts: vec![], tool_calls: vec![] };
    match item["type"].as_str().unwrap_or("message") {
        "message" => {
            turn.speaker = match item["role"].as_str() {
                Some("assistant") => Speaker::Model,
                Some("system" | "developer") => Speaker::System,
                _ => Speaker::User,
            };
            turn.texts = texts(&item["content"]);
        }
        "function_call" | "custom_tool_call" => {
            turn.tool_calls.push(string(&item["call_id"]).unwrap_or_default());
        }
        "function_call_output" | "custom_tool_call_output" => turn.speaker = Speaker::User,
        _ => {}
    }
    turn
}

fn texts(content: &Value) -> Vec<String> {
    match content.as_str() {
        Some(text) => vec![text.to_owned()],
        None => list(content).iter().filter_map(|part| string(&part["text"])).collect(),
    }
}
