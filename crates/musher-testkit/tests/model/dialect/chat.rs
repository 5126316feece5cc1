//! Chat Completions as a client sees it, one that has met odd servers before.

use musher_testkit::model::Usage;
use serde_json::{Value, json};

use super::{Called, Said, TOOLS, number, schema, text};

pub(crate) fn ask(prompt: &str, stream: bool) -> Value {
    let tools = TOOLS.map(
        |name| json!({"type": "function", "function": {"name": name, "parameters": schema(name)}}),
    );
    let mut body = json!({
        "model": "gpt-test",
        "stream": stream,
        "tools": tools,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}],
    });
    if stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

pub(crate) fn stream(events: &[Value]) -> Said {
    let mut said = Said::default();
    for event in events {
        if event["error"].is_object() {
            said.error = event["error"].clone();
        }
        if event["usage"].is_object() {
            tokens(&mut said, &event["usage"]);
        }
        let choice = &event["choices"][0];
        if let Some(finish) = choice["finish_reason"].as_str() {
            said.finish = finish.to_owned();
        }
        add(&mut said, &choice["delta"]);
        for piece in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            call(&mut said.calls, piece);
        }
    }
    finished(said)
}

pub(crate) fn plain(completion: &Value) -> Said {
    let choice = &completion["choices"][0];
    let mut said = Said { finish: text(&choice["finish_reason"]), ..Said::default() };
    tokens(&mut said, &completion["usage"]);
    add(&mut said, &choice["message"]);
    for piece in choice["message"]["tool_calls"].as_array().into_iter().flatten() {
        said.calls.push(Called::default());
        let fresh = said.calls.last_mut().unwrap();
        fill(fresh, piece);
    }
    finished(said)
}

fn add(said: &mut Said, delta: &Value) {
    said.text.push_str(&text(&delta["content"]));
    said.refusal.push_str(&text(&delta["refusal"]));
    said.thought.push_str(&text(&delta["reasoning_content"]));
    said.thought.push_str(&text(&delta["reasoning"]));
}

/// A piece belongs to the last call unless it has a name of its own that begins another.
fn call(calls: &mut Vec<Called>, piece: &Value) {
    let id = text(&piece["id"]);
    let begins = piece["type"] == "function" || (!id.is_empty());
    if begins || calls.is_empty() {
        calls.push(Called::default());
    }
    fill(calls.last_mut().unwrap(), piece);
}

fn fill(call: &mut Called, piece: &Value) {
    let id = text(&piece["id"]);
    if !id.is_empty() {
        call.id = id;
    }
    let function = &piece["function"];
    if let Some(name) = function["name"].as_str() {
        call.name = name.to_owned();
    }
    let arguments = &function["arguments"];
    if arguments.is_object() {
        call.arguments = arguments.to_string();
    } else {
        call.arguments.push_str(&text(arguments));
    }
}

fn finished(mut said: Said) -> Said {
    for (at, call) in said.calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_made_up_{at}_{}", call.arguments.len());
        }
        if call.arguments.is_empty() {
            call.arguments = "{}".to_owned();
        }
    }
    let calls = said.calls.iter().map(|call| {
        json!({
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
    });
    let calls = calls.collect::<Vec<_>>();
    let mut message = json!({"role": "assistant", "content": said.text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    said.items = vec![message];
    said
}

fn tokens(said: &mut Said, usage: &Value) {
    if !usage.is_object() {
        return;
    }
    let (all, details) = (number(&usage["prompt_tokens"]), &usage["prompt_tokens_details"]);
    let (read, written) =
        (number(&details["cached_tokens"]), number(&details["cache_write_tokens"]));
    said.thoughts = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    said.usage = Some(Usage {
        input: all - read - written,
        cache_read: read,
        cache_write_5m: written,
        cache_write_1h: 0,
        output: number(&usage["completion_tokens"]),
    });
}

pub(crate) fn append(body: &mut Value, said: &Said) {
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend(said.items.iter().cloned());
    messages.extend(
        said.calls
            .iter()
            .map(|call| json!({"role": "tool", "tool_call_id": call.id, "content": "done"})),
    );
}
