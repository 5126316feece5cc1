//! Chooses the answer to a request: by the marker in force, the step reached and the tools on offer.

mod script;
mod trouble;
mod work;

use std::time::Duration;

use super::conversation::Conversation;
use super::desk::Desk;
use super::ledger::Usage;
use super::marker::Marker;
use super::mint;
use super::reply::{Answer, Block, Ending, Refusal, Reply, Split, Stop, ToolCall, pieces};

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
        return Answer::Refuse(trouble::no_model(&conversation.model));
    }
    if conversation.is_side() {
        let title = Block::text("Scripted side answer");
        return Answer::Reply(Reply::new(vec![title], Usage::SIDE));
    }
    let (marker, step) = conversation.position();
    let scene = Scene { conversation, marker: &marker, step, desk };
    let mut answer = scene.play();
    if let Answer::Reply(reply) = &mut answer {
        reply.delay += Duration::from_millis(marker.number("delay", 0));
    }
    answer
}

impl Scene<'_> {
    fn play(&self) -> Answer {
        if let Some(answer) = trouble::answer(self) {
            return answer;
        }
        if self.marker.name == "script" {
            return script::answer(self);
        }
        if let Some(calls) = work::calls(self) {
            return match calls {
                work::Next::Call(calls) => Answer::Reply(self.call(calls)),
                work::Next::Close(text) => self.say(&text),
            };
        }
        match self.speak() {
            Some(reply) => Answer::Reply(reply),
            None => Answer::Refuse(Refusal::new(
                400,
                format!("the scripted model has no scenario `{}`", self.marker.name),
            )),
        }
    }

    /// The scenarios that only talk.
    fn speak(&self) -> Option<Reply> {
        let marker = self.marker;
        let usage = self.usage();
        let said = |default: &str| Block::text(&marker.text("say", default));
        let mut reply = match marker.name.as_str() {
            "text" => Reply::new(vec![said("Hello from the scripted model.")], usage),
            "echo" => Reply::new(vec![Block::text(&self.tally())], usage),
            "think" => {
                let thought = marker.text("about", "Let me think about this step by step.");
                Reply::new(vec![Block::thinking(&thought), said("I thought about it.")], usage)
            }
            "long" => {
                let text = "All work and no play makes a long answer. ".repeat(25);
                let bytes = usize::try_from(marker.number("kb", 64)).ok()? * 1024;
                let long = text.chars().cycle().take(bytes).collect::<String>();
                Reply::new(vec![Block::Text(pieces(&long, 1024))], usage)
            }
            "slow" => {
                let chunks = (1..=marker.number("n", 40)).map(|n| format!("chunk {n} "));
                Reply::new(vec![Block::Text(chunks.collect())], usage)
            }
            "maxtok" => Reply::new(vec![said("This answer was cut by the token limit")], usage),
            "refusal" => Reply::new(vec![said("I cannot")], usage),
            "empty" => Reply::new(vec![], usage),
            // A client that offers no todo tool is only told about the list.
            "todo" => Reply::new(vec![said("First look around, then write the file.")], usage),
            "utf8" => Reply::new(
                vec![Block::Text(pieces(
                    "Grüße, Žluťoučký kůň, 日本語, עברית, e\u{301}, 👩‍👩‍👧‍👦 and 🦀!",
                    1,
                ))],
                usage,
            ),
            _ => return None,
        };
        match marker.name.as_str() {
            "slow" => reply.pace = Duration::from_millis(marker.number("ms", 50)),
            "maxtok" => reply.stop = Stop::MaxTokens,
            "refusal" => reply.stop = Stop::Refusal,
            "utf8" => reply.split = Split::ByByte,
            _ => {}
        }
        Some(reply)
    }

    fn tally(&self) -> String {
        let texts = self.conversation.user_texts().count();
        let messages = self.conversation.turns.len();
        format!("I have seen {texts} user text(s) and {messages} message(s) so far.")
    }

    /// A closing text; `say` replaces it.
    fn say(&self, default: &str) -> Answer {
        let text = self.marker.text("say", default);
        Answer::Reply(Reply::new(vec![Block::text(&text)], self.usage()))
    }

    /// A reply that is broken off while its last block is open.
    fn broken(&self, ending: Ending) -> Answer {
        let count = self.marker.number("blocks", 1).max(1);
        let text = "This answer will not be finished, whatever";
        let blocks = (0..count).map(|_| Block::text(text)).collect();
        let mut reply = Reply::new(blocks, self.usage());
        reply.ending = ending;
        Answer::Reply(reply)
    }

    fn call(&self, calls: Vec<work::Wish>) -> Reply {
        let blocks = calls
            .into_iter()
            .enumerate()
            .map(|(position, wish)| {
                Block::Tool(ToolCall {
                    id: mint::tool_id(self.step, position),
                    name: wish.name,
                    input: wish.input,
                })
            })
            .collect();
        Reply::new(blocks, self.usage())
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
