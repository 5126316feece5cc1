//! A reply as partial responses: server-sent events, one JSON array, or all in one.

use serde_json::{Value, json};

use super::{refusal, told, usage};
use crate::model::body::Piece;
use crate::model::ledger::Usage;
use crate::model::mint;
use crate::model::quirk::Quirk;
use crate::model::reply::{Block, Ending, Input, Reply, Stop, ToolCall};
use crate::model::sse::Events;

pub(super) fn events(model: &str, reply: &Reply) -> Vec<Piece> {
    let mut events = Events::crlf(&reply.quirks);
    let responses = responses(model, reply);
    let count = responses.len();
    for (index, response) in responses.into_iter().enumerate() {
        events.push_after(reply.pace, None, &response);
        tells(reply, index + 1 == count).into_iter().for_each(|usage| events.telling(usage));
    }
    events.finish()
}

/// The same responses as the elements of an array, which stays open where the stream breaks off.
pub(super) fn array(model: &str, reply: &Reply) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let responses = responses(model, reply);
    let count = responses.len();
    for (index, response) in responses.into_iter().enumerate() {
        let before = if index == 0 { "[" } else { ",\r\n" };
        let piece = Piece::after(reply.pace, format!("{before}{response:#}"));
        pieces.push(piece.telling(tells(reply, index + 1 == count)));
    }
    match reply.ending {
        Ending::Complete | Ending::Error(_) => pieces.push(Piece::now("\n]")),
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Half | Ending::Unmarked => {}
    }
    pieces
}

/// The usage that one of the responses tells.
fn tells(reply: &Reply, last: bool) -> Option<Usage> {
    let so_far = match reply.ending {
        Ending::Complete | Ending::Unmarked if last => reply.usage,
        // It is the error, which says nothing new.
        Ending::Error(_) if last => return None,
        Ending::Complete
        | Ending::Unmarked
        | Ending::Error(_)
        | Ending::Silence
        | Ending::Cut
        | Ending::Eof
        | Ending::Half => reply.usage.at_start(),
    };
    reply.tells(told(so_far))
}

pub(super) fn whole(model: &str, reply: &Reply) -> Value {
    let parts = chunks(reply).into_iter().flatten().collect::<Vec<_>>();
    let mut whole = response(model, reply, &joined(parts), reply.usage);
    close(reply, &mut whole);
    whole
}

/// The partial responses of a stream.
fn responses(model: &str, reply: &Reply) -> Vec<Value> {
    let mut chunks = chunks(reply);
    if chunks.is_empty() {
        chunks.push(vec![]);
    }
    let so_far = reply.usage.at_start();
    let mut responses =
        chunks.iter().map(|parts| response(model, reply, parts, so_far)).collect::<Vec<_>>();
    match reply.ending {
        Ending::Complete => {
            if let Some(last) = responses.last_mut() {
                last["usageMetadata"] = usage(reply, reply.usage);
                close(reply, last);
            }
        }
        // All but the reason, which is the mark.
        Ending::Unmarked => {
            if let Some(last) = responses.last_mut() {
                last["usageMetadata"] = usage(reply, reply.usage);
            }
        }
        Ending::Error(mishap) => responses.push(refusal::refuse(&mishap.fault()).body),
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Half => {}
    }
    responses
}

fn response(model: &str, reply: &Reply, parts: &[Value], so_far: Usage) -> Value {
    let mut content = json!({"role": "model"});
    if !parts.is_empty() {
        content["parts"] = json!(parts);
    }
    let mut response = json!({
        "candidates": [{"content": content, "index": 0}],
        "usageMetadata": usage(reply, so_far),
        "modelVersion": reply.model(model),
        "responseId": reply.seed,
    });
    if reply.quirks.has(Quirk::Unknown) {
        response["weather"] = json!({"sky": "blue"});
    }
    response
}

