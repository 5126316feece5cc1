//! The generateContent format: how a request is written, and how its stream is put together.

use std::collections::HashSet;

use musher_core::{ErrorClass, ItemBody, Tokens};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use super::words;
use crate::PromptImage;
use crate::model::refusal::{HttpRefusal, RequestFailure, RetryAdvice, of_seconds};
use crate::model::stop::{AnswerEnd, StopReason};
use crate::model::told::{Told, UsageNumbers};
use crate::model::wire::{
    AnswerReader, CallArguments, CallResult, HistoryEntry, ModelAnswer, Outgoing, Request,
    StreamPiece, ToolChoice, ToolRequest, Wire, mint_call,
};

const NAME: &str = "generate";
/// What is escaped in a model's name where it is a part of a path.
const MODEL_NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// What stands for a signature where a call came from elsewhere and has none.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Speaks the generateContent format.
#[derive(Debug, Default)]
pub(super) struct Generate {
    /// The model takes no word on thinking.
    no_thinking: bool,
    /// The model takes a level of thinking and no budget, or the other way round.
    other_thinking: bool,
}

impl Wire for Generate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn write(&self, request: &Request<'_>) -> Outgoing {
        let tools: Vec<Json> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.input_schema,
                })
            })
            .collect();
        let mut body = json!({ "contents": contents(request.entries) });
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
        }
        if !tools.is_empty() {
            body["tools"] = json!([{ "functionDeclarations": tools }]);
            if request.choice == ToolChoice::None {
                body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
            }
        }
        let mut config = json!({});
        if let Some(temperature) = request.options.temperature {
            config["temperature"] = json!(temperature);
        }
        if let Some(max_output) = request.options.max_output {
            config["maxOutputTokens"] = json!(max_output);
        }
        if !self.no_thinking {
            config["thinkingConfig"] = self.thinking(request);
        }
        if config.as_object().is_some_and(|config| !config.is_empty()) {
            body["generationConfig"] = config;
        }
        let model = utf8_percent_encode(request.model.trim_start_matches("models/"), MODEL_NAME);
        Outgoing { path: format!("v1beta/models/{model}:streamGenerateContent?alt=sse"), body }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(Stream::default())
    }

    fn refusal(&self, refused: &HttpRefusal<'_>) -> RequestFailure {
        let json = refused.json();
        let error = &json["error"];
        let mut refusal = refused.plain(error["message"].as_str(), error["status"].as_str());
        classify(&mut refusal, error);
        refusal
    }

    fn adapt(&mut self, refusal: &RequestFailure) -> Option<&'static str> {
        let about_thinking =
            refusal.error.http == Some(400) && refusal.names(&["thinking", "thought summar"]);
        // A signature that is missing is no setting.
        if !about_thinking || refusal.names(&["signature"]) || self.no_thinking {
            return None;
        }
        if !self.other_thinking && refusal.names(&["level", "budget"]) {
            self.other_thinking = true;
            return Some("the model is told in another way how hard to think");
        }
        self.no_thinking = true;
        Some("the model takes no word on thinking")
    }

    fn empty_is_a_fault(&self) -> bool {
        true
    }
}

impl Generate {
    fn thinking(&self, request: &Request<'_>) -> Json {
        let mut thinking = json!({ "includeThoughts": true });
        let Some(effort) = request.options.effort.as_deref() else { return thinking };
        // The third generation takes a level, the one before it a budget.
        let level = request.model.contains("gemini-2") == self.other_thinking;
        if level {
            thinking["thinkingLevel"] = json!(effort);
        } else {
            let budget = match effort {
                "none" | "off" => 0,
                "minimal" => 512,
                "low" => 4096,
                "medium" => 8192,
                "high" => 24_576,
                other => other.parse().unwrap_or(-1),
            };
            thinking["thinkingBudget"] = json!(budget);
        }
        thinking
    }
}

