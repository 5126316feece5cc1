//! The Responses format: how a request is written, and how its stream is put together.

use std::collections::BTreeMap;

use musher_core::{ErrorClass, ItemBody, Tokens};
use serde_json::{Value as Json, json};

use super::refusal::{classify, refusal};
use super::words;
use crate::PromptImage;
use crate::model::refusal::{HttpRefusal, RequestFailure};
use crate::model::stop::{AnswerEnd, StopReason};
use crate::model::told::{Told, UsageNumbers};
use crate::model::wire::{
    AnswerReader, CallArguments, HistoryEntry, ModelAnswer, Outgoing, Request, StreamPiece,
    ToolChoice, ToolRequest, Wire, joined, mint_call,
};

const NAME: &str = "responses";

/// Speaks the Responses format, without keeping anything at the service.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// The model does not think, so it has no thoughts to give back.
    no_reasoning: bool,
    no_temperature: bool,
}

impl Wire for Responses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn write(&self, request: &Request<'_>) -> Outgoing {
        let tools: Vec<Json> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                    "strict": false,
                })
            })
            .collect();
        let mut body = json!({
            "model": request.model,
            "input": input(request.entries),
            "stream": true,
            "store": false,
            "prompt_cache_key": request.session,
        });
        if !request.system.is_empty() {
            body["instructions"] = json!(request.system);
        }
        if !tools.is_empty() {
            body["tools"] = Json::Array(tools);
            body["parallel_tool_calls"] = json!(true);
            if request.choice == ToolChoice::None {
                body["tool_choice"] = json!("none");
            }
        }
        if !self.no_reasoning {
            // Nothing is kept at the service, so that thoughts must travel with the conversation.
            body["include"] = json!(["reasoning.encrypted_content"]);
            let mut reasoning = json!({ "summary": "auto" });
            if let Some(effort) = &request.options.effort {
                reasoning["effort"] = json!(effort);
            }
            body["reasoning"] = reasoning;
        }
        if let Some(max_output) = request.options.max_output {
            body["max_output_tokens"] = json!(max_output);
        }
        if let Some(temperature) = request.options.temperature.filter(|_| !self.no_temperature) {
            body["temperature"] = json!(temperature);
        }
        Outgoing { path: "responses".into(), body }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(Stream::default())
    }

    fn refusal(&self, refused: &HttpRefusal<'_>) -> RequestFailure {
        refusal(refused)
    }

    fn adapt(&mut self, refusal: &RequestFailure) -> Option<&'static str> {
        if refusal.error.http != Some(400) {
            return None;
        }
        if !self.no_reasoning && refusal.names(&["encrypted content", "reasoning.", "`include`"]) {
            self.no_reasoning = true;
            return Some("the model takes no word on reasoning");
        }
        if !self.no_temperature && refusal.names(&["temperature"]) {
            self.no_temperature = true;
            return Some("the model takes no temperature");
        }
        None
    }
}

