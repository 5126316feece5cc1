//! The OpenAI Responses wire: its route, and how it reads and writes.

mod item;
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
use super::reply::{Mishap, Reply, Stop, Words};
use super::trouble::{Fault, Refusal, Trouble};
use super::{openai, sse};

pub(super) fn routes() -> Router<Arc<Desk>> {
    Router::new().route("/v1/responses", post(format::take::<Responses>))
}

/// The format as a type.
#[derive(Debug)]
pub(super) struct Responses;

impl Format for Responses {
    fn key(asked: &Asked) -> Key {
        openai::key(asked)
    }

    fn conversation(asked: &Asked) -> Conversation {
        request::conversation(asked)
    }

    fn check(asked: &Asked) -> Result<(), Refusal> {
        valid::check(&asked.body).map_err(Refusal::from)
    }

    fn refuse(fault: &Fault) -> Refusal {
        let mut refusal = openai::refuse(fault);
        if refusal.body["error"]["param"] == "messages" {
            refusal.body["error"]["param"] = json!("input");
        }
        refusal
    }

    fn stream_kind(_: &Asked) -> &'static str {
        sse::KIND
    }

    fn stream(asked: &Asked, _: &Conversation, reply: &Reply) -> Vec<Piece> {
        stream::pieces(asked, reply)
    }

    fn plain(asked: &Asked, _: &Conversation, reply: &Reply) -> Value {
        closed(asked, reply, item::all(asked, reply))
    }

    fn kinds(usage: Usage) -> Usage {
        openai::told(usage)
    }

    fn plain_tells(reply: &Reply) -> bool {
        ending(&reply.stop) != End::Failed
    }

    fn headers() -> Vec<(&'static str, String)> {
        openai::headers()
    }
}

/// A response without output, as it is at the start of a stream.
fn opened(asked: &Asked, reply: &Reply) -> Value {
    let request = &asked.body;
    let or = |key: &str, default: Value| {
        if request[key].is_null() { default } else { request[key].clone() }
    };
    json!({
        "id": format!("resp_{}", reply.seed),
        "object": "response",
        "created_at": 1_760_000_000,
        "status": "in_progress",
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": request["instructions"],
        "max_output_tokens": request["max_output_tokens"],
        "model": reply.served.clone().map_or_else(|| request["model"].clone(), Value::String),
        "output": [],
        "parallel_tool_calls": or("parallel_tool_calls", json!(true)),
        "previous_response_id": null,
        "prompt_cache_key": request["prompt_cache_key"],
        "reasoning": or("reasoning", json!({"effort": null, "summary": null})),
        "service_tier": "default",
        "store": or("store", json!(true)),
        "temperature": or("temperature", json!(1.0)),
        "text": or("text", json!({"format": {"type": "text"}})),
        "tool_choice": or("tool_choice", json!("auto")),
        "tools": or("tools", json!([])),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
        "user": null,
        "metadata": or("metadata", json!({})),
    })
}

/// A response that is over, however it ended.
fn closed(asked: &Asked, reply: &Reply, output: Vec<Value>) -> Value {
    let mut response = opened(asked, reply);
    response["output"] = Value::Array(output);
    response["usage"] = usage(reply);
    match ending(&reply.stop) {
        End::Completed => response["status"] = json!("completed"),
        End::Incomplete(reason) => {
            response["status"] = json!("incomplete");
            response["incomplete_details"] = json!({"reason": reason});
        }
        End::Failed => {
            let fault = Fault::from(Trouble::ContextFull);
            let error = openai::refuse(&fault).body["error"].take();
            response["status"] = json!("failed");
            response["error"] = json!({"code": error["code"], "message": error["message"]});
            response["usage"] = Value::Null;
        }
        End::Named(words) => {
            response["status"] = json!(words.status);
            if let Some(reason) = &words.reason {
                response["incomplete_details"] = json!({"reason": reason});
            }
            if words.status.as_deref() == Some("failed") {
                let (code, message) = openai::mishap(Mishap::Server);
                response["error"] = json!({"code": code, "message": message});
            }
        }
    }
    response
}

/// How a response can end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End<'a> {
    Completed,
    Incomplete(&'static str),
    Failed,
    Named(&'a Words),
}

fn ending(stop: &Stop) -> End<'_> {
    match stop {
        Stop::End | Stop::Tools | Stop::Refusal | Stop::Pause | Stop::Blocked(_) => End::Completed,
        Stop::Named(words) => End::Named(words),
        Stop::MaxTokens => End::Incomplete("max_output_tokens"),
        Stop::Filter => End::Incomplete("content_filter"),
        Stop::Context => End::Failed,
    }
}

fn usage(reply: &Reply) -> Value {
    let told = openai::told(reply.usage);
    let input = openai::all_input(told);
    reply.usage_or(json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": told.cache_read,
            "cache_write_tokens": told.cache_write_5m,
        },
        "output_tokens": told.output,
        "output_tokens_details": {"reasoning_tokens": reply.thoughts},
        "total_tokens": input + told.output,
    }))
}
