//! The real ACP agents on a scripted model: what the contract does not ask of every runtime.

mod attachments;
mod bills;
mod failures;
mod matrix_effort;
mod project;

use musher_runtime::acp::{Acp, AcpPreset};
use musher_runtime::core::{Answer, Ask, EventKind, Outcome, ToolKind, ToolPhase};
use musher_runtime::{Capabilities, Runtime, SessionSpec};

use crate::rig::{AcpAgent, AcpRig, write_program};
use crate::story::Story;

fn begin(rig: &AcpRig, spec: SessionSpec) -> Story {
    Story::begin(&rig.agent.runtime(), spec)
}

/// What each can do, by hand. What is said to be absent was seen to be absent: no question in `a_question_is_answered`, no
/// session in `a_session_can_be_resumed`, no tokens in the recordings; ACP itself has no steering and no turns to go back to.
#[test]
fn the_powers_of_each_agent_are_what_was_seen_of_it() {
    let of_all = |more: fn(&mut Capabilities)| {
        let mut all = Capabilities::default();
        (all.interrupt, all.approvals, all.partial_text) = (true, true, true);
        (all.set_model, all.set_mode, all.images) = (true, true, true);
        more(&mut all);
        all
    };
    for (agent, expected) in [
        (AcpAgent::GeminiCli, of_all(|it| it.usage = true)),
        (AcpAgent::OpenCode, of_all(|it| (it.resume, it.fork) = (true, true))),
        (AcpAgent::CodexAcp, of_all(|it| (it.resume, it.effort) = (true, true))),
        (AcpAgent::Copilot, of_all(|it| (it.resume, it.usage) = (true, true))),
        (AcpAgent::Qwen, of_all(|it| (it.resume, it.images) = (true, false))),
        (
            AcpAgent::ClaudeAcp,
            of_all(|it| {
                (it.resume, it.fork, it.questions) = (true, true, true);
                (it.usage, it.cost, it.effort) = (true, true, true);
            }),
        ),
    ] {
        assert_eq!(agent.runtime().capabilities(), expected, "{}", agent.name());
    }
}

#[tokio::test]
async fn a_person_allows_a_command_and_sees_what_it_is() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut story = begin(&rig, rig.spec("[[scn:bash]] go"));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("not an approval") };
    assert_eq!(approval.tool_kind, ToolKind::Execute);
    assert_eq!(approval.subject.as_deref(), Some("echo hi > out.txt && cat out.txt"));
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.place.file("out.txt").as_deref(), Some("hi\n"));
}

#[tokio::test]
async fn a_denied_change_is_told_as_denied_and_not_made() {
    let rig = AcpRig::new(AcpAgent::OpenCode).await;
    let mut story = begin(&rig, rig.spec("[[scn:write path=a.txt content=hello]] go"));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("not an approval") };
    assert_eq!(approval.tool_kind, ToolKind::Edit);
    assert!(
        approval.subject.as_deref().is_some_and(|path| path.ends_with("a.txt")),
        "{approval:?}"
    );
    let answer = Answer::Deny { reason: "Not this file.".into() };
    story.handle.answer(ask, answer).await.unwrap();
    let ended = story.end().await;
    let denied =
        |kind: &EventKind| matches!(kind, EventKind::Tool(tool) if tool.phase == ToolPhase::Denied);
    assert!(ended.events.iter().any(|event| denied(&event.kind)), "{}", ended.text());
    assert_eq!(rig.place.file("a.txt"), None);
}

#[tokio::test]
async fn model_and_mode_change_while_it_lives() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.linger = std::time::Duration::from_secs(60);
    let mut story = begin(&rig, spec);
    story.until_turns_ended(1).await;
    story.handle.set_model("gemini-3.8-flash").await.unwrap();
    story.handle.set_mode("yolo").await.unwrap();
    story.handle.prompt("[[scn:bash]] go").await.unwrap();
    story.until_turns_ended(2).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    let changed = |kind: &EventKind| matches!(kind, EventKind::ModelChanged { to, .. } if to == "gemini-3.8-flash");
    assert!(ended.events.iter().any(|event| changed(&event.kind)), "{}", ended.text());
    assert!(ended.closed_asks().is_empty(), "it asks nothing in this mode: {}", ended.text());
    let calls = rig.server.ledger().calls;
    assert_eq!(calls.last().unwrap().model, "gemini-3.8-flash");
}

#[tokio::test]
async fn any_program_that_speaks_acp_is_driven_without_a_preset() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut spec = rig.spec("[[scn:text say=Good_morning.]] go");
    let wrapper = rig.place.home.path().join("some-agent");
    let real = spec.program.take().unwrap();
    write_program(&wrapper, &format!("exec {} --acp --skip-trust", real.display()));
    spec.program = Some(wrapper);
    spec.environment = spec.environment.pass("GEMINI_*").pass("GOOGLE_*");
    let ended = Story::begin(&Acp::default(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.response(), "Good morning.");
    assert_eq!(ended.end.cost_usd, None, "nobody says how it tells its tokens");
    let mut spec = rig.spec("go");
    spec.program = None;
    let ended = Story::begin(&Acp::of(AcpPreset::any()), spec).end().await;
    let error = ended.end.error.unwrap();
    assert!(error.message.contains("needs the program"), "{error}");
}

mod matrix {
    use musher_runtime::ResumeFrom;
    use musher_runtime::core::SessionOrigin;

    use super::*;

    #[tokio::test]
    async fn a_session_is_forked_by_those_that_can() {
        for agent in [AcpAgent::OpenCode, AcpAgent::ClaudeAcp] {
            let rig = AcpRig::new(agent).await;
            let first = begin(&rig, rig.spec("[[scn:text]] go")).end().await;
            let session = first.end.session.clone().unwrap();
            let mut spec = rig.spec("[[scn:echo]] go");
            spec.resume = Some(ResumeFrom { fork: true, ..ResumeFrom::of(session.clone()) });
            let second = begin(&rig, spec).end().await;
            assert_eq!(second.end.outcome, Outcome::Completed, "{agent:?}: {}", second.text());
            assert_eq!(second.end.origin, SessionOrigin::Forked, "{agent:?}");
            assert_ne!(
                second.end.session,
                Some(session),
                "{agent:?}: the earlier one is left alone"
            );
        }
    }
}
