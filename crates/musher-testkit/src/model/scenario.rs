//! Chooses the answer to a request: by the marker in force, the step reached and the tools on offer.

mod coder;
mod hands;
mod script;
mod speech;
mod trouble;
mod work;

use std::time::Duration;

use super::conversation::Conversation;
use super::desk::Desk;
use super::ledger::Usage;
use super::marker::Marker;
use super::mint;
use super::quirk::Quirks;
use super::reply::{Answer, Block, Ending, Reply, Split, ToolCall};
use super::trouble::{Fault, Trouble};

/// How many tokens a thought takes unless the marker says otherwise.
const THOUGHT: u64 = 7;

/// Everything a scenario may look at.
#[derive(Debug)]
struct Scene<'a> {
    conversation: &'a Conversation,
    marker: &'a Marker,
    step: usize,
    desk: &'a Desk,
}

pub(super) fn answer(conversation: &Conversation, desk: &Desk) -> Answer {
    if conversation.model.contains("no-such-model") {
        return refuse(Trouble::NoModel(conversation.model.clone()));
    }
    let (marker, step) = conversation.position();
    let quirks = match Quirks::read(&marker.text("quirk", "")) {
        Ok(quirks) => quirks,
        Err(name) => return unknown(&format!("quirk `{name}`")),
    };
    let scene = Scene { conversation, marker: &marker, step, desk };
    let mut answer = if conversation.is_side() {
        let said = marker.text("side", "Scripted side answer");
        Answer::Reply(Box::new(Reply::new(vec![Block::text(&said)], Usage::SIDE)))
    } else {
        scene.play()
    };
    if let Answer::Reply(reply) = &mut answer {
        reply.quirks = quirks;
        scene.finish(reply);
    }
    answer
}

fn refuse(trouble: Trouble) -> Answer {
    Answer::Refuse(Fault::from(trouble))
}

fn unknown(thing: &str) -> Answer {
    refuse(Trouble::Invalid(format!("the scripted model has no {thing}")))
}

impl Scene<'_> {
    fn play(&self) -> Answer {
        if let Some(answer) = trouble::answer(self) {
            return answer;
        }
        if self.marker.name == "script" {
            return script::answer(self);
        }
        if let Some(next) = coder::next(self).or_else(|| work::calls(self)) {
            return match next {
                work::Next::Call(calls) => Answer::Reply(Box::new(self.call(calls))),
                work::Next::Close(text) => self.say(&text),
            };
        }
        match speech::reply(self) {
            Some(reply) => Answer::Reply(Box::new(reply)),
            None => unknown(&format!("scenario `{}`", self.marker.name)),
        }
    }

    /// A closing text; `say` replaces it.
    fn say(&self, default: &str) -> Answer {
        let text = self.marker.text("say", default);
        Answer::Reply(Box::new(Reply::new(vec![Block::text(&text)], self.usage())))
    }

    /// A reply that is broken off while its last block is open, or before its first.
    fn broken(&self, ending: Ending) -> Answer {
        let count = self.marker.number("blocks", 1);
        let text = "This answer will not be finished, whatever";
        let mut blocks: Vec<Block> = (0..count).map(|_| Block::text(text)).collect();
        if self.marker.get("tool").is_some() {
            blocks.push(Block::Tool(work::named(self)));
        }
        let mut reply = Reply::new(blocks, self.usage());
        reply.ending = ending;
        Answer::Reply(Box::new(reply))
    }

    /// Calls of tools, after a thought and a word if the marker wants them.
    fn call(&self, calls: Vec<ToolCall>) -> Reply {
        let mut blocks = Vec::new();
        blocks.extend(self.marker.get("think").map(Block::thinking));
        blocks.extend(self.marker.get("first").map(Block::text));
        blocks.extend(calls.into_iter().map(Block::Tool));
        Reply::new(blocks, self.usage())
    }

    /// What is the same for every reply: its ids, its usage of thoughts, and its way over the wire.
    fn finish(&self, reply: &mut Reply) {
        let marker = self.marker;
        reply.delay += Duration::from_millis(marker.number("delay", 0));
        let thoughts = if reply.thought() { THOUGHT } else { 0 };
        reply.thoughts = marker.number("thoughts", thoughts).min(reply.usage.output);
        reply.tool_prompt = marker.number("toolin", 0).min(reply.usage.input);
        reply.seed = mint::seed(reply.thought());
        reply.served = marker.get("served").map(str::to_owned);
        reply.kind = marker.get("as").map(str::to_owned);
        // What is no JSON is told as a text, which is no usage either.
        reply.usage_told = marker.get("usage").map(|text| {
            serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::from(text))
        });
        if marker.get("split") == Some("byte") {
            reply.split = Split::ByByte;
        }
        let prefix = self.conversation.wire.tool_prefix();
        let mut position = 0;
        for block in &mut reply.blocks {
            if let Block::Tool(call) = block {
                call.id = mint::tool_id(prefix, self.step, position, &reply.seed);
                position += 1;
            }
        }
    }

    fn usage(&self) -> Usage {
        let marker = self.marker;
        Usage {
            input: marker.number("in", Usage::MAIN.input),
            cache_read: marker.number("cr", Usage::MAIN.cache_read),
            cache_write_5m: marker.number("cw", Usage::MAIN.cache_write_5m),
            cache_write_1h: marker.number("cw1h", Usage::MAIN.cache_write_1h),
            output: marker.number("out", Usage::MAIN.output),
        }
    }
}
