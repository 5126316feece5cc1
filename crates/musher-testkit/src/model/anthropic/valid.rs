//! Refuses what the vendor documents as invalid, in the vendor's words where they are known.

use std::collections::HashSet;

use serde_json::Value;

use super::refusal;
use super::request::blocks;
use crate::model::asked::{Asked, list};
use crate::model::mint;
use crate::model::trouble::Refusal;

pub(super) fn check(asked: &Asked) -> Result<(), Refusal> {
    if asked.body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return invalid("max_tokens: Field required");
    }
    check_count(asked)
}

/// What counting tokens demands: the same, without a limit for the answer.
pub(super) fn check_count(asked: &Asked) -> Result<(), Refusal> {
    let request = &asked.body;
    if asked.header("anthropic-version").is_empty() {
        return invalid("anthropic-version: header is required");
    }
    if request["model"].as_str().is_none_or(str::is_empty) {
        return invalid("model: Field required");
    }
    check_tools(&request["tools"])?;
    let messages = list(&request["messages"]);
    if messages.is_empty() {
        return invalid("messages: at least one message is required");
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message, at + 1 == messages.len())?;
    }
    check_calls(messages)?;
    check_thoughts(request)
}

/// A tool of the client needs a schema; the vendor's own are known by their type.
fn check_tools(tools: &Value) -> Result<(), Refusal> {
    for (at, tool) in list(tools).iter().enumerate() {
        if !matches!(tool["type"].as_str(), None | Some("custom")) {
            continue;
        }
        if !is_id(tool["name"].as_str().unwrap_or_default()) {
            return invalid(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !tool["input_schema"].is_object() {
            return invalid(format!("tools.{at}.custom.input_schema: Field required"));
        }
    }
    Ok(())
}

fn check_message(at: usize, message: &Value, last: bool) -> Result<(), Refusal> {
    let role = message["role"].as_str().unwrap_or_default();
    match (role, at) {
        ("user", _) | ("assistant" | "system", 1..) => {}
        ("assistant" | "system", 0) => {
            return invalid("messages: first message must use the \"user\" role");
        }
        _ => {
            return invalid(format!("messages.{at}.role: Input should be 'user' or 'assistant'"));
        }
    }
    let content = &message["content"];
    let empty = content.as_str().map_or_else(|| list(content).is_empty(), str::is_empty);
    if empty && !(last && role == "assistant") {
        return invalid(format!("messages.{at}: all messages must have non-empty content"));
    }
    if blocks(content, "text").any(|block| block["text"].as_str().is_none_or(str::is_empty)) {
        return invalid(format!("messages.{at}: text content blocks must be non-empty"));
    }
    for block in blocks(content, "thinking") {
        let thinking = block["thinking"].as_str().unwrap_or_default();
        if block["signature"] != mint::signature(thinking) {
            return invalid(format!("messages.{at}: Invalid `signature` in `thinking` block"));
        }
    }
    for block in blocks(content, "redacted_thinking") {
        let data = block["data"].as_str().unwrap_or_default();
        if !mint::is_seal_of("redacted", data) {
            return invalid(format!("messages.{at}: Invalid `data` in `redacted_thinking` block"));
        }
    }
    for (place, block) in list(content).iter().enumerate() {
        let (kind, key) = match block["type"].as_str() {
            Some("tool_use") => ("tool_use", "id"),
            Some("tool_result") => ("tool_result", "tool_use_id"),
            _ => continue,
        };
        match block[key].as_str() {
            Some(id) if is_id(id) => {}
            Some(_) => {
                return invalid(format!(
                    "messages.{at}.content.{place}.{kind}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            None => {
                return invalid(format!(
                    "messages.{at}.content.{place}.{kind}.{key}: Input should be a valid string"
                ));
            }
        }
        if kind == "tool_use" && !block["input"].is_object() {
            return invalid(format!(
                "messages.{at}.content.{place}.tool_use.input: Input should be a valid dictionary"
            ));
        }
    }
    Ok(())
}

fn is_id(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.len() <= 128 && id.chars().all(fits)
}

/// While the results of its calls are awaited, the model's message begins with what it thought.
fn check_thoughts(request: &Value) -> Result<(), Refusal> {
    if !matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive")) {
        return Ok(());
    }
    let messages = list(&request["messages"]);
    let results = |message: &Value| blocks(&message["content"], "tool_result").next().is_some();
    let spoke = messages.iter().rposition(|message| message["role"] == "user" && !results(message));
    for (at, message) in messages.iter().enumerate().skip(spoke.map_or(0, |at| at + 1)) {
        let thought = blocks(&message["content"], "tool_use")
            .any(|call| call["id"].as_str().and_then(mint::thought_of).is_some());
        let first = message["content"][0]["type"].as_str().unwrap_or_default();
        if thought && !matches!(first, "thinking" | "redacted_thinking") {
            return invalid(format!(
                "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            ));
        }
    }
    Ok(())
}

/// Every tool call has its result at the head of the next message, and every result has its call.
fn check_calls(messages: &[Value]) -> Result<(), Refusal> {
    let spoken = messages.iter().enumerate().filter(|(_, message)| message["role"] != "system");
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut open_at = 0;
    let mut user_text = false;
    for (at, message) in spoken {
        let content = &message["content"];
        if message["role"] == "assistant" {
            unanswered(open_at, &open)?;
            for call in blocks(content, "tool_use") {
                let id = call["id"].as_str().unwrap_or_default();
                if !seen.insert(id) {
                    return invalid(format!("messages.{at}: `tool_use` ids must be unique"));
                }
                open.push(id);
            }
            (open_at, user_text) = (at, false);
            continue;
        }
        user_text |= content.is_string();
        let answers = !open.is_empty();
        for (place, block) in list(content).iter().enumerate() {
            if block["type"] != "tool_result" {
                user_text = true;
                continue;
            }
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            let known = open.iter().position(|call| *call == id);
            match known {
                // A text before the results makes the vendor say that the results are missing.
                Some(_) if user_text => return unanswered(open_at, &open),
                Some(index) => {
                    open.remove(index);
                }
                None => {
                    return invalid(format!(
                        "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    ));
                }
            }
        }
        // The results of one message come in one message, the next.
        if answers {
            unanswered(open_at, &open)?;
        }
    }
    unanswered(open_at, &open)
}

fn unanswered(at: usize, open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    invalid(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ))
}

fn invalid(message: impl Into<String>) -> Result<(), Refusal> {
    Err(refusal::of(400, message))
}
