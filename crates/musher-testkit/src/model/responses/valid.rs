//! Refuses what the vendor documents as invalid, in the vendor's words where they are known.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::model::asked::list;
use crate::model::mint;
use crate::model::openai::{Invalid, check_content, check_id, check_name, check_string};

const LONGEST_ID: usize = 64;

pub(super) fn check(request: &Value) -> Result<(), Invalid> {
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err(Invalid::missing("model"));
    }
    if let Some(id) = request["previous_response_id"].as_str() {
        // Nothing is stored, so no response can be found again.
        return Err(Invalid::new(format!("Previous response with id '{id}' not found."))
            .at("previous_response_id")
            .code("previous_response_not_found"));
    }
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        if tool["type"].is_null() {
            return Err(Invalid::missing(&format!("tools[{at}].type")));
        }
        if tool["type"] == "function" {
            check_name(&format!("tools[{at}].name"), &tool["name"])?;
        }
    }
    if request["input"].is_string() {
        return Ok(());
    }
    let input = list(&request["input"]);
    if input.is_empty() {
        return Err(Invalid::missing("input"));
    }
    for (at, item) in input.iter().enumerate() {
        check_item(&format!("input[{at}]"), item, request["store"] == false)?;
    }
    check_pairs(input)?;
    check_reasoning(input)
}

fn check_item(at: &str, item: &Value, forgotten: bool) -> Result<(), Invalid> {
    let begins = |prefix: &str| match item["id"].as_str() {
        Some(id) if !id.starts_with(prefix) => Err(Invalid::new(format!(
            "Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."
        ))
        .at(format!("{at}.id"))
        .code("invalid_value")),
        _ => Ok(()),
    };
    match item["type"].as_str() {
        Some("message") | None => {
            begins("msg")?;
            check_message(at, item)
        }
        Some("function_call") => {
            begins("fc")?;
            check_id(&format!("{at}.call_id"), &item["call_id"], LONGEST_ID)?;
            check_name(&format!("{at}.name"), &item["name"])?;
            let param = format!("{at}.arguments");
            if item["arguments"].is_null() {
                return Err(Invalid::missing(&param));
            }
            check_string(&param, &item["arguments"])?;
            Ok(())
        }
        Some("function_call_output") => {
            check_id(&format!("{at}.call_id"), &item["call_id"], LONGEST_ID)?;
            if item["output"].is_null() {
                return Err(Invalid::missing(&format!("{at}.output")));
            }
            check_content(&format!("{at}.output"), &item["output"])
        }
        Some("reasoning") => {
            begins("rs")?;
            check_thought(at, item, forgotten)
        }
        Some(_) => Ok(()),
    }
}

fn check_message(at: &str, item: &Value) -> Result<(), Invalid> {
    let role = item["role"].as_str().unwrap_or_default();
    let allowed: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
        _ => {
            let roles = "'assistant', 'system', 'developer', and 'user'";
            return Err(Invalid::value(&format!("{at}.role"), role, roles));
        }
    };
    if item["content"].is_null() {
        return Err(Invalid::missing(&format!("{at}.content")));
    }
    for (place, part) in list(&item["content"]).iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        if !allowed.contains(&kind) {
            let allowed = format!("'{}'", allowed.join("', '"));
            return Err(Invalid::value(&format!("{at}.content[{place}].type"), kind, &allowed));
        }
    }
    Ok(())
}

/// A reasoning item comes with its sealed content, or is looked up where nothing was stored.
fn check_thought(at: &str, item: &Value, forgotten: bool) -> Result<(), Invalid> {
    let id = item["id"].as_str().unwrap_or_default();
    if !item["summary"].is_array() {
        return Err(Invalid::missing(&format!("{at}.summary")));
    }
    match item["encrypted_content"].as_str() {
        Some(content) if mint::is_seal_of("reasoning", content) => Ok(()),
        Some(_) => Err(Invalid::new(format!(
            "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
        ))
        .code("invalid_encrypted_content")),
        None if forgotten => {
            let words = format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
            );
            Err(Invalid { status: 404, ..Invalid::new(words).at("input") })
        }
        None => Ok(()),
    }
}

/// Every call has an output after it, and every output a call before it.
fn check_pairs(input: &[Value]) -> Result<(), Invalid> {
    let mut calls = Vec::new();
    // Whether each has its output.
    let mut answered = HashMap::new();
    for item in input {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call" | "custom_tool_call") => {
                calls.push(id);
                answered.insert(id, false);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                let Some(answered) = answered.get_mut(id) else {
                    return Err(Invalid::new(format!(
                        "No tool call found for function call output with call_id {id}."
                    ))
                    .at("input"));
                };
                *answered = true;
            }
            _ => {}
        }
    }
    match calls.iter().find(|call| answered.get(*call) == Some(&false)) {
        Some(id) => {
            Err(Invalid::new(format!("No tool output found for function call {id}.")).at("input"))
        }
        None => Ok(()),
    }
}

/// What the model thought before a call or a message goes back together with it.
fn check_reasoning(input: &[Value]) -> Result<(), Invalid> {
    let mut thoughts = HashSet::new();
    for (at, item) in input.iter().enumerate() {
        let id = item["id"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "reasoning" {
            thoughts.insert(id.to_owned());
            let follows = input.get(at + 1).is_some_and(of_the_model);
            if !follows {
                return Err(Invalid::new(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                ))
                .at("input"));
            }
        }
        let call = item["call_id"].as_str().and_then(mint::thought_of);
        let seed = match kind {
            "function_call" => call,
            "message" => id.starts_with("msg_").then(|| mint::seed_of(id)).flatten(),
            _ => None,
        };
        let Some(needed) = seed.map(|seed| format!("rs_{seed}")) else {
            continue;
        };
        // A client that leaves the ids out is known by the place alone.
        if !thoughts.contains(&needed) && !thoughts.contains("") {
            let name =
                if id.is_empty() { item["call_id"].as_str().unwrap_or_default() } else { id };
            return Err(Invalid::new(format!(
                "Item '{name}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'."
            ))
            .at("input"));
        }
    }
    Ok(())
}

fn of_the_model(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("message") | None => item["role"] == "assistant",
        Some(kind) => !kind.ends_with("_output"),
    }
}
