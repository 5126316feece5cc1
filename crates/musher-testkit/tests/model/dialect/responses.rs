//! OpenAI Responses as a client sees it.

use musher_testkit::model::Usage;
use serde_json::{Value, json};

use super::{Called, Said, TOOLS, number, schema, text};

pub(crate) fn ask(prompt: &str, stream: bool) -> Value {
    let tools =
        TOOLS.map(|name| json!({"type": "function", "name": name, "parameters": schema(name)}));
    json!({
        "model": "gpt-test",
        "stream": stream,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "tools": tools,
        "input": [{"role": "user", "content": prompt}],
    })
}

/// Puts the answer together from its pieces alone, and holds it to what the whole items say.
pub(crate) fn stream(events: &[Value]) -> Said {
    let mut said = Said::default();
    let mut written = Vec::new();
    let mut last = Said::default();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "an event is missing before {event}");
        let kind = event["type"].as_str().unwrap();
        let delta = text(&event["delta"]);
        match kind {
            "response.output_text.delta" => said.text.push_str(&delta),
            "response.refusal.delta" => said.refusal.push_str(&delta),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                said.thought.push_str(&delta);
            }
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                written.push(Called {
                    id: text(&event["item"]["call_id"]),
                    name: text(&event["item"]["name"]),
                    arguments: String::new(),
                });
            }
            "response.function_call_arguments.delta" => {
                written.last_mut().unwrap().arguments.push_str(&delta);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                last = plain(&event["response"]);
                assert_eq!(
                    kind,
                    format!("response.{}", event["response"]["status"].as_str().unwrap())
                );
            }
            "error" => {
                last.error =
                    if event["error"].is_object() { event["error"].clone() } else { event.clone() };
            }
            _ => {}
        }
    }
    if !last.items.is_empty() {
        let whole = (&last.text, &last.refusal, &last.thought, &last.calls);
        assert_eq!((&said.text, &said.refusal, &said.thought, &written), whole);
    }
    Said { text: said.text, thought: said.thought, refusal: said.refusal, calls: written, ..last }
}

pub(crate) fn plain(response: &Value) -> Said {
    let mut said = Said { error: response["error"].clone(), ..Said::default() };
    let reason = &response["incomplete_details"]["reason"];
    said.finish = text(if reason.is_null() { &response["status"] } else { reason });
    said.items = response["output"].as_array().unwrap().clone();
    for item in &said.items {
        let parts = item["content"].as_array().into_iter().flatten();
        match item["type"].as_str().unwrap() {
            "message" => {
                for part in parts {
                    said.text.push_str(&text(&part["text"]));
                    said.refusal.push_str(&text(&part["refusal"]));
                }
            }
            "reasoning" => {
                let summary = item["summary"].as_array().unwrap();
                for part in summary.iter().chain(parts) {
                    said.thought.push_str(&text(&part["text"]));
                }
            }
            "function_call" => said.calls.push(Called {
                id: text(&item["call_id"]),
                name: text(&item["name"]),
                arguments: text(&item["arguments"]),
            }),
            other => panic!("unexpected item {other}"),
        }
    }
    let usage = &response["usage"];
    if usage.is_object() {
        let (all, details) = (number(&usage["input_tokens"]), &usage["input_tokens_details"]);
        let (read, written) =
            (number(&details["cached_tokens"]), number(&details["cache_write_tokens"]));
        said.thoughts = number(&usage["output_tokens_details"]["reasoning_tokens"]);
        said.usage = Some(Usage {
            input: all - read - written,
            cache_read: read,
            cache_write_5m: written,
            cache_write_1h: 0,
            output: number(&usage["output_tokens"]),
        });
        assert_eq!(number(&usage["total_tokens"]), all + number(&usage["output_tokens"]));
    }
    said
}

pub(crate) fn append(body: &mut Value, said: &Said) {
    let input = body["input"].as_array_mut().unwrap();
    input.extend(said.items.iter().cloned());
    input.extend(
        said.calls.iter().map(
            |call| json!({"type": "function_call_output", "call_id": call.id, "output": "done"}),
        ),
    );
}
