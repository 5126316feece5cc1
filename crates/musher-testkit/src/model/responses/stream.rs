//! A response as server-sent events.

use serde_json::{Value, json};

use super::{End, closed, ending, item, opened};
use crate::model::asked::Asked;
use crate::model::body::Piece;
use crate::model::openai;
use crate::model::quirk::Quirk;
use crate::model::reply::{self, Block, Ending, Mishap, Reply, Stop};
use crate::model::sse::Events;

pub(super) fn pieces(asked: &Asked, reply: &Reply) -> Vec<Piece> {
    let mut writer =
        Writer { asked, reply, events: Events::new(&reply.quirks), number: 0, items: vec![] };
    let response = opened(asked, reply);
    writer.event("response.created", json!({"response": response}));
    writer.event("response.in_progress", json!({"response": response}));
    if reply.quirks.has(Quirk::Unknown) {
        writer.event("response.weather.updated", json!({"weather": {"sky": "blue"}}));
    }
    for (index, block) in reply.blocks.iter().enumerate() {
        writer.block(index, block);
    }
    match reply.ending {
        Ending::Complete => {
            let end = ending(&reply.stop);
            let name = match &end {
                End::Completed => "response.completed",
                End::Incomplete(_) => "response.incomplete",
                End::Failed => "response.failed",
                End::Named(words) => words.event.as_deref().unwrap_or("response.completed"),
            };
            // The items are repeated as they were, with the same opaque content.
            let response = closed(asked, reply, std::mem::take(&mut writer.items));
            writer.event(name, json!({"response": response}));
            let told = reply.tells(openai::told(reply.usage)).filter(|_| end != End::Failed);
            told.into_iter().for_each(|usage| writer.events.telling(usage));
        }
        Ending::Error(mishap) => writer.error(mishap),
        // The last event is the mark and the usage in one.
        Ending::Silence | Ending::Cut | Ending::Eof | Ending::Half | Ending::Unmarked => {}
    }
    writer.events.finish()
}

struct Writer<'a> {
    asked: &'a Asked,
    reply: &'a Reply,
    events: Events<'a>,
    number: u64,
    items: Vec<Value>,
}

impl Writer<'_> {
    fn event(&mut self, name: &str, data: Value) {
        let event = self.numbered(name, data);
        self.events.push(Some(name), &event);
    }

    /// A piece of something, at the pace of the reply.
    fn delta(&mut self, name: &str, data: Value) {
        let mut event = self.numbered(name, data);
        openai::pad(self.asked, self.reply, &mut event);
        self.events.push_after(self.reply.pace, Some(name), &event);
    }

    fn numbered(&mut self, name: &str, mut data: Value) -> Value {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.number);
        self.number += 1;
        data
    }

    fn block(&mut self, index: usize, block: &Block) {
        let item = item::begun(self.asked, self.reply, index, block);
        self.event("response.output_item.added", json!({"output_index": index, "item": item}));
        let id = item::id(self.reply, index, block);
        let broken = self.reply.breaks_in(index);
        match block {
            Block::Text(pieces) => self.text(&id, index, pieces),
            Block::Thinking(pieces) => self.thought(&id, index, pieces),
            Block::Redacted => {}
            Block::Tool(call) => {
                let arguments = call.arguments();
                let mut parts = reply::pieces(&arguments, 24);
                if broken {
                    parts.truncate(parts.len().div_ceil(2));
                }
                let custom = item::is_custom(self.asked, call);
                let name =
                    if custom { "custom_tool_call_input" } else { "function_call_arguments" };
                for part in parts {
                    self.delta(
                        &format!("response.{name}.delta"),
                        json!({"item_id": id, "output_index": index, "delta": part}),
                    );
                }
                if !broken {
                    let mut data = json!({"item_id": id, "output_index": index, "name": call.name});
                    data[item::input_field(self.asked, call)] = json!(arguments);
                    self.event(&format!("response.{name}.done"), data);
                }
            }
        }
        if !broken {
            let item = item::done(self.asked, self.reply, index, block);
            self.event("response.output_item.done", json!({"output_index": index, "item": item}));
            self.items.push(item);
        }
    }

    fn text(&mut self, id: &str, index: usize, pieces: &[String]) {
        let place = json!({"item_id": id, "output_index": index, "content_index": 0});
        let with = |key: &str, value: Value| {
            let mut data = place.clone();
            data[key] = value;
            data
        };
        let kind = if self.reply.stop == Stop::Refusal { "refusal" } else { "output_text" };
        self.event("response.content_part.added", with("part", item::part(self.reply, "")));
        for text in pieces {
            let mut data = with("delta", json!(text));
            if kind == "output_text" {
                data["logprobs"] = json!([]);
            }
            self.delta(&format!("response.{kind}.delta"), data);
        }
        if self.reply.breaks_in(index) {
            return;
        }
        let whole = pieces.concat();
        let key = if kind == "refusal" { "refusal" } else { "text" };
        self.event(&format!("response.{kind}.done"), with(key, json!(whole)));
        self.event("response.content_part.done", with("part", item::part(self.reply, &whole)));
    }

    /// A summary of a thought, or from some servers the thought itself.
    fn thought(&mut self, id: &str, index: usize, pieces: &[String]) {
        let raw = self.reply.quirks.has(Quirk::RawReasoning);
        let (kind, place) =
            if raw { ("text", "content_index") } else { ("summary_text", "summary_index") };
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        let mut data = json!({"item_id": id, "output_index": index});
        data[place] = json!(0);
        let with = |key: &str, value: Value| {
            let mut data = data.clone();
            data[key] = value;
            data
        };
        if !raw {
            self.event("response.reasoning_summary_part.added", with("part", part("")));
        }
        for text in pieces {
            self.delta(&format!("response.reasoning_{kind}.delta"), with("delta", json!(text)));
        }
        let whole = pieces.concat();
        self.event(&format!("response.reasoning_{kind}.done"), with("text", json!(whole)));
        if !raw {
            self.event("response.reasoning_summary_part.done", with("part", part(&whole)));
        }
    }

    /// An error after the stream has begun, in one of the three ways in which it is told.
    fn error(&mut self, mishap: Mishap) {
        let (code, message) = openai::mishap(mishap);
        let quirks = &self.reply.quirks;
        if quirks.has(Quirk::FailedResponse) {
            let mut response = opened(self.asked, self.reply);
            response["status"] = json!("failed");
            response["error"] = json!({"code": code, "message": message});
            self.event("response.failed", json!({"response": response}));
        } else if quirks.has(Quirk::NestedError) {
            let error = json!({"type": code, "code": code, "message": message, "param": null});
            self.event("error", json!({"error": error}));
        } else {
            self.event("error", json!({"code": code, "message": message, "param": null}));
        }
    }
}
