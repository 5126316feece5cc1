//! A reply as one JSON message, for requests that do not stream.

use serde_json::{Value, json};

use crate::model::ledger::Usage;
use crate::model::mint;
use crate::model::reply::{Block, Input, Reply, Stop};

pub(super) fn whole(model: &str, reply: &Reply) -> Value {
    let content = reply.blocks.iter().map(block).collect::<Vec<_>>();
    let mut message = frame(model, reply, reply.usage);
    message["content"] = Value::Array(content);
    message["stop_reason"] = stop(&reply.stop);
    message
}

/// A message without content, as it is at the start of a stream.
pub(super) fn frame(model: &str, reply: &Reply, told: Usage) -> Value {
    json!({
        "id": format!("msg_{}", reply.seed),
        "type": "message",
        "role": "assistant",
        "model": reply.model(model),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": reply.usage_or(usage(told, reply.thoughts)),
    })
}

pub(super) fn usage(usage: Usage, thoughts: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": thoughts.min(usage.output)},
        "service_tier": "standard",
    })
}

pub(super) fn stop(stop: &Stop) -> Value {
    json!(match stop {
        Stop::Named(words) => return json!(words.reason),
        Stop::End => "end_turn",
        Stop::Tools => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal | Stop::Filter | Stop::Blocked(_) => "refusal",
        Stop::Pause => "pause_turn",
        Stop::Context => "model_context_window_exceeded",
    })
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(pieces) => json!({"type": "text", "text": pieces.concat()}),
        Block::Thinking(pieces) => {
            let thinking = pieces.concat();
            let signature = mint::signature(&thinking);
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        Block::Redacted => redacted(),
        Block::Tool(call) => {
            let input = match &call.input {
                Input::Json(input) => input.clone(),
                Input::Broken(_) => json!({}),
            };
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        }
    }
}

pub(super) fn redacted() -> Value {
    json!({"type": "redacted_thinking", "data": mint::seal("redacted")})
}
