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
    let messages = list(&request["messages"]);
    if messages.is_empty() {
        return invalid("messages: at least one message is required");
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message, at + 1 == messages.len())?;
    }
    check_calls(messages)
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
                    open.swap_remove(index);
                }
                None => {
                    return invalid(format!(
                        "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    ));
                }
            }
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
