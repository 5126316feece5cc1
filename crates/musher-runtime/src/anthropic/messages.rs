//! The Messages format: how a request is written, and how its stream is put together.

use std::collections::BTreeMap;

use musher_core::{ErrorClass, ItemBody};
use serde_json::{Value as Json, json};

use super::usage::UsageTotals;
use crate::PromptImage;
use crate::model::refusal::{HttpRefusal, RequestFailure, RetryAdvice};
use crate::model::stop::{AnswerEnd, StopReason, StopWords};
use crate::model::told::Told;
use crate::model::wire::{
    AnswerReader, CallArguments, CallResult, HistoryEntry, ModelAnswer, Outgoing, Request,
    StreamPiece, ToolChoice, ToolRequest, Wire,
};

const NAME: &str = "messages";
const VERSION: &str = "2023-06-01";
/// The format wants a limit; this one is taken by every model, and is asked for where the table knows none.
const MAX_OUTPUT: u64 = 8192;
/// Models that are given a budget for thinking; later ones choose it themselves and are told the effort.
const OLDER: &[&str] = &["-3-", "-4-0", "-4-1", "-4-2", "-4-5"];
/// The smallest budget for thinking that is taken.
const MIN_THINKING_TOKENS: u64 = 1024;

/// Why a message is over.
const STOPS: StopWords = &[
    ("end_turn", StopReason::End),
    ("stop_sequence", StopReason::End),
    ("tool_use", StopReason::Calls),
    ("pause_turn", StopReason::Paused),
    // The service has told the conversation by a summary of its own, and waits to be asked again.
    ("compaction", StopReason::Paused),
    ("max_tokens", StopReason::MaxOutput),
    ("model_context_window_exceeded", StopReason::ContextFull),
    ("refusal", StopReason::Declined),
];

/// Speaks the Messages format.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The model is told in the other way how hard to think than its name suggests.
    other_thinking: bool,
    /// The model takes no word on thinking.
    no_thinking: bool,
    no_temperature: bool,
}

impl Wire for Messages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn write(&self, request: &Request<'_>) -> Outgoing {
        let max_output = request.max_output.unwrap_or(MAX_OUTPUT).max(1);
        let tools: Vec<Json> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                })
            })
            .collect();
        let mut body = json!({
            "model": request.model,
            "max_tokens": max_output,
            "messages": messages(request.entries),
            "stream": true,
        });
        if !request.system.is_empty() {
            // What never changes is marked, so that the service reads it from its cache.
            let cached = json!({ "type": "ephemeral" });
            body["system"] =
                json!([{ "type": "text", "text": request.system, "cache_control": cached }]);
        }
        if !tools.is_empty() {
            body["tools"] = Json::Array(tools);
            if request.choice == ToolChoice::None {
                body["tool_choice"] = json!({ "type": "none" });
            }
        }
        let thinking = self.thinking(request, max_output, &mut body);
        if let Some(temperature) = request.options.temperature
            && !thinking
            && !self.no_temperature
        {
            body["temperature"] = json!(temperature);
        }
        Outgoing { path: "v1/messages".into(), body }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("anthropic-version", VERSION.to_owned())];
        headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        headers
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(Stream {
            model: None,
            blocks: BTreeMap::new(),
            usage: UsageTotals::default(),
            end: AnswerEnd::new(StopReason::Unsaid, None),
            stopped: false,
        })
    }

    fn refusal(&self, refused: &HttpRefusal<'_>) -> RequestFailure {
        let json = refused.json();
        let error = &json["error"];
        let mut refusal = refused.plain(error["message"].as_str(), error["type"].as_str());
        classify(&mut refusal);
        if refused.header("anthropic-ratelimit-unified-status") == Some("rejected") {
            refusal.error.class = ErrorClass::UsageLimit;
            refusal.again = RetryAdvice::Never;
        }
        refusal
    }

    fn adapt(&mut self, refusal: &RequestFailure) -> Option<&'static str> {
        if refusal.error.http != Some(400) {
            return None;
        }
        let how = ["thinking.type", "adaptive", "budget_tokens", "output_config"];
        if !self.other_thinking && !self.no_thinking && refusal.names(&how) {
            self.other_thinking = true;
            return Some("the model is told in another way how hard to think");
        }
        if !self.no_thinking && refusal.names(&["thinking", "output_config"]) {
            self.no_thinking = true;
            return Some("the model takes no word on how hard to think");
        }
        if !self.no_temperature && refusal.names(&["temperature"]) {
            self.no_temperature = true;
            return Some("the model takes no temperature");
        }
        None
    }
}

