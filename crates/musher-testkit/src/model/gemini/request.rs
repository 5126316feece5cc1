//! Reads a Gemini request into a conversation, leniently: what is invalid is judged elsewhere.

use serde_json::Value;

use crate::model::asked::{Asked, list, string};
use crate::model::conversation::{Conversation, Offer, Speaker, Turn, Wire};

pub(super) fn conversation(asked: &Asked) -> Conversation {
    let request = &asked.body;
    let declared =
        list(&request["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    let tools = declared.filter_map(|tool| {
        let schema = ["parametersJsonSchema", "parameters"].into_iter().map(|key| &tool[key]);
        let schema = schema.into_iter().find(|schema| schema.is_object());
        Some(Offer { name: string(&tool["name"])?, schema: schema.cloned().unwrap_or(Value::Null) })
    });
    Conversation {
        wire: Wire::Gemini,
        path: asked.path.clone(),
        model: model(&asked.path).to_owned(),
        stream: method(&asked.path) == "streamGenerateContent",
        system: texts(&request["systemInstruction"]),
        tools: tools.filter(|_| !asked.forbids_calls()).collect(),
        turns: list(&request["contents"]).iter().map(turn).collect(),
    }
}

fn turn(content: &Value) -> Turn {
    let speaker = if content["role"] == "model" { Speaker::Model } else { Speaker::User };
    let calls = list(&content["parts"]).iter().filter(|part| part["functionCall"].is_object());
    let ids = calls.map(|part| string(&part["functionCall"]["id"]).unwrap_or_default());
    Turn { speaker, texts: texts(content), tool_calls: ids.collect() }
}

/// The words of a content, without thoughts.
fn texts(content: &Value) -> Vec<String> {
    let parts = list(&content["parts"]).iter().filter(|part| part["thought"] != true);
    parts.filter_map(|part| string(&part["text"])).collect()
}

/// The method after the colon in `…/models/{model}:{method}`.
pub(super) fn method(path: &str) -> &str {
    path.rsplit_once(':').map_or("", |(_, method)| method)
}

pub(super) fn model(path: &str) -> &str {
    let (before, _) = path.rsplit_once(':').unwrap_or((path, ""));
    before.rsplit_once('/').map_or(before, |(_, model)| model)
}

/// Without this parameter a stream is one long JSON array.
pub(super) fn is_sse(asked: &Asked) -> bool {
    asked.parameter("alt") == "sse"
}