/// The history as items, those that came from the service as they came.
fn input(entries: &[HistoryEntry]) -> Vec<Json> {
    let mut items = Vec::new();
    for entry in entries {
        match entry {
            HistoryEntry::User { text, images } => {
                let image = |url| json!({ "type": "input_image", "image_url": url });
                let images = images.iter().filter_map(PromptImage::data_url).map(image);
                let text = json!({ "type": "input_text", "text": text });
                let content: Vec<Json> = images.chain([text]).collect();
                items.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            HistoryEntry::Model { wire, raw, .. } if wire == NAME => {
                items.extend(raw.iter().cloned());
            }
            HistoryEntry::Model { text, calls, .. } => {
                if !text.is_empty() {
                    items.push(json!({
                        "type": "message",
                        "role": "assistant",
                        "content": [{ "type": "output_text", "text": text }],
                    }));
                }
                items.extend(calls.iter().map(|call| {
                    json!({
                        "type": "function_call",
                        "call_id": call.id,
                        "name": call.name,
                        "arguments": call.input.object().to_string(),
                    })
                }));
            }
            HistoryEntry::Results { results } => items.extend(results.iter().map(|result| {
                json!({
                    "type": "function_call_output",
                    "call_id": result.id,
                    "output": result.text,
                })
            })),
        }
    }
    items
}

/// A stream on its way to an answer.
#[derive(Debug, Default)]
struct Stream {
    model: Option<String>,
    /// Items that are whole, by their place.
    items: BTreeMap<u64, Json>,
    /// The ids of calls that are being told, by their place.
    calls: BTreeMap<u64, String>,
    usage: Told,
    end: Option<AnswerEnd>,
}

impl AnswerReader for Stream {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamPiece> {
        let Ok(json) = serde_json::from_str::<Json>(data) else {
            return vec![StreamPiece::Unparsed { text: data.to_owned() }];
        };
        let place = json["output_index"].as_u64().unwrap_or(0);
        let text = || json["delta"].as_str().unwrap_or_default().to_owned();
        let block = || block(place);
        let kind = json["type"].as_str().unwrap_or(name);
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                vec![StreamPiece::Text { block: block(), text: text() }]
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                vec![StreamPiece::Thought { block: block(), text: text() }]
            }
            "response.reasoning_summary_part.added" => {
                // Parts of a summary are paragraphs.
                match json["summary_index"].as_u64() {
                    Some(1..) => vec![StreamPiece::Thought { block: block(), text: "\n\n".into() }],
                    Some(0) | None => Vec::new(),
                }
            }
            "response.output_item.added" => {
                if let Some(call) = json["item"]["call_id"].as_str() {
                    self.calls.insert(place, call.to_owned());
                }
                Vec::new()
            }
            "response.function_call_arguments.delta" => match self.calls.get(&place) {
                Some(call) => vec![StreamPiece::Input { call: call.clone(), text: text() }],
                None => Vec::new(),
            },
            "response.output_item.done" => self.item(place, &json["item"]),
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                self.ended(kind.trim_start_matches("response."), &json["response"])
            }
            "error" => {
                let inner = &json["error"];
                let error = if inner.is_object() { inner } else { &json };
                vec![StreamPiece::Failed(failure(error).unbilled())]
            }
            "response.created" | "response.queued" | "response.in_progress" => {
                self.named(&json["response"]);
                Vec::new()
            }
            "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.refusal.done"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done"
            | "response.function_call_arguments.done" => Vec::new(),
            // A whole response instead of a stream, from a service that cannot stream.
            _ if json["object"] == "response" => self.ended("", &json),
            // An error in the place of a response.
            "" if json["error"].is_object() => {
                vec![StreamPiece::Failed(failure(&json["error"]).unbilled())]
            }
            other => vec![StreamPiece::Native { name: other.to_owned() }],
        }
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn whole(&mut self, data: &str) -> Vec<StreamPiece> {
        self.event("", data)
    }

    fn usage(&self) -> Told {
        self.usage
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn finish(&mut self) -> (Vec<StreamPiece>, Result<ModelAnswer, RequestFailure>) {
        let Some(end) = self.end.take() else {
            return (Vec::new(), Err(RequestFailure::cut_off()));
        };
        let mut answer =
            ModelAnswer { raw: Vec::new(), text: String::new(), calls: Vec::new(), end };
        for (_, mut item) in std::mem::take(&mut self.items) {
            match item["type"].as_str() {
                Some("message") => {
                    let refused = item["content"].as_array().into_iter().flatten().any(is_refusal);
                    if refused && answer.end.stop == StopReason::End {
                        answer.end = AnswerEnd::new(StopReason::Declined, Some("refusal"));
                    }
                    answer.text.push_str(&said(&item));
                }
                Some("function_call") => answer.calls.push(wanted(&mut item)),
                Some(_) | None => {}
            }
            answer.raw.push(item);
        }
        (Vec::new(), Ok(answer))
    }
}

impl Stream {
    /// An item is whole; what it says now counts.
    fn item(&mut self, place: u64, item: &Json) -> Vec<StreamPiece> {
        if !item.is_object() || self.items.contains_key(&place) {
            return Vec::new();
        }
        self.items.insert(place, item.clone());
        let body = match item["type"].as_str().unwrap_or_default() {
            "message" => ItemBody::Text { text: said(item) },
            "reasoning" => {
                let texts = |key: &str| {
                    let parts = item[key].as_array().into_iter().flatten();
                    joined(parts.filter_map(|part| part["text"].as_str()), "\n\n")
                };
                let text = [texts("summary"), texts("content")];
                let opaque = item["encrypted_content"].clone();
                ItemBody::Reasoning {
                    text: joined(text.iter().map(String::as_str), "\n\n"),
                    opaque: Some(opaque).filter(|opaque| !opaque.is_null()),
                }
            }
            "function_call" => return Vec::new(),
            other => ItemBody::Other { name: other.to_owned(), value: item.clone() },
        };
        match &body {
            ItemBody::Text { text } if text.is_empty() => Vec::new(),
            ItemBody::Text { .. } | ItemBody::Reasoning { .. } | ItemBody::Other { .. } => {
                vec![StreamPiece::Done { block: block(place), body }]
            }
        }
    }

