//! Anthropic Messages as a client sees it.

use musher_testkit::model::Usage;
use serde_json::{Value, json};

use super::{Called, Said, TOOLS, number, schema, text};

pub(crate) fn ask(prompt: &str, stream: bool) -> Value {
    let tools = TOOLS.map(|name| json!({"name": name, "input_schema": schema(name)}));
    json!({
        "model": "claude-test",
        "max_tokens": 1000,
        "stream": stream,
        "thinking": {"type": "enabled", "budget_tokens": 100},
        "tools": tools,
        "messages": [{"role": "user", "content": prompt}],
    })
}

pub(crate) fn stream(events: &[Value]) -> Said {
    let mut message = json!({});
    let mut error = Value::Null;
    for event in events {
        let index = usize::try_from(number(&event["index"])).unwrap();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let block = &mut message["content"][index];
                let mut add = |key: &str, part: &Value| {
                    block[key] = json!(text(&block[key]) + part.as_str().unwrap());
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => add("text", &delta["text"]),
                    "thinking_delta" => add("thinking", &delta["thinking"]),
                    "signature_delta" => add("signature", &delta["signature"]),
                    "input_json_delta" => add("partial", &delta["partial_json"]),
                    other => panic!("unexpected delta {other}"),
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                let told = event["usage"].as_object().unwrap();
                for (key, value) in told.iter().filter(|(_, value)| !value.is_null()) {
                    message["usage"][key] = value.clone();
                }
            }
            "error" => error = event["error"].clone(),
            _ => {}
        }
    }
    for block in message["content"].as_array_mut().into_iter().flatten() {
        let Some(partial) = block.as_object_mut().unwrap().remove("partial") else {
            continue;
        };
        let partial = text(&partial);
        let partial = if partial.is_empty() { "{}".to_owned() } else { partial };
        block["written"] = json!(partial);
        block["input"] = serde_json::from_str(&partial).unwrap_or(json!({}));
    }
    Said { error, ..plain(&message) }
}

pub(crate) fn plain(message: &Value) -> Said {
    let mut said = Said { finish: text(&message["stop_reason"]), ..Said::default() };
    for block in message["content"].as_array().into_iter().flatten() {
        let mut block = block.clone();
        match block["type"].as_str().unwrap() {
            "text" => said.text.push_str(&text(&block["text"])),
            "thinking" => said.thought.push_str(&text(&block["thinking"])),
            "tool_use" => {
                let written = block.as_object_mut().unwrap().remove("written");
                said.calls.push(Called {
                    id: text(&block["id"]),
                    name: text(&block["name"]),
                    arguments: written.map_or_else(|| block["input"].to_string(), |it| text(&it)),
                });
            }
            _ => {}
        }
        said.items.push(block);
    }
    let usage = &message["usage"];
    if usage.is_object() {
        said.thoughts = number(&usage["output_tokens_details"]["thinking_tokens"]);
        said.usage = Some(Usage {
            input: number(&usage["input_tokens"]),
            cache_read: number(&usage["cache_read_input_tokens"]),
            cache_write_5m: number(&usage["cache_creation"]["ephemeral_5m_input_tokens"]),
            cache_write_1h: number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]),
            output: number(&usage["output_tokens"]),
        });
    }
    said
}

pub(crate) fn append(body: &mut Value, said: &Said) {
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": said.items}));
    let results = said
        .calls
        .iter()
        .map(|call| json!({"type": "tool_result", "tool_use_id": call.id, "content": "done"}));
    let results = results.collect::<Vec<_>>();
    if !results.is_empty() {
        messages.push(json!({"role": "user", "content": results}));
    }
}
