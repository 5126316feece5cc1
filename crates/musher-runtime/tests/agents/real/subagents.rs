//! Sub-agents of the real Claude Code: whatever ends them, what they had begun is ended in the record.

use musher_runtime::core::{EventKind, Outcome, ToolPhase};

use super::{begin, trusted};
use crate::rig::ClaudeRig;
use crate::story::{Ended, Story};

/// A sub-agent in the middle of a command, while the turn waits for it or not.
async fn at_work(rig: &ClaudeRig, background: bool) -> Story {
    let prompt = format!("[[scn:agent does=\"bash_sleep s=300\" bg={background}]] go");
    let mut story = begin(trusted(rig.spec(&prompt)));
    while !story.events.iter().any(|event| {
        !event.scope.is_main()
            && matches!(&event.kind, EventKind::Tool(tool) if tool.phase == ToolPhase::Proposed)
    }) {
        story.listen().await;
    }
    story.until_sleeping().await;
    story
}

/// The end of the helper's call, as it was told. That every task has its end is checked of every session.
fn call_ended(ended: &Ended) -> bool {
    ended.events.iter().any(|event| {
        !event.scope.is_main()
            && matches!(&event.kind, EventKind::Tool(tool) if tool.phase.is_final())
    })
}

#[tokio::test]
async fn a_helper_that_is_interrupted_with_its_turn_leaves_no_call_and_no_task_open() {
    let rig = ClaudeRig::new().await;
    let story = at_work(&rig, false).await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert!(call_ended(&ended), "{}", ended.text());
}

#[tokio::test]
async fn a_helper_that_is_killed_or_stopped_leaves_no_call_and_no_task_open() {
    for background in [false, true] {
        let rig = ClaudeRig::new().await;
        let story = at_work(&rig, background).await;
        match background {
            true => story.handle.stop().await.unwrap(),
            false => story.handle.kill().await.unwrap(),
        }
        let ended = story.end().await;
        assert_eq!(ended.end.outcome, Outcome::Stopped, "{}", ended.text());
        assert!(call_ended(&ended), "{}", ended.text());
    }
}
