//! Refuses what the vendor documents as invalid, in the vendor's words where they are known.

use std::collections::HashMap;

use serde_json::Value;

use super::refusal::invalid;
use crate::model::asked::list;
use crate::model::mint;
use crate::model::trouble::Refusal;

/// What the vendor takes instead of a signature that a client does not have.
const EXCUSES: [&str; 2] =
    ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

pub(super) fn check(model: &str, request: &Value) -> Result<(), Refusal> {
    let contents = list(&request["contents"]);
    if contents.is_empty() {
        return Err(invalid("* GenerateContentRequest.contents: contents is not specified\n"));
    }
    for (at, content) in contents.iter().enumerate() {
        check_content(at, content)?;
    }
    check_turns(contents)?;
    check_signatures(model, contents)
}

fn check_content(at: usize, content: &Value) -> Result<(), Refusal> {
    match content["role"].as_str() {
        Some("user" | "model") | None => {}
        Some(_) => return Err(invalid("Please use a valid role: user, model.")),
    }
    let parts = list(&content["parts"]);
    if parts.is_empty() {
        return Err(invalid(format!(
            "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
        )));
    }
    for (place, part) in parts.iter().enumerate() {
        check_part(at, place, part)?;
    }
    Ok(())
}

fn check_part(at: usize, place: usize, part: &Value) -> Result<(), Refusal> {
    let data = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
    let signed = part["thoughtSignature"].is_string();
    if !signed && data.iter().all(|key| part[*key].is_null()) {
        return Err(invalid(format!(
            "* GenerateContentRequest.contents[{at}].parts[{place}].data: required oneof field 'data' must have one initialized field\n"
        )));
    }
    let response = &part["functionResponse"];
    if response.is_null() {
        return Ok(());
    }
    if response["name"].as_str().is_none_or(str::is_empty) {
        return Err(invalid(format!(
            "* GenerateContentRequest.contents[{at}].parts[{place}].function_response.name: Name cannot be empty.\n"
        )));
    }
    if !response["response"].is_object() {
        return Err(invalid(format!(
            "Invalid value at 'contents[{at}].parts[{place}].function_response.response' (type.googleapis.com/google.protobuf.Struct), {}",
            response["response"]
        )));
    }
    Ok(())
}

/// Calls and responses come in turns of the same size, one right after the other.
fn check_turns(contents: &[Value]) -> Result<(), Refusal> {
    let mut before: Option<&Value> = None;
    for content in contents {
        let calls = before.map(|before| parts(before, "functionCall")).unwrap_or_default();
        let responses = parts(content, "functionResponse");
        if calls.is_empty() && !responses.is_empty() {
            return Err(invalid(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if calls.len() != responses.len() {
            return Err(miscounted());
        }
        let own_calls = parts(content, "functionCall");
        if !own_calls.is_empty() && before.is_none_or(|before| before["role"] == "model") {
            return Err(invalid(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            ));
        }
        check_names(&calls, &responses)?;
        before = Some(content);
    }
    match before.map(|last| parts(last, "functionCall")) {
        Some(calls) if !calls.is_empty() => Err(miscounted()),
        _ => Ok(()),
    }
}

fn miscounted() -> Refusal {
    invalid(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    )
}

/// A response is known by its id, or by its place where there is none.
fn check_names(calls: &[&Value], responses: &[&Value]) -> Result<(), Refusal> {
    let calls_by_id = calls.iter().rev().copied();
    let by_id: HashMap<&str, &Value> =
        calls_by_id.filter_map(|call| Some((call["functionCall"]["id"].as_str()?, call))).collect();
    for (place, response) in responses.iter().enumerate() {
        let response = &response["functionResponse"];
        let call = match response["id"].as_str() {
            Some(id) => by_id.get(id),
            None => calls.get(place),
        };
        let fits = call.is_some_and(|call| call["functionCall"]["name"] == response["name"]);
        if !fits {
            return Err(invalid(format!(
                "Function response {} does not match any function call of the function call turn.",
                if response["id"].is_null() { &response["name"] } else { &response["id"] }
            )));
        }
    }
    Ok(())
}

/// A signature is never changed, and the first call of each step since the user last spoke has one.
fn check_signatures(model: &str, contents: &[Value]) -> Result<(), Refusal> {
    let strict = !["gemini-1", "gemini-2"].iter().any(|old| model.starts_with(old));
    let spoke = contents.iter().rposition(|content| {
        content["role"] != "model" && parts(content, "functionResponse").is_empty()
    });
    for (at, content) in contents.iter().enumerate() {
        let mut first = true;
        for part in list(&content["parts"]) {
            let call = part["functionCall"]["name"].as_str();
            match part["thoughtSignature"].as_str() {
                Some(signature) if !is_known(signature, call) => {
                    return Err(invalid("Thought signature is not valid."));
                }
                None if strict && first && call.is_some() && Some(at) > spoke => {
                    let name = call.unwrap_or_default();
                    return Err(invalid(format!(
                        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                        at + 1
                    )));
                }
                Some(_) | None => {}
            }
            first &= call.is_none();
        }
    }
    Ok(())
}

fn is_known(signature: &str, call: Option<&str>) -> bool {
    EXCUSES.contains(&signature) || mint::is_seal_of(call.unwrap_or("text"), signature)
}

fn parts<'a>(content: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(&content["parts"]).iter().filter(|part| part[kind].is_object()).collect()
}
