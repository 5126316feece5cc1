//! The Chat Completions format, as the vendor and the many servers that imitate it speak it.

mod calls;
mod think;

use musher_core::{ErrorClass, ItemBody};
use serde_json::{Value as Json, json};

use super::refusal::{classify, refusal};
use super::responses::told as counted;
use super::words;
use crate::PromptImage;
use crate::model::refusal::{HttpRefusal, RequestFailure};
use crate::model::stop::{AnswerEnd, StopReason};
use crate::model::told::Told;
use crate::model::wire::{
    AnswerReader, HistoryEntry, ModelAnswer, Outgoing, Request, StreamPiece, ToolChoice,
    ToolRequest, Wire,
};
use calls::ChatCalls;
use think::Think;

const NAME: &str = "chat";
/// The fields in which servers tell thoughts.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
const THOUGHT_BLOCK: u32 = 0;
const TEXT_BLOCK: u32 = 1;

/// Speaks Chat Completions, and remembers what the server does not take.
#[derive(Debug, Default)]
pub(super) struct Chat {
    no_stream_options: bool,
    no_parallel: bool,
    /// What the model is told first is a part of what the user says first.
    no_system: bool,
    no_effort: bool,
    no_temperature: bool,
    /// The server calls the limit of an answer by its newer name.
    newer_limit: bool,
}

impl Wire for Chat {
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
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.input_schema,
                    },
                })
            })
            .collect();
        let mut body = json!({
            "model": request.model,
            "messages": messages(request, if self.no_system { "user" } else { "system" }),
            "stream": true,
        });
        if !self.no_stream_options {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if !tools.is_empty() {
            body["tools"] = Json::Array(tools);
            if !self.no_parallel {
                body["parallel_tool_calls"] = json!(true);
            }
            if request.choice == ToolChoice::None {
                body["tool_choice"] = json!("none");
            }
        }
        if let Some(max_output) = request.options.max_output {
            let name = if self.newer_limit { "max_completion_tokens" } else { "max_tokens" };
            body[name] = json!(max_output);
        }
        if let Some(effort) = request.options.effort.as_deref().filter(|_| !self.no_effort) {
            body["reasoning_effort"] = json!(effort);
        }
        if let Some(temperature) = request.options.temperature.filter(|_| !self.no_temperature) {
            body["temperature"] = json!(temperature);
        }
        Outgoing { path: "chat/completions".into(), body }
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
        if !matches!(refusal.error.http, Some(400 | 422)) {
            return None;
        }
        // The longer name comes first, because it holds the other one's words.
        let learnt: [(&mut bool, &[&str], &str); 6] = [
            (
                &mut self.no_stream_options,
                &["stream_options", "include_usage"],
                "the server does not say what an answer uses when it is asked to",
            ),
            (
                &mut self.newer_limit,
                &["max_completion_tokens", "max_tokens"],
                "the server calls the limit of an answer by its newer name",
            ),
            (
                &mut self.no_parallel,
                &["parallel_tool_calls", "parallel tool calls"],
                "the server takes no word on parallel calls",
            ),
            (
                &mut self.no_effort,
                &["reasoning_effort", "reasoning effort"],
                "the server takes no word on how hard to think",
            ),
            (
                &mut self.no_system,
                &[
                    "system role",
                    "role 'system'",
                    "support 'system'",
                    "role \"system\"",
                    "system message",
                ],
                "the server knows no system role",
            ),
            (&mut self.no_temperature, &["temperature"], "the server takes no temperature"),
        ];
        for (known, words, told) in learnt {
            if !*known && refusal.names(words) {
                *known = true;
                return Some(told);
            }
        }
        None
    }
}

/// The history as messages. What a user says in several entries is one message.
fn messages(request: &Request<'_>, first: &str) -> Vec<Json> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({ "role": first, "content": request.system }));
    }
    let is_user = |entry: &HistoryEntry| matches!(entry, HistoryEntry::User { .. });
    let last_user = request.entries.iter().rposition(is_user).unwrap_or(0);
    for (at, entry) in request.entries.iter().enumerate() {
        match entry {
            HistoryEntry::User { text, images } => {
                let image = |url| json!({ "type": "image_url", "image_url": { "url": url } });
                let images = images.iter().filter_map(PromptImage::data_url).map(image);
                say(&mut messages, text, images.collect());
            }
            HistoryEntry::Model { wire, raw, .. } if wire == NAME => {
                for message in raw {
                    let mut message = message.clone();
                    // Thoughts belong to the tool calls that they led to; servers refuse older ones.
                    if at < last_user
                        && let Some(fields) = message.as_object_mut()
                    {
                        THOUGHTS.iter().for_each(|field| {
                            fields.remove(*field);
                        });
                    }
                    messages.push(message);
                }
            }
            HistoryEntry::Model { text, calls, .. } => messages.push(told(text, calls)),
            HistoryEntry::Results { results } => messages.extend(results.iter().map(|result| {
                json!({ "role": "tool", "tool_call_id": result.id, "content": result.text })
            })),
        }
    }
    messages
}

