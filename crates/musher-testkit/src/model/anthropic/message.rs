//! A reply as one JSON message, for requests that do not stream.

use serde_json::{Value, json};

use super::piece;
use crate::model::body::Piece;
use crate::model::ledger::Usage;
use crate::model::mint;
use crate::model::reply::{Block, Ending, Reply, Stop};

pub(super) const KIND: &str = "application/json";

pub(super) fn pieces(model: &str, reply: &Reply) -> Vec<Piece> {
    let content = reply.blocks.iter().map(block).collect::<Vec<_>>();
    let mut message = frame(model, reply.usage);
    message["content"] = Value::Array(content);
    message["stop_reason"] = json!(stop(reply.stop));
    let mut text = message.to_string();
    if reply.ending != Ending::Complete {
        let mut half = text.len() / 2;
        while !text.is_char_boundary(half) {
            half -= 1;
        }
        text.truncate(half);
    }
    vec![piece(text)]
}

/// A message without content, as it is at the start of a stream.
pub(super) fn frame(model: &str, told: Usage) -> Value {
    json!({
        "id": format!("msg_{}", mint::unique()),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(told),
    })
}

pub(super) fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    })
}

pub(super) fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::Tools => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    }
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(pieces) => json!({"type": "text", "text": pieces.concat()}),
        Block::Thinking(pieces) => {
            let thinking = pieces.concat();
            let signature = mint::signature(&thinking);
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        Block::Tool(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
        }
    }
}
