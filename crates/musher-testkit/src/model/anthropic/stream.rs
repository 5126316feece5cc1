//! A reply as server-sent events.

use std::time::Duration;

use serde_json::{Value, json};

use super::message;
use crate::model::body::Piece;
use crate::model::mint;
use crate::model::reply::{self, Block, Ending, Reply};

pub(super) const KIND: &str = "text/event-stream; charset=utf-8";

pub(super) fn pieces(model: &str, reply: &Reply) -> Vec<Piece> {
    let opening = message::frame(model, reply.usage.at_start());
    let mut events = vec![
        event(&json!({"type": "message_start", "message": opening})),
        event(&json!({"type": "ping"})),
    ];
    let last = reply.blocks.len().checked_sub(1);
    for (index, block) in reply.blocks.iter().enumerate() {
        let broken = reply.ending != Ending::Complete && Some(index) == last;
        events.extend(block_events(index, block, reply.pace));
        if !broken {
            events.push(event(&json!({"type": "content_block_stop", "index": index})));
        }
    }
    match reply.ending {
        Ending::Complete => {
            events.push(event(&json!({
                "type": "message_delta",
                "delta": {"stop_reason": message::stop(reply.stop), "stop_sequence": null},
                "usage": message::usage(reply.usage),
            })));
            events.push(event(&json!({"type": "message_stop"})));
        }
        Ending::Overloaded => events.push(event(&json!({
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"},
        }))),
        Ending::Silence | Ending::Cut => {}
    }
    events
}

fn block_events(index: usize, block: &Block, pace: Duration) -> Vec<Piece> {
    let start = |content: Value| {
        event(&json!({"type": "content_block_start", "index": index, "content_block": content}))
    };
    let delta = |delta: Value| {
        let mut piece =
            event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        piece.wait = pace;
        piece
    };
    match block {
        Block::Text(pieces) => {
            let mut events = vec![start(json!({"type": "text", "text": ""}))];
            let deltas = pieces.iter().map(|text| json!({"type": "text_delta", "text": text}));
            events.extend(deltas.map(delta));
            events
        }
        Block::Thinking(pieces) => {
            let opening = json!({"type": "thinking", "thinking": "", "signature": ""});
            let mut events = vec![start(opening)];
            let thoughts =
                pieces.iter().map(|text| json!({"type": "thinking_delta", "thinking": text}));
            events.extend(thoughts.map(delta));
            let signature = mint::signature(&pieces.concat());
            events.push(delta(json!({"type": "signature_delta", "signature": signature})));
            events
        }
        Block::Tool(call) => {
            let opening =
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
            let mut events = vec![start(opening)];
            let input = reply::pieces(&call.input.to_string(), 24);
            let parts = std::iter::once(String::new()).chain(input);
            let deltas =
                parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            events.extend(deltas.map(delta));
            events
        }
    }
}

fn event(data: &Value) -> Piece {
    let name = data["type"].as_str().unwrap_or_default();
    super::piece(format!("event: {name}\ndata: {data}\n\n"))
}
