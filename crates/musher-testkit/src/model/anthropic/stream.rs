//! A reply as server-sent events.

use std::time::Duration;

use serde_json::{Value, json};

use super::{message, refusal};
use crate::model::body::Piece;
use crate::model::ledger::Usage;
use crate::model::mint;
use crate::model::quirk::Quirk;
use crate::model::reply::{self, Block, Ending, Reply};
use crate::model::sse::Events;

pub(super) fn pieces(model: &str, reply: &Reply) -> Vec<Piece> {
    let mut writer = Writer { events: Events::new(&reply.quirks), pace: reply.pace };
    let opening = message::frame(model, reply, reply.usage.at_start());
    writer.event(&json!({"type": "message_start", "message": opening}));
    writer.tell(reply, reply.usage.at_start());
    writer.event(&json!({"type": "ping"}));
    if reply.quirks.has(Quirk::Unknown) {
        writer.event(&json!({"type": "message_weather", "weather": {"sky": "blue"}}));
    }
    for (index, block) in reply.blocks.iter().enumerate() {
        writer.block(index, block, reply.breaks_in(index));
        if !reply.breaks_in(index) {
            writer.event(&json!({"type": "content_block_stop", "index": index}));
        }
    }
    match reply.ending {
        Ending::Complete | Ending::Unmarked => {
            writer.event(&json!({
                "type": "message_delta",
                "delta": {"stop_reason": message::stop(&reply.stop), "stop_sequence": null},
                "usage": reply.usage_or(last_usage(reply)),
            }));
            writer.tell(reply, reply.usage);
            if reply.ending == Ending::Complete {
                writer.event(&json!({"type": "message_stop"}));
            }
        }
        Ending::Error(mishap) => {
            let error = refusal::refuse(&mishap.fault()).body["error"].take();
            writer.event(&json!({"type": "error", "error": error}));
        }
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Half => {}
    }
    writer.events.finish()
}

/// The last word on usage; some servers leave out what they have said at the start.
fn last_usage(reply: &Reply) -> Value {
    let mut usage = message::usage(reply.usage, reply.thoughts);
    if reply.quirks.has(Quirk::UsageNulls) {
        for key in ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] {
            usage[key] = Value::Null;
        }
        usage["cache_creation"] = Value::Null;
    }
    usage
}

struct Writer<'a> {
    events: Events<'a>,
    pace: Duration,
}

impl Writer<'_> {
    fn event(&mut self, data: &Value) {
        self.events.push(data["type"].as_str(), data);
    }

    /// What was written last tells this usage.
    fn tell(&mut self, reply: &Reply, usage: Usage) {
        if let Some(usage) = reply.tells(usage) {
            self.events.telling(usage);
        }
    }

    fn start(&mut self, index: usize, content: &Value) {
        let event =
            json!({"type": "content_block_start", "index": index, "content_block": content});
        self.event(&event);
    }

    fn delta(&mut self, index: usize, delta: &Value) {
        let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
        self.events.push_after(self.pace, Some("content_block_delta"), &event);
    }

    fn block(&mut self, index: usize, block: &Block, broken: bool) {
        match block {
            Block::Text(pieces) => {
                self.start(index, &json!({"type": "text", "text": ""}));
                for text in pieces {
                    self.delta(index, &json!({"type": "text_delta", "text": text}));
                }
            }
            Block::Thinking(pieces) => {
                self.start(index, &json!({"type": "thinking", "thinking": "", "signature": ""}));
                for text in pieces {
                    self.delta(index, &json!({"type": "thinking_delta", "thinking": text}));
                }
                let signature = mint::signature(&pieces.concat());
                self.delta(index, &json!({"type": "signature_delta", "signature": signature}));
            }
            Block::Redacted => self.start(index, &message::redacted()),
            Block::Tool(call) => {
                let opening =
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
                self.start(index, &opening);
                // No arguments at all are an empty text, as the vendor has it.
                let arguments = call.arguments();
                let arguments = if arguments == "{}" { "" } else { &arguments };
                let mut input = reply::pieces(arguments, 24);
                if broken {
                    input.truncate(input.len().div_ceil(2));
                }
                for part in std::iter::once(String::new()).chain(input) {
                    self.delta(index, &json!({"type": "input_json_delta", "partial_json": part}));
                }
            }
        }
    }
}