impl Messages {
    /// Asks for thoughts as hard as the effort says; whether any were asked for is told.
    fn thinking(&self, request: &Request<'_>, max_output: u64, body: &mut Json) -> bool {
        let Some(effort) = request.options.effort.as_deref() else { return false };
        if self.no_thinking || matches!(effort, "none" | "off") {
            return false;
        }
        let budgeted = OLDER.iter().any(|name| request.model.contains(name));
        if budgeted == self.other_thinking {
            body["thinking"] = json!({ "type": "adaptive" });
            body["output_config"] = json!({ "effort": effort });
            return true;
        }
        let wanted = match effort {
            "minimal" => MIN_THINKING_TOKENS,
            "low" => 4096,
            "medium" => 10_000,
            "high" => 24_000,
            _ => effort.parse().unwrap_or(32_000),
        };
        let budget = wanted.max(MIN_THINKING_TOKENS);
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        // The budget is a part of the answer, which must have room for more than that.
        body["max_tokens"] = json!(max_output.max(budget.saturating_add(MIN_THINKING_TOKENS)));
        true
    }
}

/// The history as messages. What a user says in several entries is one message, results first.
fn messages(entries: &[HistoryEntry]) -> Vec<Json> {
    let mut messages: Vec<(&str, Vec<Json>)> = Vec::new();
    for entry in entries {
        let (role, blocks) = match entry {
            HistoryEntry::User { text, images } => ("user", said(text, images)),
            HistoryEntry::Model { wire, raw, text, calls } => {
                ("assistant", if wire == NAME { raw.clone() } else { told(text, calls) })
            }
            HistoryEntry::Results { results } => ("user", results.iter().map(result).collect()),
        };
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    // The newest message is marked as well, so that the next request finds all before it in the cache.
    if let Some(block) = messages.last_mut().and_then(|(_, blocks)| blocks.last_mut())
        && (block["type"] == "text" || block["type"] == "tool_result")
    {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

/// What a user says. Images come before the text, as the vendor advises.
fn said(text: &str, images: &[PromptImage]) -> Vec<Json> {
    let image = |(media_type, data): (&str, &str)| {
        let source = json!({ "type": "base64", "media_type": media_type, "data": data });
        json!({ "type": "image", "source": source })
    };
    let images = images.iter().filter_map(PromptImage::content).map(image);
    images.chain([json!({ "type": "text", "text": text })]).collect()
}

/// An answer that came in another format, in the words of this one.
fn told(text: &str, calls: &[ToolRequest]) -> Vec<Json> {
    let said = Some(text).filter(|text| !is_blank(text));
    let said = said.map(|text| json!({ "type": "text", "text": text }));
    let calls = calls.iter().map(|call| {
        let input = call.input.object();
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
    });
    said.into_iter().chain(calls).collect()
}

fn result(result: &CallResult) -> Json {
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id });
    if !result.text.is_empty() {
        block["content"] = json!([{ "type": "text", "text": result.text }]);
    }
    if result.failed {
        block["is_error"] = json!(true);
    }
    block
}

/// What the words of an error mean beyond its status.
fn classify(refusal: &mut RequestFailure) {
    let class = match refusal.error.code.as_deref() {
        Some("authentication_error" | "permission_error") => ErrorClass::Auth,
        Some("billing_error") => ErrorClass::Billing,
        Some("not_found_error") => ErrorClass::ModelNotFound,
        Some("rate_limit_error") => ErrorClass::RateLimit,
        Some("overloaded_error") => ErrorClass::Overloaded,
        // The status says more, where there is one.
        Some("api_error" | "timeout_error") => return,
        Some("request_too_large") => ErrorClass::ContextOverflow,
        Some(_) | None if refusal.names(&["credit balance is too low"]) => ErrorClass::Billing,
        Some(_) | None if refusal.names(&["prompt is too long", "context window"]) => {
            ErrorClass::ContextOverflow
        }
        Some(_) | None => return,
    };
    refusal.error.class = class;
}

/// An error that was told inside an answer, or in its place.
fn failure(error: &Json) -> RequestFailure {
    let message = error["message"].as_str().unwrap_or("the service failed");
    let mut refusal =
        RequestFailure::later(ErrorClass::Server, message).with_code(error["type"].as_str());
    classify(&mut refusal);
    refusal.told_inside().unbilled()
}

/// A stream on its way to an answer.
#[derive(Debug)]
struct Stream {
    model: Option<String>,
    blocks: BTreeMap<u32, Block>,
    usage: UsageTotals,
    end: AnswerEnd,
    stopped: bool,
}

#[derive(Debug)]
struct Block {
    json: Json,
    /// Arguments that came so far.
    arguments: String,
    closed: bool,
}

impl AnswerReader for Stream {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamPiece> {
        let Ok(json) = serde_json::from_str::<Json>(data) else {
            return vec![StreamPiece::Unparsed { text: data.to_owned() }];
        };
        let index = json["index"].as_u64().and_then(|index| u32::try_from(index).ok());
        match json["type"].as_str().unwrap_or(name) {
            "message_start" => {
                let message = &json["message"];
                self.named(message);
                self.usage.so_far(&message["usage"]);
                Vec::new()
            }
            "content_block_start" => self.open(index.unwrap_or(0), &json["content_block"]),
            "content_block_delta" => self.delta(index.unwrap_or(0), &json["delta"]),
            "content_block_stop" => self.close(index.unwrap_or(0)).into_iter().collect(),
            "message_delta" => {
                let delta = &json["delta"];
                if !delta["stop_reason"].is_null() {
                    self.ended(delta);
                }
                self.usage.last(&json["usage"]);
                Vec::new()
            }
            "message_stop" => {
                self.stopped = true;
                Vec::new()
            }
            "ping" => Vec::new(),
            "error" => vec![StreamPiece::Failed(failure(&json["error"]))],
            "" if json["error"].is_object() => vec![StreamPiece::Failed(failure(&json["error"]))],
            // A whole message instead of a stream, from a service that cannot stream.
            "message" => self.message(&json),
            other => vec![StreamPiece::Native { name: other.to_owned() }],
        }
    }

    fn is_done(&self) -> bool {
        self.stopped
    }

    fn whole(&mut self, data: &str) -> Vec<StreamPiece> {
        self.event("", data)
    }

    fn usage(&self) -> Told {
        self.usage.told()
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn finish(&mut self) -> (Vec<StreamPiece>, Result<ModelAnswer, RequestFailure>) {
        if !self.stopped {
            return (Vec::new(), Err(RequestFailure::cut_off()));
        }
        let open: Vec<u32> = self.blocks.keys().copied().collect();
        let pieces: Vec<StreamPiece> =
            open.into_iter().filter_map(|index| self.close(index)).collect();
        let mut answer = ModelAnswer {
            raw: Vec::new(),
            text: String::new(),
            calls: Vec::new(),
            end: self.end.clone(),
        };
        for block in std::mem::take(&mut self.blocks).into_values() {
            let json = block.json;
            match json["type"].as_str() {
                // The format gives texts of nothing but blanks and does not take them back.
                Some("text") if json["text"].as_str().is_none_or(is_blank) => continue,
                Some("text") => answer.text.push_str(json["text"].as_str().unwrap_or_default()),
                Some("tool_use") => {
                    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
                    let input = match block.arguments.is_empty() {
                        true => CallArguments::of(json["input"].clone()),
                        false => CallArguments::read(&block.arguments),
                    };
                    answer.calls.push(ToolRequest {
                        id: text("id"),
                        name: text("name"),
                        input,
                        minted: false,
                    });
                }
                Some(_) | None => {}
            }
            answer.raw.push(json);
        }
        (pieces, Ok(answer))
    }
}

impl Stream {
    fn open(&mut self, index: u32, block: &Json) -> Vec<StreamPiece> {
        // Whatever came, a block is an object from here on.
        let json = if block.is_object() { block.clone() } else { json!({}) };
        self.blocks.insert(index, Block { json, arguments: String::new(), closed: false });
        let (text, thought) = (block["text"].as_str(), block["thinking"].as_str());
        let some = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        let text = some(text).map(|text| StreamPiece::Text { block: index, text });
        let thought = some(thought).map(|text| StreamPiece::Thought { block: index, text });
        text.into_iter().chain(thought).collect()
    }

    fn delta(&mut self, index: u32, delta: &Json) -> Vec<StreamPiece> {
        let Some(block) = self.blocks.get_mut(&index) else {
            return vec![StreamPiece::Native { name: "content_block_delta".into() }];
        };
        let kind = delta["type"].as_str().unwrap_or_default();
        let text = |key: &str| delta[key].as_str().unwrap_or_default().to_owned();
        match kind {
            "text_delta" => {
                append(&mut block.json["text"], &text("text"));
                vec![StreamPiece::Text { block: index, text: text("text") }]
            }
            "thinking_delta" => {
                append(&mut block.json["thinking"], &text("thinking"));
                vec![StreamPiece::Thought { block: index, text: text("thinking") }]
            }
            "signature_delta" => {
                append(&mut block.json["signature"], &text("signature"));
                Vec::new()
            }
            "input_json_delta" => {
                block.arguments.push_str(&text("partial_json"));
                let call = block.json["id"].as_str().unwrap_or_default().to_owned();
                vec![StreamPiece::Input { call, text: text("partial_json") }]
            }
            "citations_delta" => {
                let citation = delta["citation"].clone();
                match block.json["citations"].as_array_mut() {
                    Some(citations) => citations.push(citation),
                    None => block.json["citations"] = json!([citation]),
                }
                Vec::new()
            }
            other => vec![StreamPiece::Native { name: format!("content_block_delta/{other}") }],
        }
    }

    fn close(&mut self, index: u32) -> Option<StreamPiece> {
        let block = self.blocks.get_mut(&index)?;
        if std::mem::replace(&mut block.closed, true) {
            return None;
        }
        let json = &mut block.json;
        let text = |json: &Json, key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let body = match json["type"].as_str().unwrap_or_default() {
            "text" => ItemBody::Text { text: text(json, "text") },
            "thinking" => ItemBody::Reasoning {
                text: text(json, "thinking"),
                opaque: Some(json["signature"].clone()).filter(|signature| !signature.is_null()),
            },
            "redacted_thinking" => {
                ItemBody::Reasoning { text: String::new(), opaque: Some(json["data"].clone()) }
            }
            "tool_use" => {
                if !block.arguments.is_empty() {
                    json["input"] = CallArguments::read(&block.arguments).object();
                }
                return None;
            }
            other => ItemBody::Other { name: other.to_owned(), value: json.clone() },
        };
        if matches!(&body, ItemBody::Text { text } if text.is_empty()) {
            return None;
        }
        Some(StreamPiece::Done { block: index, body })
    }

    fn named(&mut self, message: &Json) {
        if let Some(model) = message["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
    }

    fn ended(&mut self, message: &Json) {
        let detail = &message["stop_details"]["explanation"];
        let before = Some(self.end.clone()).filter(|end| end.stop != StopReason::Unsaid);
        self.end = AnswerEnd::read(STOPS, &message["stop_reason"]).explained(detail).after(before);
    }

    fn message(&mut self, message: &Json) -> Vec<StreamPiece> {
        self.named(message);
        self.ended(message);
        self.usage.last(&message["usage"]);
        self.stopped = true;
        let mut pieces = Vec::new();
        for (index, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            pieces.extend(self.open(index, block));
            pieces.extend(self.close(index));
        }
        pieces
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn append(text: &mut Json, more: &str) {
    if let Json::String(text) = text {
        text.push_str(more);
    } else {
        *text = Json::String(more.to_owned());
    }
}
