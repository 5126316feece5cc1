//! Sessions: resume, fork, unknown, killed and taken up again, each with its own bill.

use musher_runtime::core::{EventKind, Outcome, SessionId, SessionOrigin, ToolPhase};
use musher_runtime::{ResumeFrom, SessionSpec};
use rustix::process::{Pid, Signal, kill_process};

use super::{CALL, assert_bill, assert_cost, begin, trusted};
use crate::rig::ClaudeRig;

fn resume(mut spec: SessionSpec, session: &SessionId) -> SessionSpec {
    spec.resume = Some(ResumeFrom::of(session.clone()));
    spec
}

#[tokio::test]
async fn the_session_id_is_known_before_the_agent_speaks() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:text]] go"));
    let minted = story
        .until(|kind| match kind {
            EventKind::SessionInfo(info) if info.agent_version.is_none() => info.session.clone(),
            _ => None,
        })
        .await;
    let ended = story.end().await;
    assert_eq!(ended.end.session, Some(minted));
}

#[tokio::test]
async fn promise_11_a_resumed_session_keeps_its_history_and_is_billed_for_itself_alone() {
    let rig = ClaudeRig::new().await;
    let first = begin(rig.spec("[[scn:text]] one")).end().await;
    let session = first.end.session.clone().unwrap();
    assert_cost(&first, CALL);
    rig.server.reset();
    let second = begin(resume(rig.spec("[[scn:echo]] two"), &session)).end().await;
    assert_eq!(second.end.origin, SessionOrigin::Resumed);
    assert_eq!(second.end.session, Some(session.clone()), "the id stays");
    assert!(second.response().contains("2 user text(s)"), "{}", second.response());
    assert_bill(&second, rig.server.ledger().total());
    assert_cost(&second, CALL);
    rig.server.reset();
    let third = begin(resume(rig.spec("[[scn:echo]] three"), &session)).end().await;
    assert!(third.response().contains("3 user text(s)"), "{}", third.response());
    assert_bill(&third, rig.server.ledger().total());
    assert_cost(&third, CALL);
}

#[tokio::test]
async fn promise_11_a_fork_leaves_its_parent_alone_and_is_billed_for_itself_alone() {
    let rig = ClaudeRig::new().await;
    let parent = begin(rig.spec("[[scn:text]] one")).end().await;
    let session = parent.end.session.clone().unwrap();
    rig.server.reset();
    let mut spec = resume(rig.spec("[[scn:echo]] fork"), &session);
    spec.resume.as_mut().unwrap().fork = true;
    let fork = begin(spec).end().await;
    assert_eq!(fork.end.origin, SessionOrigin::Forked);
    assert_ne!(fork.end.session, Some(session.clone()), "a fork has an id of its own");
    assert!(fork.response().contains("2 user text(s)"), "{}", fork.response());
    assert_bill(&fork, rig.server.ledger().total());
    assert_cost(&fork, CALL);
    let again = begin(resume(rig.spec("[[scn:echo]] parent again"), &session)).end().await;
    assert!(again.response().contains("2 user text(s)"), "the fork wrote into its parent");
}

#[tokio::test]
async fn an_unknown_session_falls_back_to_a_fresh_one_with_the_full_prompt_and_says_so() {
    let rig = ClaudeRig::new().await;
    let unknown = SessionId::new("00000000-0000-4000-8000-000000000000");
    let mut spec = resume(rig.spec("continue"), &unknown);
    spec.resume.as_mut().unwrap().fresh_prompt = Some("[[scn:echo]] the whole prompt".into());
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.origin, SessionOrigin::Fallback);
    assert_ne!(ended.end.session, Some(unknown));
    let said = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::Notice { code: Some(code), .. } if code == "resume_fallback")
    });
    assert!(said, "{}", ended.text());
    assert_eq!(rig.server.prompts().len(), 1, "only the fresh prompt reached the model");
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_known_session_whose_turn_fails_does_not_fall_back() {
    let rig = ClaudeRig::new().await;
    let first = begin(rig.spec("[[scn:text]] one")).end().await;
    let mut spec = resume(rig.spec("[[scn:auth]] two"), &first.end.session.clone().unwrap());
    spec.resume.as_mut().unwrap().fresh_prompt = Some("[[scn:text]] fresh".into());
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    assert_eq!(ended.end.origin, SessionOrigin::Resumed);
}

#[tokio::test]
async fn a_session_that_was_killed_in_a_tool_is_lost_and_can_be_resumed() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:bash_sleep s=300]] go")));
    story.until_tool(ToolPhase::Proposed).await;
    while rig.place.file("started.txt").is_none() {
        tokio::task::yield_now().await;
    }
    let agent = story.processes()[0];
    kill_process(Pid::from_raw(agent).unwrap(), Signal::KILL).unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Lost, "{}", ended.text());
    assert_eq!(ended.end.signal, Some(9));
    let session = ended.end.session.clone().unwrap();
    let resumed = begin(resume(rig.spec("[[scn:echo]] again"), &session)).end().await;
    assert_eq!(resumed.end.outcome, Outcome::Completed, "{}", resumed.text());
    assert!(resumed.response().contains("2 user text(s)"), "{}", resumed.response());
}

#[tokio::test]
async fn the_effort_of_the_session_reaches_the_model() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.model_options.effort = Some("low".into());
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let requests = rig.server.requests();
    let told = requests.iter().any(|request| request.json()["output_config"]["effort"] == "low");
    assert!(told, "the effort did not reach the model");
}
