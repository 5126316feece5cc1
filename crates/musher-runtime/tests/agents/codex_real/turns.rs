//! Interrupts, words said into a turn, sessions that are resumed and forked, and changes of model and mode.

use musher_runtime::ResumeFrom;
use musher_runtime::core::{
    ClosedBy, EventKind, Lineage, Outcome, SessionOrigin, Spend, ToolPhase, TurnOutcome,
};

use super::{assert_bill, begin, trusted};
use crate::rig::CodexRig;
use crate::story::{Ended, Story, kill_all};

async fn goes_on_after(mut story: Story) -> Ended {
    story.handle.prompt("[[scn:text say=Still_here.]] go on").await.unwrap();
    story.handle.interrupt().await.unwrap();
    story.until_turns_ended(1).await;
    assert_eq!(story.turns()[0].outcome, TurnOutcome::Interrupted, "{}", story.text());
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.response(), "Still here.");
    ended
}

#[tokio::test]
async fn an_interrupt_in_text_keeps_what_was_said_and_the_session() {
    let rig = CodexRig::new().await;
    let mut story = begin(rig.spec("[[scn:slow ms=50 n=400]] go"));
    story.until_deltas(3).await;
    let ended = goes_on_after(story).await;
    let kept = ended
        .events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::ItemDone { aborted: true, .. }));
    assert!(kept, "{}", ended.text());
    assert_eq!(ended.end.cost_usd, None, "nobody knows what the cut call cost");
}

#[tokio::test]
async fn an_interrupt_in_a_tool_ends_every_process_of_it() {
    let rig = CodexRig::new().await;
    let mut spec = trusted(rig.spec("[[scn:bash_sleep s=300]] go"));
    spec.linger = std::time::Duration::from_secs(30);
    let mut story = begin(spec);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    story.handle.interrupt().await.unwrap();
    story.until_turns_ended(1).await;
    let sleeps = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
    };
    let gone = async {
        while story.processes().iter().any(sleeps) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(std::time::Duration::from_secs(10), gone).await;
    assert!(gone.is_ok(), "the tool outlived its turn");
    story.handle.prompt("[[scn:text say=Still_here.]] go on").await.unwrap();
    story.until_turns_ended(2).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.response(), "Still here.", "{}", ended.text());
}

#[tokio::test]
async fn an_interrupt_at_an_approval_takes_the_ask_back() {
    let rig = CodexRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, _) = story.until_ask().await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    // The end of the turn and the word that nobody waits any more come in any order.
    let by = ended.closed_asks()[&ask];
    assert!(matches!(by, ClosedBy::Agent | ClosedBy::TurnEnd), "{by:?}");
    assert_eq!(rig.place.file("out.txt"), None);
}

#[tokio::test]
async fn words_said_into_a_turn_reach_the_agent() {
    let rig = CodexRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:bash_sleep s=1]] go")));
    story.until_tool(ToolPhase::Proposed).await;
    story.handle.steer("[[scn:text say=Steered.]] do this instead").await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.response(), "Steered.");
    assert_eq!(ended.end.turns, 1);
}

/// What a later run is told of what this one has spent.
fn lineage(ended: &Ended) -> Lineage {
    let mut lineage = Lineage::default();
    lineage.add("gpt-5.5", Spend::costing(ended.end.usage, ended.end.cost_usd));
    lineage
}

#[tokio::test]
async fn a_resumed_and_a_forked_session_know_what_was_said_and_bill_their_own_part_alone() {
    let rig = CodexRig::new().await;
    let first = begin(rig.spec("[[scn:text]] one")).end().await;
    let session = first.end.session.clone().unwrap();
    let before = rig.server.ledger().total();
    assert_bill(&first, before);
    for fork in [false, true] {
        let mut spec = rig.spec("[[scn:echo]] two");
        // Another run, with another folder.
        spec.session_dir = Some(rig.place.home.path().join(format!("other-{fork}")));
        spec.resume = Some(ResumeFrom {
            fork,
            lineage: lineage(&first),
            session_dir: Some(rig.sessions()),
            ..ResumeFrom::of(session.clone())
        });
        let ended = begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert!(ended.response().contains("user text(s)"), "{}", ended.response());
        let origin = if fork { SessionOrigin::Forked } else { SessionOrigin::Resumed };
        assert_eq!(ended.end.origin, origin);
        assert_eq!(ended.end.session.as_ref() == Some(&session), !fork);
        assert_eq!(ended.end.usage, first.end.usage, "one call each: {}", ended.text());
    }
}

#[tokio::test]
async fn what_a_killed_run_had_spent_is_counted_when_its_session_is_resumed() {
    let rig = CodexRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:seq n=9 delay=200]] go")));
    story
        .until(|kind| {
            matches!(kind, EventKind::Usage(report) if report.id.as_deref() == Some("call-3"))
                .then_some(())
        })
        .await;
    kill_all(story.processes());
    let killed = story.end().await;
    assert_eq!(killed.end.outcome, Outcome::Lost, "{}", killed.text());
    assert_eq!(killed.end.cost_usd, None, "a call was cut, and nobody knows what it cost");
    let mut spec = rig.spec("[[scn:text]] go on");
    spec.resume = Some(ResumeFrom {
        lineage: lineage(&killed),
        ..ResumeFrom::of(killed.end.session.clone().unwrap())
    });
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let ours = killed.end.usage.plus(ended.end.usage);
    let books = rig.server.ledger().told();
    assert!(ours.input >= books.input - 100 && ours.input <= books.input, "{ours:?} {books:?}");
}

#[tokio::test]
async fn model_and_mode_are_changed_while_it_lives() {
    let rig = CodexRig::new().await;
    let mut spec = rig.spec("[[scn:text]] one");
    spec.linger = std::time::Duration::from_secs(30);
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    story.handle.set_model("gpt-5.4").await.unwrap();
    story.handle.set_mode("full-access").await.unwrap();
    story
        .until(|kind| {
            matches!(kind, EventKind::ModelChanged { to, .. } if to == "gpt-5.4").then_some(())
        })
        .await;
    story.handle.prompt(r#"[[scn:bash cmd="echo hi > out.txt"]] two"#).await.unwrap();
    story.until_turns_ended(2).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert!(ended.closed_asks().is_empty(), "nothing is asked in that mode: {}", ended.text());
    assert_eq!(rig.place.file("out.txt").as_deref(), Some("hi\n"));
    let last = rig.server.requests().last().unwrap().json();
    assert_eq!(last["model"], "gpt-5.4");
}

#[tokio::test]
async fn the_effort_of_the_session_reaches_the_model() {
    let rig = CodexRig::new().await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.model_options.effort = Some("low".into());
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let last = rig.server.requests().last().unwrap().json();
    assert_eq!(last["reasoning"]["effort"], "low");
}
