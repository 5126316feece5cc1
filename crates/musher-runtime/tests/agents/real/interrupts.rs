//! Interrupts in text, in a tool and at an approval; prompts that wait and words said into a turn.

use musher_runtime::CommandError;
use musher_runtime::core::{
    Answer, ClosedBy, EventKind, Origin, Outcome, ToolPhase, Trigger, TurnOutcome,
};

use super::{CALL, assert_bill, begin, trusted};
use crate::rig::ClaudeRig;
use crate::story::Story;

/// After an interrupt the same process takes another prompt.
async fn goes_on_after(mut story: Story) {
    story.handle.prompt("[[scn:text say=Still_here.]] go on").await.unwrap();
    story.handle.interrupt().await.unwrap();
    story.until_turns_ended(1).await;
    assert_eq!(story.turns()[0].outcome, TurnOutcome::Interrupted, "{}", story.text());
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.response(), "Still here.");
}

#[tokio::test]
async fn an_interrupt_in_text_keeps_what_was_said_and_the_session() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:slow ms=50 n=400]] go"));
    story.until_deltas(3).await;
    goes_on_after(story).await;
}

#[tokio::test]
async fn an_interrupt_in_a_tool_ends_the_tool() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:bash_sleep s=300]] go")));
    story.until_tool(ToolPhase::Proposed).await;
    goes_on_after(story).await;
}

#[tokio::test]
async fn an_interrupt_at_an_approval_takes_the_ask_back() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, _) = story.until_ask().await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert_eq!(ended.closed_asks()[&ask], ClosedBy::Agent);
    assert_eq!(ended.end.exit_code, Some(1), "that exit code is no crash");
}

#[tokio::test]
async fn there_is_nothing_to_interrupt_between_turns() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.linger = std::time::Duration::from_secs(20);
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    assert_eq!(story.handle.interrupt().await, Err(CommandError::NoTurn));
    story.handle.stop().await.unwrap();
    story.end().await;
}

#[tokio::test]
async fn two_prompts_in_one_process_are_two_turns_with_one_history() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:text]] one"));
    story.handle.prompt("[[scn:echo]] two").await.unwrap();
    story.until_turns_ended(1).await;
    let ended = story.end().await;
    assert_eq!(ended.end.turns, 2);
    assert!(ended.response().contains("2 user text(s)"), "{}", ended.response());
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn words_said_into_a_turn_reach_the_agent_at_its_next_step() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:bash_sleep s=1]] go")));
    story.until_tool(ToolPhase::Proposed).await;
    story.handle.steer("[[scn:text say=Steered.]] do this instead").await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.turns, 1, "it was one turn:\n{}", ended.text());
    assert_eq!(ended.response(), "Steered.");
    assert_eq!(ended.tools(ToolPhase::Completed), 1, "the running tool was not thrown away");
    let recorded = ended
        .events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::UserMessage { origin: Origin::Steer, .. }));
    assert!(recorded);
}

#[tokio::test]
async fn promise_20_an_interrupted_call_is_billed_beside_what_the_agent_bills() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:slow ms=50 n=400]] go"));
    story.until_deltas(3).await;
    story.handle.prompt("[[scn:text]] go on").await.unwrap();
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    // The agent leaves a call out that it broke off, but its input was read, and that was told.
    let told = rig.server.ledger().told();
    let usage = ended.end.usage;
    assert_eq!((usage.input, usage.cache_read), (told.input, told.cache_read), "{}", ended.text());
    assert!(usage.output >= told.output && ended.end.estimated, "{}", ended.text());
    let one = musher_runtime::core::Usd::from_dollars(CALL);
    assert!(ended.end.cost_usd.is_some_and(|cost| cost > one), "{:?}", ended.end.cost_usd);
    assert_eq!(ended.end.model_calls, 2);
}

#[tokio::test]
async fn words_that_come_too_late_for_their_turn_begin_another_that_names_them_and_can_ask() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:slow ms=20 n=60]] go"));
    story.until_deltas(3).await;
    let steer = "[[scn:bash cmd=\"echo hi > steered.txt\"]] and this";
    let steer = story.handle.steer(steer).await.unwrap();
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.turns, 2, "no tool came between them:\n{}", ended.text());
    assert_eq!(rig.place.file("steered.txt").as_deref(), Some("hi\n"), "{}", ended.text());
    let begun: Vec<_> = ended
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TurnStarted { trigger, prompts } => Some((*trigger, prompts.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(begun[1], (Trigger::Prompt, vec![steer]), "{}", ended.text());
    assert_eq!(begun[0].1.len(), 1);
    assert_bill(&ended, rig.server.ledger().total());
}
