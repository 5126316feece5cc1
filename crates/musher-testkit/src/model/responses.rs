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
use super::reply::{Reply, Stop};
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

    fn told_at_start(_: &Reply) -> Usage {
        Usage::default()
    }

    fn told(_: &Asked, _: &Conversation, reply: &Reply) -> Usage {
        match ending(&reply.stop) {
            End::Completed | End::Incomplete(_) => openai::told(reply.usage),
            End::Failed => Usage::default(),
        }
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
        "model": request["model"],
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
    }
    response
}

/// How a response can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    Incomplete(&'static str),
    Failed,
}

fn ending(stop: &Stop) -> End {
    match stop {
        Stop::End | Stop::Tools | Stop::Refusal | Stop::Pause | Stop::Blocked | Stop::Named(_) => {
            End::Completed
        }
        Stop::MaxTokens => End::Incomplete("max_output_tokens"),
        Stop::Filter => End::Incomplete("content_filter"),
        Stop::Context => End::Failed,
    }
}

fn usage(reply: &Reply) -> Value {
    let told = openai::told(reply.usage);
    let input = openai::all_input(told);
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": told.cache_read,
            "cache_write_tokens": told.cache_write_5m,
        },
        "output_tokens": told.output,
        "output_tokens_details": {"reasoning_tokens": reply.thoughts},
        "total_tokens": input + told.output,
    })
}
