//! Gemini as a client sees it.

use musher_testkit::model::Usage;
use serde_json::{Value, json};

use super::{Called, Said, TOOLS, number, schema, text};

pub(crate) fn ask(prompt: &str) -> Value {
    let tools = TOOLS.map(|name| json!({"name": name, "parameters": schema(name)}));
    json!({
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "tools": [{"functionDeclarations": tools}],
    })
}

pub(crate) fn responses(responses: &[Value]) -> Said {
    let mut said = Said::default();
    let mut parts = Vec::new();
    for response in responses {
        if response["error"].is_object() {
            said.error = response["error"].clone();
        }
        if response["usageMetadata"].is_object() {
            tokens(&mut said, &response["usageMetadata"]);
        }
        let blocked = &response["promptFeedback"]["blockReason"];
        let candidate = &response["candidates"][0];
        for finish in [blocked, &candidate["finishReason"]] {
            if let Some(finish) = finish.as_str() {
                said.finish = finish.to_owned();
            }
        }
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if part["thought"] == true {
                said.thought.push_str(&text(&part["text"]));
            } else {
                said.text.push_str(&text(&part["text"]));
            }
            let call = &part["functionCall"];
            if call.is_object() {
                let arguments =
                    if call["args"].is_null() { "{}".to_owned() } else { call["args"].to_string() };
                let (id, name) = (text(&call["id"]), text(&call["name"]));
                said.calls.push(Called { id, name, arguments });
            }
            parts.push(part.clone());
        }
    }
    said.items = vec![json!({"role": "model", "parts": parts})];
    said
}

fn tokens(said: &mut Said, usage: &Value) {
    let cached = number(&usage["cachedContentTokenCount"]);
    let tools = number(&usage["toolUsePromptTokenCount"]);
    let prompt = number(&usage["promptTokenCount"]);
    said.thoughts = number(&usage["thoughtsTokenCount"]);
    let output = number(&usage["candidatesTokenCount"]) + said.thoughts;
    assert_eq!(number(&usage["totalTokenCount"]), prompt + tools + output);
    said.usage = Some(Usage {
        input: prompt - cached + tools,
        cache_read: cached,
        cache_write_5m: 0,
        cache_write_1h: 0,
        output,
    });
}

pub(crate) fn append(body: &mut Value, said: &Said) {
    let contents = body["contents"].as_array_mut().unwrap();
    contents.extend(said.items.iter().cloned());
    let results = said.calls.iter().map(|call| {
        let mut response = json!({"name": call.name, "response": {"output": "done"}});
        if !call.id.is_empty() {
            response["id"] = json!(call.id);
        }
        json!({"functionResponse": response})
    });
    let results = results.collect::<Vec<_>>();
    if !results.is_empty() {
        contents.push(json!({"role": "user", "parts": results}));
    }
}
