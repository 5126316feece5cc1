//! A completion as server-sent events, as odd as the server is.

use serde_json::{Value, json};

use super::{finish, frame, thought_key, usage};
use crate::model::asked::Asked;
use crate::model::body::Piece;
use crate::model::ledger::Usage;
use crate::model::openai;
use crate::model::quirk::Quirk;
use crate::model::reply::{self, Block, Ending, Input, Reply, Stop, ToolCall};
use crate::model::sse::Events;

/// Whether the stream will say how many tokens were used.
pub(super) fn tells_usage(asked: &Asked, reply: &Reply) -> bool {
    let quirks = &reply.quirks;
    let unasked = [Quirk::UsageEvery, Quirk::UsageLast, Quirk::UsageUnasked];
    !quirks.has(Quirk::UsageNever)
        && (asked.body["stream_options"]["include_usage"] == true
            || unasked.into_iter().any(|quirk| quirks.has(quirk)))
}

pub(super) fn pieces(asked: &Asked, model: &str, reply: &Reply) -> Vec<Piece> {
    let model = reply.model(model);
    let mut writer = Writer { asked, model, reply, events: Events::new(&reply.quirks) };
    let quirks = &reply.quirks;
    writer.delta(&json!({"role": "assistant", "content": "", "refusal": null}));
    let mut position = 0;
    for (index, block) in reply.blocks.iter().enumerate() {
        match block {
            Block::Text(pieces) => {
                let key = if reply.stop == Stop::Refusal { "refusal" } else { "content" };
                writer.texts(key, pieces);
            }
            Block::Thinking(pieces) if quirks.has(Quirk::ThinkTags) => {
                writer.texts("content", &["<think>".to_owned()]);
                writer.texts("content", pieces);
                writer.texts("content", &["</think>".to_owned()]);
            }
            Block::Thinking(pieces) => writer.texts(thought_key(reply), pieces),
            Block::Redacted => {}
            Block::Tool(call) => {
                writer.call(position, call, reply.breaks_in(index));
                position += 1;
            }
        }
    }
    match reply.ending {
        Ending::Complete | Ending::Unmarked => writer.close(),
        Ending::Error(mishap) => {
            let error = openai::refuse(&mishap.fault()).body;
            writer.events.push(None, &error);
        }
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Half => {}
    }
    writer.events.finish()
}

struct Writer<'a> {
    asked: &'a Asked,
    model: &'a str,
    reply: &'a Reply,
    events: Events<'a>,
}

impl Writer<'_> {
    /// A chunk with one choice.
    fn chunk(&self, delta: &Value, finish: &Value) -> Value {
        let mut chunk = frame("chat.completion.chunk", self.model, self.reply);
        chunk["choices"] =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        if self.reply.quirks.has(Quirk::UsageEvery) {
            chunk["usage"] = usage(self.reply, self.reply.usage.at_start());
        } else if self.asked.body["stream_options"]["include_usage"] == true {
            chunk["usage"] = Value::Null;
        }
        if self.reply.quirks.has(Quirk::Unknown) {
            chunk["weather"] = json!({"sky": "blue"});
        }
        openai::pad(self.asked, self.reply, &mut chunk);
        chunk
    }

    fn delta(&mut self, delta: &Value) {
        let chunk = self.chunk(delta, &Value::Null);
        self.events.push_after(self.reply.pace, None, &chunk);
        if self.reply.quirks.has(Quirk::UsageEvery) {
            self.tell(self.reply.usage.at_start());
        }
    }

    /// What was written last tells this usage.
    fn tell(&mut self, usage: Usage) {
        if let Some(usage) = self.reply.tells(openai::told(usage)) {
            self.events.telling(usage);
        }
    }

    fn texts(&mut self, key: &str, pieces: &[String]) {
        for text in pieces {
            let mut delta = json!({});
            delta[key] = json!(text);
            self.delta(&delta);
        }
    }

    fn call(&mut self, position: usize, call: &ToolCall, broken: bool) {
        let quirks = &self.reply.quirks;
        let arguments = call.arguments();
        let mut parts = if quirks.has(Quirk::ArgsWhole) {
            vec![json!(arguments)]
        } else if quirks.has(Quirk::ArgsEmpty) {
            vec![json!("")]
        } else if quirks.has(Quirk::ArgsMissing) {
            vec![Value::Null]
        } else {
            match &call.input {
                Input::Json(input) if quirks.has(Quirk::ArgsObject) => vec![input.clone()],
                Input::Json(_) | Input::Broken(_) => {
                    let parts = reply::pieces(&arguments, 24);
                    std::iter::once(String::new()).chain(parts).map(|part| json!(part)).collect()
                }
            }
        };
        if broken {
            parts.truncate(parts.len().div_ceil(2));
        }
        for (at, part) in parts.iter().enumerate() {
            let piece = self.call_piece(position, call, part, at == 0);
            self.delta(&json!({"tool_calls": [piece]}));
        }
    }

    fn call_piece(
        &self,
        position: usize,
        call: &ToolCall,
        arguments: &Value,
        first: bool,
    ) -> Value {
        let quirks = &self.reply.quirks;
        let mut piece = json!({"function": {}});
        if quirks.has(Quirk::NullIndex) {
            piece["index"] = Value::Null;
        } else if !quirks.has(Quirk::NoIndex) {
            piece["index"] = json!(if quirks.has(Quirk::ZeroIndex) { 0 } else { position });
        }
        if first {
            piece["type"] = json!("function");
            if quirks.has(Quirk::NullId) {
                piece["id"] = Value::Null;
            } else if quirks.has(Quirk::EmptyId) {
                piece["id"] = json!("");
            } else if !quirks.has(Quirk::NoId) {
                piece["id"] = json!(call.id);
            }
        }
        if first || quirks.has(Quirk::NameRepeated) {
            piece["function"]["name"] = json!(call.name);
        }
        if !arguments.is_null() {
            piece["function"]["arguments"] = arguments.clone();
        }
        piece
    }

    /// The finish reason, the usage and the end mark, as far as the server has them.
    fn close(&mut self) {
        let quirks = &self.reply.quirks;
        let tells = tells_usage(self.asked, self.reply);
        let mut last = self.chunk(&json!({}), &finish(self.reply));
        let with_last = quirks.has(Quirk::UsageLast) || quirks.has(Quirk::UsageEvery);
        if tells && with_last {
            last["usage"] = usage(self.reply, self.reply.usage);
        }
        self.events.push(None, &last);
        if tells && !with_last {
            let mut chunk = self.chunk(&json!({}), &Value::Null);
            chunk["choices"] = json!([]);
            chunk["usage"] = usage(self.reply, self.reply.usage);
            self.events.push(None, &chunk);
        }
        if tells {
            self.tell(self.reply.usage);
        }
        if !quirks.has(Quirk::NoDone) && self.reply.ending != Ending::Unmarked {
            self.events.push_text(std::time::Duration::ZERO, None, "[DONE]");
        }
    }
}
