//! Tool calls put together from chunks, by every way in which servers number and name them.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value as Json, json};

use crate::model::wire::{CallArguments, StreamPiece, ToolRequest, mint_call};

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct ChatCalls {
    calls: Vec<Call>,
    /// The last call with each id and at each index; a model may make thousands.
    by_id: HashMap<String, usize>,
    by_index: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Call {
    /// The id, once the server gave one.
    id: Option<String>,
    /// What the call is named in deltas until then.
    minted: String,
    name: String,
    arguments: String,
    /// Fields beside the known ones, which may be signatures.
    more: Map<String, Json>,
}

impl ChatCalls {
    /// Takes in one entry of a chunk, which stood at `position` in it.
    pub(super) fn push(&mut self, position: u64, json: &Json) -> Option<StreamPiece> {
        let index = json["index"].as_u64().unwrap_or(position);
        let id = json["id"].as_str().filter(|id| !id.is_empty());
        let function = &json["function"];
        let name = function["name"].as_str().unwrap_or_default();
        // Some servers send an object where a text belongs.
        let arguments = match &function["arguments"] {
            Json::String(text) => text.clone(),
            Json::Null => String::new(),
            other @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
                other.to_string()
            }
        };
        let at = match self.find(index, id, name, &arguments) {
            Some(at) => at,
            None => {
                self.by_index.insert(index, self.calls.len());
                self.calls.push(Call {
                    id: None,
                    minted: mint_call(),
                    name: String::new(),
                    arguments: String::new(),
                    more: Map::new(),
                });
                self.calls.len() - 1
            }
        };
        let call = self.calls.get_mut(at)?;
        if let (None, Some(id)) = (&call.id, id) {
            call.id = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), at);
        }
        // Some servers repeat the name in every chunk.
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        for (field, value) in json.as_object().into_iter().flatten() {
            if !["index", "id", "type", "function"].contains(&field.as_str()) {
                call.more.insert(field.clone(), value.clone());
            }
        }
        let told = call.id.clone().unwrap_or_else(|| call.minted.clone());
        (!arguments.is_empty()).then_some(StreamPiece::Input { call: told, text: arguments })
    }

    /// The call that an entry goes on with; `None` if it begins another.
    fn find(&self, index: u64, id: Option<&str>, name: &str, arguments: &str) -> Option<usize> {
        if let Some(at) = id.and_then(|id| self.by_id.get(id)) {
            return Some(*at);
        }
        let at = *self.by_index.get(&index)?;
        let call = self.calls.get(at)?;
        // Another id at the same index is another call.
        let other_id = id.is_some() && call.id.is_some();
        // So is another name, and the whole of a call after a call that was whole.
        let other_name = !name.is_empty() && !call.name.is_empty() && name != call.name;
        let whole = |text: &str| {
            text.trim_end().ends_with('}')
                && matches!(serde_json::from_str(text), Ok(Json::Object(_)))
        };
        let again = !name.is_empty() && whole(&call.arguments) && !arguments.is_empty();
        (!other_id && !other_name && !again).then_some(at)
    }

    /// The calls, and how each stands in a message.
    pub(super) fn finish(self) -> (Vec<ToolRequest>, Vec<Json>) {
        let mut known = BTreeSet::new();
        let mut wanted = Vec::new();
        let mut raw = Vec::new();
        for call in self.calls {
            let given = call.id.filter(|id| known.insert(id.clone()));
            let minted = given.is_none();
            let id = given.unwrap_or(call.minted);
            let input = CallArguments::read(&call.arguments);
            let mut entry = json!({
                "id": id,
                "type": "function",
                "function": { "name": call.name, "arguments": input.object().to_string() },
            });
            if let Some(fields) = entry.as_object_mut() {
                fields.extend(call.more);
            }
            raw.push(entry);
            wanted.push(ToolRequest { id, name: call.name, input, minted });
        }
        (wanted, raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(chunks: &[Json]) -> Vec<(String, Json)> {
        let mut calls = ChatCalls::default();
        for chunk in chunks {
            for (position, entry) in (0..).zip(chunk.as_array().unwrap()) {
                calls.push(position, entry);
            }
        }
        let (wanted, raw) = calls.finish();
        assert!(raw.iter().all(|entry| entry["id"].as_str().is_some_and(|id| !id.is_empty())));
        wanted.into_iter().map(|call| (call.name, call.input.object())).collect()
    }

    fn f(name: &str, arguments: impl Into<Json>) -> Json {
        let arguments = arguments.into();
        json!({ "name": name, "arguments": arguments })
    }

    #[test]
    fn calls_are_told_apart_however_the_server_numbers_them() {
        let two = vec![("f".to_owned(), json!({"a": 1})), ("g".to_owned(), json!({"b": 2}))];
        let by_index = [
            json!([{"index": 0, "id": "x", "function": f("f", "{\"a\"")}]),
            json!([{"index": 0, "function": {"arguments": ":1}"}}]),
            json!([{"index": 1, "id": "y", "function": f("g", "{\"b\":2}")}]),
        ];
        assert_eq!(calls(&by_index), two);
        let always_zero = [
            json!([{"index": 0, "id": "x", "function": f("f", "{\"a\":1}")}]),
            json!([{"index": 0, "id": "y", "function": f("g", "{\"b\":2}")}]),
        ];
        assert_eq!(calls(&always_zero), two);
        let no_index = [json!([{"id": "x", "function": f("f", "{\"a\":1}")},
                    {"id": "y", "index": null, "function": f("g", "{\"b\":2}")}])];
        assert_eq!(calls(&no_index), two);
        let nothing_at_all = [
            json!([{"function": f("f", "{\"a\":1}")}]),
            json!([{"id": "", "function": f("g", "{\"b\":2}")}]),
        ];
        assert_eq!(calls(&nothing_at_all), two);
        let same_tool_twice = [
            json!([{"index": 0, "function": f("f", "{\"a\":1}")}]),
            json!([{"index": 0, "function": f("f", "{\"a\":2}")}]),
        ];
        assert_eq!(calls(&same_tool_twice).len(), 2);
    }

    #[test]
    fn arguments_may_be_an_object_or_nothing_and_a_name_may_be_repeated() {
        let object = [json!([{"index": 0, "id": "x", "function": f("f", json!({"a": 1}))}])];
        assert_eq!(calls(&object), [("f".to_owned(), json!({"a": 1}))]);
        let nothing = [json!([{"index": 0, "id": "x", "function": {"name": "f"}}])];
        assert_eq!(calls(&nothing), [("f".to_owned(), json!({}))]);
        let repeated = [
            json!([{"index": 0, "id": "x", "function": f("f", "{\"a\"")}]),
            json!([{"index": 0, "id": "x", "function": f("f", ":1}")}]),
        ];
        assert_eq!(calls(&repeated), [("f".to_owned(), json!({"a": 1}))]);
    }

    #[test]
    fn a_field_that_nobody_knows_goes_back_with_its_call() {
        let mut calls = ChatCalls::default();
        let signed = json!({"index": 0, "id": "x", "extra_content": {"signature": "s"},
            "function": f("f", "{}")});
        calls.push(0, &signed);
        let (_, raw) = calls.finish();
        assert_eq!(raw[0]["extra_content"]["signature"], "s");
    }
}