    /// The response is over. It repeats every item; what was told is not told again.
    fn ended(&mut self, event: &str, response: &Json) -> Vec<StreamPiece> {
        self.named(response);
        if response["usage"].is_object() {
            self.usage = told(&response["usage"], ["input_tokens", "output_tokens"]);
        }
        let output = response["output"].as_array().into_iter().flatten();
        let mut pieces: Vec<StreamPiece> =
            (0..).zip(output).flat_map(|(place, item)| self.item(place, item)).collect();
        let error = &response["error"];
        if error.is_object() || event == "failed" || response["status"] == "failed" {
            pieces.push(StreamPiece::Failed(failure(error)));
        } else {
            self.end = Some(end(event, response));
        }
        pieces
    }

    fn named(&mut self, response: &Json) {
        if let Some(model) = response["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }
}

/// How a response ended. Its event, its state and its details must agree that all is well; else the worse one counts.
fn end(event: &str, response: &Json) -> AnswerEnd {
    let (state, reason) = (&response["status"], &response["incomplete_details"]["reason"]);
    let by_event = Some(json!(event)).filter(|_| !event.is_empty());
    let told = match (&by_event, state.is_null()) {
        (Some(event), true) => AnswerEnd::read(words::STATES, event),
        (Some(_) | None, _) => AnswerEnd::read(words::STATES, state),
    };
    let worse = by_event.map(|event| AnswerEnd::read(words::STATES, &event));
    let end =
        match worse.filter(|worse| told.stop == StopReason::End && worse.stop != StopReason::End) {
            Some(worse) => worse,
            None => told,
        };
    // That a response is incomplete says nothing without the reason.
    let incomplete = end.native.as_deref() == Some("incomplete");
    if !reason.is_null() && (incomplete || end.stop == StopReason::End) {
        return AnswerEnd::read(words::INCOMPLETE, reason);
    }
    end
}

/// Tokens as this vendor counts them: cached and written ones are inside the input, thoughts inside the output.
pub(super) fn told(usage: &Json, [input, output]: [&str; 2]) -> Told {
    let mut numbers = UsageNumbers::default();
    let details = &usage[format!("{input}_details")];
    let read = numbers.optional(&details["cached_tokens"]);
    let written = numbers.optional(&details["cache_write_tokens"]);
    let all = numbers.needed(&usage[input]);
    let tokens = Tokens {
        input: numbers.rest(all, read.saturating_add(written)),
        cache_read: read,
        cache_write_other: written,
        output: numbers.needed(&usage[output]),
        reasoning: numbers.optional(&usage[format!("{output}_details")]["reasoning_tokens"]),
        ..Tokens::default()
    };
    numbers.all(tokens)
}

fn block(place: u64) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn is_refusal(part: &Json) -> bool {
    part["type"] == "refusal"
}

fn said(item: &Json) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str())).collect()
}

/// The call that an item is. A call without an id gets one, there too, because its result must name it.
fn wanted(item: &mut Json) -> ToolRequest {
    let id = item["call_id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    let minted = id.is_none();
    let id = id.unwrap_or_else(mint_call);
    if minted {
        item["call_id"] = json!(id);
    }
    let input = match (item["arguments"].as_str(), item["status"].as_str()) {
        (Some(text), Some("incomplete" | "in_progress")) => {
            CallArguments::broken(text, "the service says that they are not complete".into())
        }
        (Some(text), _) => CallArguments::read(text),
        (None, _) => CallArguments::of(item["arguments"].clone()),
    };
    let name = item["name"].as_str().unwrap_or_default().to_owned();
    ToolRequest { id, name, input, minted }
}

/// An error that was told inside a stream.
fn failure(error: &Json) -> RequestFailure {
    let message = error["message"].as_str().unwrap_or("the service says that its answer failed");
    let mut refusal =
        RequestFailure::later(ErrorClass::Server, message).with_code(error["code"].as_str());
    classify(&mut refusal);
    refusal.told_inside()
}