/// Adds what a user says, after the images. A message without images stays a plain text, which every server takes.
fn say(messages: &mut Vec<Json>, text: &str, images: Vec<Json>) {
    let part = |text: &str| json!({ "type": "text", "text": text });
    let last = messages.last_mut().filter(|last| last["role"] == "user");
    let Some(last) = last else {
        let content = match images.is_empty() {
            true => json!(text),
            false => images.into_iter().chain([part(text)]).collect(),
        };
        return messages.push(json!({ "role": "user", "content": content }));
    };
    if images.is_empty()
        && let Some(before) = last["content"].as_str()
    {
        last["content"] = json!(format!("{before}\n\n{text}"));
        return;
    }
    if let Some(before) = last["content"].as_str() {
        last["content"] = json!([part(before)]);
    }
    if let Some(parts) = last["content"].as_array_mut() {
        parts.extend(images.into_iter().chain([part(text)]));
    }
}

/// An answer in the words of this format.
fn told(text: &str, calls: &[ToolRequest]) -> Json {
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls
            .iter()
            .map(|call| {
                json!({
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        // Servers read it again, so that it must be JSON whatever came.
                        "arguments": call.input.object().to_string(),
                    },
                })
            })
            .collect();
    }
    message
}

/// A stream on its way to an answer.
#[derive(Debug, Default)]
struct Stream {
    model: Option<String>,
    think: Think,
    text: String,
    thoughts: String,
    /// The field in which thoughts came, if they came in one.
    thoughts_field: Option<&'static str>,
    /// Thoughts in a form that must go back untouched.
    details: Vec<Json>,
    refused: bool,
    thought_told: bool,
    calls: ChatCalls,
    finish: Option<AnswerEnd>,
    usage: Told,
    /// The mark of the end has come, or there is none because the answer came whole.
    done: bool,
    came_whole: bool,
    /// A choice has come.
    begun: bool,
}

impl AnswerReader for Stream {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamPiece> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Vec::new();
        }
        let Ok(json) = serde_json::from_str::<Json>(data) else {
            return vec![match name {
                // Some servers tell an error in plain words.
                "error" => StreamPiece::Failed(failure(&json!(data)).unbilled()),
                _ => StreamPiece::Unparsed { text: data.to_owned() },
            }];
        };
        let named = Some(&json).filter(|_| name == "error");
        if let Some(error) = json.get("error").filter(|error| !error.is_null()).or(named) {
            return vec![StreamPiece::Failed(failure(error).unbilled())];
        }
        if let Some(model) = json["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if json["usage"].is_object() {
            self.usage = counted(&json["usage"], ["prompt_tokens", "completion_tokens"]);
        }
        let Some(choice) = json["choices"].as_array().and_then(|choices| choices.first()) else {
            // The last chunk says the usage and nothing else.
            self.done = self.finish.is_some() && self.usage != Told::Nothing;
            return match json["choices"].is_array() || json["usage"].is_object() {
                true => Vec::new(),
                false => vec![StreamPiece::Native { name: "chunk".into() }],
            };
        };
        self.begun = true;
        // A server that cannot stream sends the whole message at once.
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        let mut pieces = self.delta(delta);
        let end = AnswerEnd::read(words::FINISH, &choice["finish_reason"]);
        if end.stop != StopReason::Unsaid {
            self.finish = Some(end.after(self.finish.take()));
        }
        if choice["error"].is_object() {
            pieces.push(StreamPiece::Failed(failure(&choice["error"])));
        }
        pieces
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn whole(&mut self, data: &str) -> Vec<StreamPiece> {
        let pieces = self.event("", data);
        self.came_whole = true;
        pieces
    }

    /// Some servers count as they go; what they say before the end is not the last word.
    fn usage(&self) -> Told {
        match self.usage {
            Told::All(tokens) if !self.is_over() => Told::Part(tokens),
            told @ (Told::Nothing | Told::Part(_) | Told::All(_)) => told,
        }
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn finish(&mut self) -> (Vec<StreamPiece>, Result<ModelAnswer, RequestFailure>) {
        // The mark of the end is a word that all was sent, also where a server gives no reason.
        let end = match self.finish.clone() {
            Some(end) => end,
            None if self.done => AnswerEnd::new(StopReason::End, None),
            None if self.came_whole && self.begun => AnswerEnd::new(StopReason::Unsaid, None),
            None => return (Vec::new(), Err(RequestFailure::cut_off())),
        };
        let mut pieces = Vec::new();
        let (thought, text) = self.think.rest();
        self.thought(&thought, &mut pieces);
        self.said(&text, &mut pieces);
        self.thought_done(&mut pieces);
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            let body = ItemBody::Text { text: text.clone() };
            pieces.push(StreamPiece::Done { block: TEXT_BLOCK, body });
        }
        let (calls, raw_calls) = std::mem::take(&mut self.calls).finish();
        let mut message = told(&text, &calls);
        if !raw_calls.is_empty() {
            message["tool_calls"] = Json::Array(raw_calls);
        }
        if let Some(field) = self.thoughts_field {
            message[field] = json!(self.thoughts);
        }
        if !self.details.is_empty() {
            message["reasoning_details"] = Json::Array(std::mem::take(&mut self.details));
        }
        let ended_well = matches!(end.stop, StopReason::End | StopReason::Calls);
        let end = match self.refused && ended_well {
            true => AnswerEnd::new(StopReason::Declined, Some("refusal")),
            false => end,
        };
        let empty = text.is_empty() && calls.is_empty();
        let raw = if empty { Vec::new() } else { vec![message] };
        let answer = ModelAnswer { raw, text, calls, end };
        (pieces, Ok(answer))
    }
}

