//! Refuses what the vendor documents as invalid, in the vendor's words where they are known.

use serde_json::Value;

use crate::model::asked::list;
use crate::model::openai::{Invalid, check_content, check_id, check_name, check_string};
use crate::model::quirk::{Quirk, Quirks};

const LONGEST_ID: usize = 40;

pub(super) fn check(request: &Value, quirks: &Quirks) -> Result<(), Invalid> {
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err(Invalid::new("you must provide a model parameter"));
    }
    let options = &request["stream_options"];
    if !options.is_null() && quirks.has(Quirk::NoStreamOptions) {
        return Err(Invalid::new("Unrecognized request argument supplied: stream_options"));
    }
    if quirks.has(Quirk::NoSystem)
        && list(&request["messages"]).iter().any(|message| message["role"] == "system")
    {
        return Err(Invalid::new("System role not supported"));
    }
    if quirks.has(Quirk::NoTools) && request["tools"].is_array() {
        let model = request["model"].as_str().unwrap_or_default();
        return Err(Invalid::new(format!("{model} does not support tools")));
    }
    if !options.is_null() && request["stream"] != true {
        return Err(Invalid::new(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .at("stream_options"));
    }
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        if tool["type"].is_null() {
            return Err(Invalid::missing(&format!("tools[{at}].type")));
        }
        check_name(&format!("tools[{at}].function.name"), &tool["function"]["name"])?;
    }
    let messages = list(&request["messages"]);
    if messages.is_empty() {
        return Err(Invalid::missing("messages"));
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(at, message)?;
    }
    check_calls(messages)
}

fn check_message(at: usize, message: &Value) -> Result<(), Invalid> {
    let content = &message["content"];
    let calls = list(&message["tool_calls"]);
    match message["role"].as_str().unwrap_or_default() {
        "assistant" => {
            if message["tool_calls"].is_array() && calls.is_empty() {
                return Err(Invalid::new(format!(
                    "Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."
                ))
                .at(format!("messages[{at}].tool_calls"))
                .code("empty_array"));
            }
            if content.is_null() && calls.is_empty() && message["refusal"].is_null() {
                return Err(Invalid::not_a_string(&format!("messages.[{at}].content"), content));
            }
        }
        "tool" => {
            let param = format!("messages[{at}].tool_call_id");
            if message.get("tool_call_id").is_none() {
                return Err(Invalid::missing(&param));
            }
            check_id(&param, &message["tool_call_id"], LONGEST_ID)?;
            check_content(&format!("messages.[{at}].content"), content)?;
        }
        "user" | "system" | "developer" => {
            check_content(&format!("messages.[{at}].content"), content)?;
        }
        other => {
            let roles = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";
            return Err(Invalid::value(&format!("messages[{at}].role"), other, roles));
        }
    }
    for (place, call) in calls.iter().enumerate() {
        let param = |key: &str| format!("messages[{at}].tool_calls[{place}].{key}");
        if call.get("id").is_none() {
            return Err(Invalid::missing(&param("id")));
        }
        check_id(&param("id"), &call["id"], LONGEST_ID)?;
        if call["type"].is_null() {
            return Err(Invalid::missing(&param("type")));
        }
        check_name(&param("function.name"), &call["function"]["name"])?;
        let arguments = &call["function"]["arguments"];
        if arguments.is_null() {
            return Err(Invalid::missing(&param("function.arguments")));
        }
        check_string(&param("function.arguments"), arguments)?;
    }
    Ok(())
}

/// The results of a message's calls come right after it, and every result has its call.
fn check_calls(messages: &[Value]) -> Result<(), Invalid> {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let known = open.iter().position(|call| *call == id);
            match known {
                Some(index) => {
                    open.remove(index);
                }
                None if answering => {
                    return Err(Invalid::new(format!(
                        "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
                    ))
                    .at(format!("messages.[{at}].tool_call_id")));
                }
                None => {
                    return Err(Invalid::new(
                        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                    )
                    .at(format!("messages.[{at}].role")));
                }
            }
            continue;
        }
        unanswered(at, &open)?;
        open.extend(list(&message["tool_calls"]).iter().filter_map(|call| call["id"].as_str()));
        answering = !open.is_empty();
    }
    unanswered(messages.len(), &open)
}

fn unanswered(at: usize, open: &[&str]) -> Result<(), Invalid> {
    if open.is_empty() {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
    .at(format!("messages.[{at}].role")))
}