/// The history as contents. What a user says in several entries is one content.
fn contents(entries: &[HistoryEntry]) -> Vec<Json> {
    let mut contents: Vec<(&str, Vec<Json>)> = Vec::new();
    for entry in entries {
        let (role, parts) = match entry {
            HistoryEntry::User { text, images } => ("user", said(text, images)),
            HistoryEntry::Model { wire, raw, .. } if wire == NAME => ("model", raw.clone()),
            HistoryEntry::Model { text, calls, .. } => ("model", told(text, calls)),
            HistoryEntry::Results { results } => ("user", results.iter().map(response).collect()),
        };
        if parts.is_empty() {
            continue;
        }
        match contents.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    contents.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

/// What a user says, after the images.
fn said(text: &str, images: &[PromptImage]) -> Vec<Json> {
    let image = |(media_type, data): (&str, &str)| json!({ "inlineData": { "mimeType": media_type, "data": data } });
    let images = images.iter().filter_map(PromptImage::content).map(image);
    images.chain([json!({ "text": text })]).collect()
}

/// An answer that came in another format, in the words of this one.
fn told(text: &str, calls: &[ToolRequest]) -> Vec<Json> {
    let said = Some(text).filter(|text| !text.is_empty()).map(|text| json!({ "text": text }));
    let calls = calls.iter().enumerate().map(|(at, call)| {
        let mut function = json!({ "name": call.name, "args": call.input.object() });
        if !call.minted {
            function["id"] = json!(call.id);
        }
        let mut part = json!({ "functionCall": function });
        if at == 0 {
            part["thoughtSignature"] = json!(NO_SIGNATURE);
        }
        part
    });
    said.into_iter().chain(calls).collect()
}

fn response(result: &CallResult) -> Json {
    let field = if result.failed { "error" } else { "output" };
    let mut response = json!({ "name": result.name, "response": { field: result.text } });
    if !result.minted {
        response["id"] = json!(result.id);
    }
    json!({ "functionResponse": response })
}

/// What the details of an error mean beyond its status.
fn classify(refusal: &mut RequestFailure, error: &Json) {
    let details = || error["details"].as_array().into_iter().flatten();
    let reason = details().find_map(|detail| detail["reason"].as_str());
    let class = match (reason, refusal.error.code.as_deref()) {
        (Some("API_KEY_INVALID"), _) => ErrorClass::Auth,
        (_, Some("UNAUTHENTICATED" | "PERMISSION_DENIED")) => ErrorClass::Auth,
        (_, Some("RESOURCE_EXHAUSTED")) => ErrorClass::RateLimit,
        (_, Some("UNAVAILABLE")) => ErrorClass::Overloaded,
        (_, Some("INVALID_ARGUMENT")) if refusal.names(&["exceeds the maximum", "too long"]) => {
            ErrorClass::ContextOverflow
        }
        (_, _) => refusal.error.class,
    };
    refusal.error.class = class;
    let delay = details().find_map(|detail| detail["retryDelay"].as_str());
    let delay = delay.and_then(|text| text.trim_end_matches('s').parse::<f64>().ok());
    if let Some(delay) = delay.and_then(of_seconds)
        && refusal.again != RetryAdvice::Never
    {
        refusal.again = RetryAdvice::After(delay);
    }
    let billing = details().any(|detail| detail["reason"] == "BILLING_DISABLED");
    if billing {
        refusal.error.class = ErrorClass::Billing;
        refusal.again = RetryAdvice::Never;
    }
}

/// A stream on its way to an answer.
#[derive(Debug, Default)]
struct Stream {
    model: Option<String>,
    parts: Vec<Json>,
    /// The block that is being told, with its text so far.
    open: Option<Open>,
    blocks: u32,
    text: String,
    calls: Vec<ToolRequest>,
    /// The ids that were given; a model may make thousands of calls.
    ids: HashSet<String>,
    end: Option<AnswerEnd>,
    usage: Told,
    /// The answer came whole, so that nothing more can follow.
    came_whole: bool,
    /// A candidate has come.
    begun: bool,
}

#[derive(Debug)]
struct Open {
    thought: bool,
    text: String,
    signature: Option<Json>,
}

impl AnswerReader for Stream {
    fn event(&mut self, _: &str, data: &str) -> Vec<StreamPiece> {
        match serde_json::from_str::<Json>(data) {
            // Without events the service sends one list of what they would have held.
            Ok(Json::Array(chunks)) => chunks.iter().flat_map(|chunk| self.chunk(chunk)).collect(),
            Ok(chunk) => self.chunk(&chunk),
            Err(_) => vec![StreamPiece::Unparsed { text: data.to_owned() }],
        }
    }

    /// Nothing says that an answer is over but the end of the stream.
    fn is_done(&self) -> bool {
        false
    }

    fn whole(&mut self, data: &str) -> Vec<StreamPiece> {
        let pieces = self.event("", data);
        self.came_whole = true;
        pieces
    }

    /// Every chunk counts anew; only at the end it is the last word.
    fn usage(&self) -> Told {
        match self.usage {
            Told::All(tokens) if self.end.is_none() && !self.came_whole => Told::Part(tokens),
            told @ (Told::Nothing | Told::Part(_) | Told::All(_)) => told,
        }
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn finish(&mut self) -> (Vec<StreamPiece>, Result<ModelAnswer, RequestFailure>) {
        let end = match self.end.clone() {
            Some(end) => end,
            None if self.came_whole && self.begun => AnswerEnd::new(StopReason::Unsaid, None),
            None => return (Vec::new(), Err(RequestFailure::cut_off())),
        };
        let pieces = self.close().into_iter().collect();
        let answer = ModelAnswer {
            raw: std::mem::take(&mut self.parts),
            text: std::mem::take(&mut self.text),
            calls: std::mem::take(&mut self.calls),
            end,
        };
        (pieces, Ok(answer))
    }
}

impl Stream {
    fn chunk(&mut self, chunk: &Json) -> Vec<StreamPiece> {
        if let Some(error) = chunk.get("error").filter(|error| error.is_object()) {
            let message = error["message"].as_str().unwrap_or("the service failed");
            let mut refusal = RequestFailure::later(ErrorClass::Server, message)
                .with_code(error["status"].as_str());
            classify(&mut refusal, error);
            return vec![StreamPiece::Failed(refusal.told_inside().unbilled())];
        }
        if let Some(model) = chunk["modelVersion"].as_str() {
            self.model = Some(model.to_owned());
        }
        if chunk["usageMetadata"].is_object() {
            self.usage = tokens(&chunk["usageMetadata"]);
        }
        let feedback = &chunk["promptFeedback"];
        let blocked = &feedback["blockReason"];
        if !blocked.is_null() {
            // Whatever the reason is, the prompt was not let through.
            let end = AnswerEnd::read(&[], blocked).explained(&feedback["blockReasonMessage"]);
            self.end = Some(AnswerEnd { stop: StopReason::Declined, ..end });
        }
        let Some(candidate) = chunk["candidates"].as_array().and_then(|all| all.first()) else {
            let known = chunk["usageMetadata"].is_object() || self.end.is_some();
            return if known {
                Vec::new()
            } else {
                vec![StreamPiece::Native { name: "chunk".into() }]
            };
        };
        self.begun = true;
        let parts = candidate["content"]["parts"].as_array().into_iter().flatten();
        let pieces = parts.flat_map(|part| self.part(part)).collect();
        let finish = &candidate["finishReason"];
        if !finish.is_null() {
            let end = AnswerEnd::read(words::FINISH, finish).explained(&candidate["finishMessage"]);
            self.end = Some(end.after(self.end.take()));
        }
        pieces
    }

    fn part(&mut self, part: &Json) -> Vec<StreamPiece> {
        if !part.is_object() {
            return Vec::new();
        }
        if let Some(text) = part["text"].as_str() {
            return self.said(part, text);
        }
        let mut pieces: Vec<StreamPiece> = self.close().into_iter().collect();
        let function = &part["functionCall"];
        if function.is_object() {
            let id = function["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
            // Ids are not promised, nor that they are told apart.
            let id = id.filter(|id| self.ids.insert(id.clone()));
            self.calls.push(ToolRequest {
                minted: id.is_none(),
                id: id.unwrap_or_else(mint_call),
                name: function["name"].as_str().unwrap_or_default().to_owned(),
                input: CallArguments::of(function["args"].clone()),
            });
        } else if !part
            .as_object()
            .is_some_and(|part| part.keys().all(|key| key.starts_with("thought")))
        {
            let name = part.as_object().and_then(|part| part.keys().next().cloned());
            let body = ItemBody::Other { name: name.unwrap_or_default(), value: part.clone() };
            pieces.push(StreamPiece::Done { block: self.blocks, body });
            self.blocks += 1;
        }
        self.parts.push(part.clone());
        pieces
    }

    /// Text comes in parts of any size, which are told as one; parts with a signature go back as they came.
    fn said(&mut self, part: &Json, text: &str) -> Vec<StreamPiece> {
        let thought = part["thought"] == true;
        let mut pieces = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.thought != thought) {
            pieces.extend(self.close());
        }
        let block = self.blocks;
        let open = self.open.get_or_insert(Open { thought, text: String::new(), signature: None });
        open.text.push_str(text);
        if let Some(signature) = part.get("thoughtSignature") {
            open.signature = Some(signature.clone());
        }
        if !thought {
            self.text.push_str(text);
        }
        match self.parts.last_mut() {
            // Nothing is no part.
            _ if text.is_empty() && is_plain(part) => {}
            Some(last)
                if is_plain(last) && is_plain(part) && last["thought"] == part["thought"] =>
            {
                let before = last["text"].as_str().unwrap_or_default();
                last["text"] = json!(format!("{before}{text}"));
            }
            _ => self.parts.push(part.clone()),
        }
        if !text.is_empty() {
            let text = text.to_owned();
            pieces.push(match thought {
                true => StreamPiece::Thought { block, text },
                false => StreamPiece::Text { block, text },
            });
        }
        pieces
    }

    fn close(&mut self) -> Option<StreamPiece> {
        let open = self.open.take()?;
        let block = self.blocks;
        self.blocks += 1;
        let body = match open.thought {
            true => ItemBody::Reasoning { text: open.text, opaque: open.signature },
            false if open.text.is_empty() => return None,
            false => ItemBody::Text { text: open.text },
        };
        Some(StreamPiece::Done { block, body })
    }
}

/// Whether a part is text that can be joined with its neighbour.
fn is_plain(part: &Json) -> bool {
    let known = |key: &String| key == "text" || key == "thought";
    part["text"].is_string() && part.as_object().is_some_and(|part| part.keys().all(known))
}

/// Tokens as this vendor counts them: cached ones are inside the prompt, thoughts beside the answer. Counts of nothing
/// are left out, but there is no prompt of nothing.
fn tokens(usage: &Json) -> Told {
    let mut numbers = UsageNumbers::default();
    let prompt = numbers.needed(&usage["promptTokenCount"]);
    // What is left out is nothing; what is null is not told.
    let mut count = |name: &str| match usage.get(name) {
        Some(json) => numbers.needed(json),
        None => 0,
    };
    let (cached, thoughts) = (count("cachedContentTokenCount"), count("thoughtsTokenCount"));
    let (tools, said) = (count("toolUsePromptTokenCount"), count("candidatesTokenCount"));
    let tokens = Tokens {
        input: numbers.rest(prompt, cached).saturating_add(tools),
        cache_read: cached,
        output: said.saturating_add(thoughts),
        reasoning: thoughts,
        ..Tokens::default()
    };
    numbers.all(tokens)
}
