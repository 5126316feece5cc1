//! Answers without tools: text, thoughts, cut characters, odd streams, empty and paused answers.

use musher_runtime::core::{Channel, EventKind, ItemBody, Outcome};

use super::{assert_bill, everywhere, retries};
use crate::rig::Wire;
use crate::story::Ended;

fn completed(wire: Wire, ended: &Ended) {
    assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
}

fn texts(ended: &Ended) -> Vec<String> {
    let text = |kind: &EventKind| match kind {
        EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(text.clone()),
        _ => None,
    };
    ended.events.iter().filter_map(|event| text(&event.kind)).collect()
}

fn streamed(ended: &Ended, channel: Channel) -> String {
    let pieces = ended.deltas.iter().filter(|delta| delta.channel == channel);
    pieces.map(|delta| delta.text.as_str()).collect()
}

#[tokio::test]
async fn a_text_is_streamed_told_whole_and_billed_to_the_token() {
    everywhere("[[scn:text]] go", |wire, ended, rig| {
        completed(wire, ended);
        assert_eq!(ended.response(), "Hello from the scripted model.", "{wire:?}");
        assert_eq!(texts(ended), ["Hello from the scripted model."], "{wire:?}");
        assert_eq!(streamed(ended, Channel::Text), ended.response(), "{wire:?}");
        assert_bill(wire, ended, rig.server.ledger().total());
    })
    .await;
}

#[tokio::test]
async fn characters_that_are_cut_at_every_byte_arrive_whole() {
    everywhere("[[scn:utf8]] go", |wire, ended, _| {
        completed(wire, ended);
        let text = "Grüße, Žluťoučký kůň, 日本語, עברית, e\u{301}, 👩‍👩‍👧‍👦 and 🦀!";
        assert_eq!(ended.response(), text, "{wire:?}");
        assert_eq!(streamed(ended, Channel::Text), text, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn thoughts_are_told_apart_from_text() {
    everywhere("[[scn:think]] go", |wire, ended, rig| {
        completed(wire, ended);
        let thought = ended.events.iter().any(|event| {
            matches!(&event.kind, EventKind::ItemDone { body: ItemBody::Reasoning { text, .. }, .. }
                if text == "Let me think about this step by step.")
        });
        assert!(thought, "{wire:?}:\n{}", ended.text());
        assert_eq!(ended.response(), "I thought about it.", "{wire:?}");
        assert!(ended.end.usage.reasoning > 0 || wire == Wire::Messages, "{wire:?}");
        assert_bill(wire, ended, rig.server.ledger().total());
    })
    .await;
}

#[tokio::test]
async fn a_long_answer_arrives_whole() {
    everywhere("[[scn:long kb=512]] go", |wire, ended, _| {
        completed(wire, ended);
        assert_eq!(ended.response().len(), 512 * 1024, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn a_stream_may_be_written_in_every_way_that_the_format_allows() {
    for quirk in ["crlf", "comments", "multiline", "tight", "unknown", "bom"] {
        everywhere(&format!("[[scn:think quirk={quirk}]] go"), |wire, ended, rig| {
            completed(wire, ended);
            assert_eq!(ended.response(), "I thought about it.", "{wire:?} {quirk}");
            assert_bill(wire, ended, rig.server.ledger().total());
        })
        .await;
    }
}

#[tokio::test]
async fn an_empty_answer_ends_the_turn_and_a_service_that_gives_none_by_mistake_is_asked_again() {
    everywhere("[[scn:empty n=0]] go", |wire, ended, _| {
        completed(wire, ended);
        let calls = if wire == Wire::Generate { 2 } else { 1 };
        assert_eq!(ended.end.model_calls, calls, "{wire:?}:\n{}", ended.text());
    })
    .await;
    everywhere("[[scn:empty n=1]] go", |wire, ended, _| {
        completed(wire, ended);
        if wire == Wire::Generate {
            assert_eq!(ended.response(), "All is well again.");
        }
    })
    .await;
}

#[tokio::test]
async fn a_paused_answer_is_gone_on_with() {
    let rig = crate::rig::ModelRig::new(Wire::Messages).await;
    let ended = rig.run("[[scn:pause]] go").await;
    completed(Wire::Messages, &ended);
    assert_eq!(texts(&ended), ["This takes a while, ", "and here is the rest."]);
    assert_eq!(retries(&ended), 0);
}