/// Says why the answer is over.
fn close(reply: &Reply, response: &mut Value) {
    if let Stop::Blocked(reason) = &reply.stop {
        if let Some(fields) = response.as_object_mut() {
            fields.remove("candidates");
        }
        response["promptFeedback"] = json!({
            "blockReason": reason,
            "safetyRatings": ratings(),
        });
        return;
    }
    let candidate = &mut response["candidates"][0];
    if let Some(reason) = finish(reply) {
        candidate["finishReason"] = json!(reason);
    }
    if reply.stop == Stop::Filter {
        candidate["safetyRatings"] = ratings();
    }
    if let Some(broken) = broken(reply) {
        candidate["finishMessage"] = json!(format!("Malformed function call: {broken}"));
    }
}

fn ratings() -> Value {
    json!([{
        "category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true,
    }])
}

fn finish(reply: &Reply) -> Option<&str> {
    Some(match &reply.stop {
        _ if broken(reply).is_some() => "MALFORMED_FUNCTION_CALL",
        Stop::End | Stop::Tools | Stop::Pause | Stop::Blocked(_) => "STOP",
        Stop::MaxTokens | Stop::Context => "MAX_TOKENS",
        Stop::Refusal => "PROHIBITED_CONTENT",
        Stop::Filter => "SAFETY",
        Stop::Named(words) => return words.reason.as_deref(),
    })
}

/// Arguments that are no JSON never reach the client of this vendor; it is told about them instead.
fn broken(reply: &Reply) -> Option<&str> {
    reply.blocks.iter().find_map(|block| match block {
        Block::Tool(ToolCall { input: Input::Broken(text), .. }) => Some(text.as_str()),
        Block::Text(_) | Block::Thinking(_) | Block::Redacted | Block::Tool(_) => None,
    })
}

/// The parts in the chunks in which they are streamed. The first call of a reply is signed, or else its last word.
fn chunks(reply: &Reply) -> Vec<Vec<Value>> {
    let mut chunks = Vec::new();
    let mut calls = Vec::new();
    for block in &reply.blocks {
        match block {
            Block::Text(pieces) => {
                chunks.extend(pieces.iter().map(|text| vec![json!({"text": text})]));
            }
            Block::Thinking(pieces) => {
                let thoughts = pieces.iter().map(|text| json!({"text": text, "thought": true}));
                chunks.extend(thoughts.map(|thought| vec![thought]));
            }
            Block::Redacted | Block::Tool(ToolCall { input: Input::Broken(_), .. }) => {}
            Block::Tool(call) => calls.push(function_call(reply, call, calls.is_empty())),
        }
    }
    if !calls.is_empty() {
        chunks.push(calls);
    } else if reply.thought() && reply.ending == Ending::Complete {
        let mut part = json!({"thoughtSignature": mint::seal("text")});
        if !reply.quirks.has(Quirk::BareSignature) {
            part["text"] = json!("");
        }
        chunks.push(vec![part]);
    }
    chunks
}

fn function_call(reply: &Reply, call: &ToolCall, first: bool) -> Value {
    let mut part = json!({"functionCall": {"name": call.name}});
    match &call.input {
        Input::Json(_) if reply.quirks.has(Quirk::ArgsMissing) => {}
        Input::Json(input) => part["functionCall"]["args"] = input.clone(),
        Input::Broken(_) => {}
    }
    if !reply.quirks.has(Quirk::NoId) {
        part["functionCall"]["id"] = json!(call.id);
    }
    if first {
        part["thoughtSignature"] = json!(mint::seal(&call.name));
    }
    part
}

/// Joins the texts that follow one another, because a whole answer has them in one part.
fn joined(parts: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for part in parts {
        let plain = part["text"].is_string() && part.get("thoughtSignature").is_none();
        match joined.last_mut() {
            Some(last)
                if plain && last["text"].is_string() && last["thought"] == part["thought"] =>
            {
                let text = [
                    last["text"].as_str().unwrap_or_default(),
                    part["text"].as_str().unwrap_or_default(),
                ]
                .concat();
                last["text"] = json!(text);
            }
            _ => joined.push(part),
        }
    }
    joined
}