impl Stream {
    /// Whether what is told now is the last word.
    fn is_over(&self) -> bool {
        self.finish.is_some() || self.done || self.came_whole
    }

    fn delta(&mut self, delta: &Json) -> Vec<StreamPiece> {
        let mut pieces = Vec::new();
        for field in THOUGHTS {
            if let Some(text) = delta[field].as_str().filter(|text| !text.is_empty()) {
                self.thoughts_field = Some(field);
                self.thought(text, &mut pieces);
                break;
            }
        }
        if let Some(details) = delta["reasoning_details"].as_array() {
            self.details.extend(details.iter().cloned());
        }
        if let Some(text) = delta["content"].as_str() {
            let (thought, text) = self.think.push(text);
            self.thought(&thought, &mut pieces);
            self.said(&text, &mut pieces);
        }
        if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.refused = true;
            self.said(text, &mut pieces);
        }
        for (position, call) in (0..).zip(delta["tool_calls"].as_array().into_iter().flatten()) {
            pieces.extend(self.calls.push(position, call));
        }
        pieces
    }

    fn thought(&mut self, text: &str, pieces: &mut Vec<StreamPiece>) {
        if !text.is_empty() {
            self.thoughts.push_str(text);
            pieces.push(StreamPiece::Thought { block: THOUGHT_BLOCK, text: text.to_owned() });
        }
    }

    fn said(&mut self, text: &str, pieces: &mut Vec<StreamPiece>) {
        if !text.is_empty() {
            self.thought_done(pieces);
            self.text.push_str(text);
            pieces.push(StreamPiece::Text { block: TEXT_BLOCK, text: text.to_owned() });
        }
    }

    fn thought_done(&mut self, pieces: &mut Vec<StreamPiece>) {
        if self.thoughts.is_empty() || std::mem::replace(&mut self.thought_told, true) {
            return;
        }
        let opaque = Some(&self.details).filter(|details| !details.is_empty());
        let opaque = opaque.map(|details| Json::Array(details.clone()));
        let body = ItemBody::Reasoning { text: self.thoughts.clone(), opaque };
        pieces.push(StreamPiece::Done { block: THOUGHT_BLOCK, body });
    }
}

/// An error that was told inside a stream.
fn failure(error: &Json) -> RequestFailure {
    let message = error["message"].as_str().or(error.as_str()).unwrap_or("the server failed");
    let code = error["code"].as_str().or(error["type"].as_str());
    let mut refusal = RequestFailure::later(ErrorClass::Server, message).with_code(code);
    classify(&mut refusal);
    refusal.told_inside()
}
