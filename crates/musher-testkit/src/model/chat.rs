//! The Chat Completions wire, which every compatible server speaks: its route, and how it reads and writes.

mod request;
mod stream;
mod valid;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};

use super::asked::{Asked, Key};
use super::body::Piece;
use super::conversation::Conversation;
use super::desk::Desk;
use super::format::{self, Format};
use super::ledger::Usage;
use super::quirk::Quirk;
use super::reply::{Block, Input, Reply, Stop, ToolCall};
use super::trouble::{Fault, Refusal};
use super::{openai, sse};

pub(super) fn routes() -> Router<Arc<Desk>> {
    Router::new().route("/v1/chat/completions", post(format::take::<Chat>))
}

/// The format as a type.
#[derive(Debug)]
pub(super) struct Chat;

impl Format for Chat {
    fn key(asked: &Asked) -> Key {
        openai::key(asked)
    }

    fn conversation(asked: &Asked) -> Conversation {
        request::conversation(asked)
    }

    fn check(asked: &Asked) -> Result<(), Refusal> {
        let quirks = request::conversation(asked).quirks();
        valid::check(&asked.body, &quirks).map_err(Refusal::from)
    }

    fn refuse(fault: &Fault) -> Refusal {
        openai::refuse(fault)
    }

    fn stream_kind(_: &Asked) -> &'static str {
        sse::KIND
    }

    fn stream(asked: &Asked, talk: &Conversation, reply: &Reply) -> Vec<Piece> {
        stream::pieces(asked, &talk.model, reply)
    }

    fn plain(_: &Asked, talk: &Conversation, reply: &Reply) -> Value {
        let mut whole = frame("chat.completion", reply.model(&talk.model), reply);
        whole["choices"] = json!([{
            "index": 0,
            "message": message(reply),
            "logprobs": null,
            "finish_reason": finish(reply),
        }]);
        if !reply.quirks.has(Quirk::UsageNever) {
            whole["usage"] = usage(reply, reply.usage);
        }
        whole
    }

    fn kinds(usage: Usage) -> Usage {
        openai::told(usage)
    }

    fn plain_tells(reply: &Reply) -> bool {
        !reply.quirks.has(Quirk::UsageNever)
    }

    fn headers() -> Vec<(&'static str, String)> {
        openai::headers()
    }
}

/// A completion without choices.
fn frame(object: &str, model: &str, reply: &Reply) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.seed),
        "object": object,
        "created": 1_760_000_000,
        "model": model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    })
}

fn message(reply: &Reply) -> Value {
    let mut text = String::new();
    let mut thoughts = String::new();
    let mut calls = Vec::new();
    for block in &reply.blocks {
        match block {
            Block::Text(pieces) => text.push_str(&pieces.concat()),
            Block::Thinking(pieces) => thoughts.push_str(&pieces.concat()),
            Block::Redacted => {}
            Block::Tool(call) => calls.push(whole_call(reply, call)),
        }
    }
    if reply.quirks.has(Quirk::ThinkTags) && !thoughts.is_empty() {
        text = format!("<think>{}</think>{text}", std::mem::take(&mut thoughts));
    }
    let said = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    let refused = reply.stop == Stop::Refusal;
    let mut message = json!({
        "role": "assistant",
        "content": if refused { Value::Null } else { said(&text) },
        "refusal": if refused { said(&text) } else { Value::Null },
        "annotations": [],
    });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    if !thoughts.is_empty() {
        message[thought_key(reply)] = json!(thoughts);
    }
    message
}

/// A call in one piece, as odd as the server is.
fn whole_call(reply: &Reply, call: &ToolCall) -> Value {
    let mut whole = json!({"type": "function", "function": {"name": call.name}});
    let quirks = &reply.quirks;
    if quirks.has(Quirk::NullId) {
        whole["id"] = Value::Null;
    } else if quirks.has(Quirk::EmptyId) {
        whole["id"] = json!("");
    } else if !quirks.has(Quirk::NoId) {
        whole["id"] = json!(call.id);
    }
    if quirks.has(Quirk::ArgsMissing) {
        return whole;
    }
    whole["function"]["arguments"] = match &call.input {
        Input::Json(input) if quirks.has(Quirk::ArgsObject) => input.clone(),
        Input::Json(_) | Input::Broken(_) if quirks.has(Quirk::ArgsEmpty) => json!(""),
        Input::Json(_) | Input::Broken(_) => json!(call.arguments()),
    };
    whole
}

fn thought_key(reply: &Reply) -> &'static str {
    if reply.quirks.has(Quirk::Reasoning) { "reasoning" } else { "reasoning_content" }
}

fn finish(reply: &Reply) -> Value {
    if reply.quirks.has(Quirk::FinishMissing) {
        return Value::Null;
    }
    json!(match &reply.stop {
        Stop::Tools if !reply.quirks.has(Quirk::FinishStop) => "tool_calls",
        Stop::MaxTokens | Stop::Context => "length",
        Stop::Filter => "content_filter",
        Stop::End | Stop::Tools | Stop::Refusal | Stop::Blocked(_) | Stop::Pause => "stop",
        Stop::Named(words) => return json!(words.reason),
    })
}

fn usage(reply: &Reply, usage: Usage) -> Value {
    let told = openai::told(usage);
    let prompt = openai::all_input(told);
    reply.usage_or(json!({
        "prompt_tokens": prompt,
        "completion_tokens": told.output,
        "total_tokens": prompt + told.output,
        "prompt_tokens_details": {
            "cached_tokens": told.cache_read,
            "cache_write_tokens": told.cache_write_5m,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": reply.thoughts.min(told.output),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }))
}
