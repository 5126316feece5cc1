//! The scenarios that only talk.

use std::time::Duration;

use super::{Scene, work};
use crate::model::conversation::Speaker;
use crate::model::reply::{Block, Reply, Split, Stop, Words, pieces};

/// Characters of one to four bytes, marks that join, and letters that run from right to left.
const MANY_BYTES: &str = "Grüße, Žluťoučký kůň, 日本語, עברית, e\u{301}, 👩‍👩‍👧‍👦 and 🦀!";

/// What a talking scenario says; `None` if the scenario is not one of these.
pub(super) fn reply(scene: &Scene<'_>) -> Option<Reply> {
    let marker = scene.marker;
    let usage = scene.usage();
    let said = |default: &str| Block::text(&marker.text("say", default));
    let mut reply = match marker.name.as_str() {
        "text" => Reply::new(vec![said("Hello from the scripted model.")], usage),
        "echo" => Reply::new(vec![Block::text(&tally(scene))], usage),
        "think" => Reply::new(vec![thought(scene), said("I thought about it.")], usage),
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
        "drip" => Reply::new(vec![said("drop by drop")], usage),
        "maxtok" => Reply::new(vec![said("This answer was cut by the token limit")], usage),
        "ctxstop" => Reply::new(vec![said("This answer filled the window")], usage),
        "refusal" => {
            let call = marker.get("tool").map(|_| Block::Tool(work::named(scene)));
            Reply::new([said("I cannot")].into_iter().chain(call).collect(), usage)
        }
        "filter" => Reply::new(vec![said("I would have said")], usage),
        "finish" => finish(scene, said("This answer ended strangely")),
        "blocked" => Reply::new(vec![], usage),
        "pause" if resumed(scene) => Reply::new(vec![said("and here is the rest.")], usage),
        "pause" => Reply::new(vec![Block::text("This takes a while, ")], usage),
        "empty" => empty(scene),
        // A client that offers no todo tool is only told about the list.
        "todo" => Reply::new(vec![said("First look around, then write the file.")], usage),
        "utf8" => Reply::new(vec![Block::Text(pieces(MANY_BYTES, 1))], usage),
        _ => return None,
    };
    match marker.name.as_str() {
        "slow" => reply.pace = Duration::from_millis(marker.number("ms", 50)),
        "drip" => reply.split = Split::Drip(Duration::from_millis(marker.number("ms", 2))),
        "maxtok" => reply.stop = Stop::MaxTokens,
        "ctxstop" => reply.stop = Stop::Context,
        "refusal" => reply.stop = Stop::Refusal,
        "filter" => reply.stop = Stop::Filter,
        "blocked" => {
            reply.stop = Stop::Blocked(marker.text("reason", "PROHIBITED_CONTENT"));
            reply.usage.output = 0;
        }
        "pause" if !resumed(scene) => reply.stop = Stop::Pause,
        "utf8" => reply.split = Split::ByByte,
        _ => {}
    }
    Some(reply)
}

/// An answer, with a call if the marker names a tool, that ends in the words of the marker; `none` is no word at all.
fn finish(scene: &Scene<'_>, said: Block) -> Reply {
    let marker = scene.marker;
    if scene.step > 0 {
        return Reply::new(vec![Block::text("Done.")], scene.usage());
    }
    if !scene.desk.fails(&marker.raw, marker.number("n", 0)) {
        return Reply::new(vec![Block::text("All is well again.")], scene.usage());
    }
    let call = marker.get("tool").map(|_| Block::Tool(work::named(scene)));
    let mut reply = Reply::new([said].into_iter().chain(call).collect(), scene.usage());
    let word = |key: &str| marker.get(key).filter(|word| *word != "none").map(str::to_owned);
    reply.stop =
        Stop::Named(Words { reason: word("reason"), status: word("status"), event: word("event") });
    reply
}

fn thought(scene: &Scene<'_>) -> Block {
    if scene.marker.flag("redacted").unwrap_or(false) {
        return Block::Redacted;
    }
    Block::thinking(&scene.marker.text("about", "Let me think about this step by step."))
}

/// Nothing at all, always or the first `n` times.
fn empty(scene: &Scene<'_>) -> Reply {
    let times = scene.marker.number("n", 0);
    if scene.desk.fails(&scene.marker.raw, times) {
        return Reply::new(vec![], scene.usage());
    }
    let text = scene.marker.text("say", "All is well again.");
    Reply::new(vec![Block::text(&text)], scene.usage())
}

/// Whether the client has handed the model's own words back, so that it may go on.
fn resumed(scene: &Scene<'_>) -> bool {
    scene.conversation.turns.last().is_some_and(|turn| turn.speaker == Speaker::Model)
}

fn tally(scene: &Scene<'_>) -> String {
    let texts = scene.conversation.user_texts().count();
    let messages = scene.conversation.turns.len();
    format!("I have seen {texts} user text(s) and {messages} message(s) so far.")
}
