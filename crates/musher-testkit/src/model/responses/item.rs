//! The items of a response: reasoning, messages and function calls.

use serde_json::{Value, json};

use super::{End, ending};
use crate::model::asked::{Asked, list};
use crate::model::mint;
use crate::model::quirk::Quirk;
use crate::model::reply::{Block, Reply, Stop, ToolCall};

/// The whole items of a reply, in order.
pub(super) fn all(asked: &Asked, reply: &Reply) -> Vec<Value> {
    let blocks = reply.blocks.iter().enumerate();
    blocks.map(|(index, block)| done(asked, reply, index, block)).collect()
}

/// An item as it is when it is complete.
pub(super) fn done(asked: &Asked, reply: &Reply, index: usize, block: &Block) -> Value {
    let mut item = begun(asked, reply, index, block);
    match block {
        Block::Text(pieces) => {
            item["content"] = json!([part(reply, &pieces.concat())]);
            item["status"] = json!(status(reply, index));
        }
        Block::Thinking(pieces) => {
            let text = pieces.concat();
            if reply.quirks.has(Quirk::RawReasoning) {
                item["content"] = json!([{"type": "reasoning_text", "text": text}]);
            } else {
                item["summary"] = json!([{"type": "summary_text", "text": text}]);
            }
            seal(asked, &mut item);
        }
        Block::Redacted => seal(asked, &mut item),
        Block::Tool(call) => {
            item[input_field(asked, call)] = arguments(call);
            item["status"] = json!(status(reply, index));
        }
    }
    item
}

/// An item as it is when it is announced.
pub(super) fn begun(asked: &Asked, reply: &Reply, index: usize, block: &Block) -> Value {
    let id = id(reply, index, block);
    match block {
        Block::Text(_) => json!({
            "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [],
        }),
        Block::Thinking(_) | Block::Redacted => {
            json!({"id": id, "type": "reasoning", "summary": []})
        }
        Block::Tool(call) => {
            let kind = if is_custom(asked, call) { "custom_tool_call" } else { "function_call" };
            let mut item = json!({
                "id": id,
                "type": kind,
                "status": "in_progress",
                "call_id": call.id,
                "name": call.name,
            });
            item[input_field(asked, call)] = json!("");
            if let Some((namespace, tool)) = namespaced(asked, call) {
                item["namespace"] = json!(namespace);
                item["name"] = json!(tool);
            }
            item
        }
    }
}

/// The id of an item. Its seed says which reasoning belongs to it.
pub(super) fn id(reply: &Reply, index: usize, block: &Block) -> String {
    let seed = &reply.seed;
    match block {
        Block::Text(_) => format!("msg_{index}_{seed}"),
        Block::Thinking(_) | Block::Redacted => format!("rs_{seed}"),
        Block::Tool(_) => format!("fc_{index}_{seed}"),
    }
}

/// A text, or the refusal to say it.
pub(super) fn part(reply: &Reply, text: &str) -> Value {
    if reply.stop == Stop::Refusal {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
    }
}

/// Whether the client offers the tool as one that takes a text and no JSON.
pub(super) fn is_custom(asked: &Asked, call: &ToolCall) -> bool {
    let tools = list(&asked.body["tools"]);
    tools.iter().any(|tool| tool["type"] == "custom" && tool["name"] == call.name.as_str())
}

/// The tool server and the tool, for clients that keep the tools of servers apart and let the model search for them.
fn namespaced<'a>(asked: &Asked, call: &'a ToolCall) -> Option<(&'a str, &'a str)> {
    let searched = list(&asked.body["tools"]).iter().any(|tool| tool["type"] == "tool_search");
    call.name.rsplit_once("__").filter(|(server, _)| searched && server.starts_with("mcp__"))
}

/// Where a call has what the tool is given.
pub(super) fn input_field(asked: &Asked, call: &ToolCall) -> &'static str {
    if is_custom(asked, call) { "input" } else { "arguments" }
}

pub(super) fn arguments(call: &ToolCall) -> Value {
    json!(call.arguments())
}

/// The content for the vendor's own eyes, for clients that ask for it because they keep the history themselves.
fn seal(asked: &Asked, item: &mut Value) {
    let wanted =
        list(&asked.body["include"]).iter().any(|key| key == "reasoning.encrypted_content");
    if wanted {
        item["encrypted_content"] = json!(mint::seal("reasoning"));
    }
}

/// The last item of a response that did not get to its end is not complete either.
fn status(reply: &Reply, index: usize) -> &'static str {
    match ending(&reply.stop) {
        End::Incomplete(_) if index + 1 == reply.blocks.len() => "incomplete",
        End::Completed | End::Incomplete(_) | End::Failed | End::Named(_) => "completed",
    }
}
