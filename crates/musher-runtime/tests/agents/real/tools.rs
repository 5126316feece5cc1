//! Tools: allowed, denied, edited, questions, plans, rules.

use musher_runtime::core::{
    Answer, Ask, ClosedBy, EventKind, Outcome, QuestionReply, ToolPhase, TurnOutcome,
};

use musher_runtime::CommandError;

use super::{CALL, assert_bill, assert_cost, begin, trusted};
use crate::rig::ClaudeRig;

#[tokio::test]
async fn a_tool_that_is_allowed_runs() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("not an approval") };
    assert_eq!(approval.tool, "Bash");
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    assert_eq!(ended.tools(ToolPhase::Completed), 1);
    assert_eq!(rig.place.file("out.txt").as_deref(), Some("hi\n"));
    assert_bill(&ended, rig.server.ledger().total());
    assert_cost(&ended, 2.0 * CALL);
}

#[tokio::test]
async fn a_tool_that_is_denied_does_not_run_and_the_agent_is_told_why() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Deny { reason: "Use another way.".into() }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    assert_eq!(ended.tools(ToolPhase::Denied), 1);
    assert_eq!(ended.turns()[0].denials, ["Bash"]);
    assert_eq!(rig.place.file("out.txt"), None);
    let told = |event: &&musher_runtime::Event| matches!(&event.kind, EventKind::Tool(t) if t.reason.as_deref() == Some("Use another way."));
    assert!(ended.events.iter().any(|event| told(&event)), "{}", ended.text());
}

#[tokio::test]
async fn a_tool_that_is_edited_runs_as_edited() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("not an approval") };
    let mut input = approval.input;
    input["command"] = "echo edited > other.txt".into();
    story.handle.answer(ask, Answer::Allow { input: Some(input) }).await.unwrap();
    story.end().await;
    assert_eq!(rig.place.file("out.txt"), None);
    assert_eq!(rig.place.file("other.txt").as_deref(), Some("edited\n"));
}

#[tokio::test]
async fn an_edit_is_judged_by_the_rules_and_told() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:bash]] go");
    spec.rules.deny.push("execute(rm *)".parse().unwrap());
    let mut story = begin(spec);
    let (ask, _) = story.until_ask().await;
    let edit =
        |command: &str| Answer::Allow { input: Some(serde_json::json!({ "command": command })) };
    let forbidden = story.handle.answer(ask.clone(), edit("rm -f x")).await;
    assert_eq!(forbidden, Err(CommandError::Forbidden("execute(rm *)".into())));
    story.handle.answer(ask, edit("echo edited > other.txt")).await.unwrap();
    let ended = story.end().await;
    let told = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::Tool(t) if t.subject.as_deref() == Some("echo edited > other.txt"))
    });
    assert!(told, "{}", ended.text());
    assert_eq!(rig.place.file("other.txt").as_deref(), Some("edited\n"));
}

#[tokio::test]
async fn always_holds_for_the_session_and_writes_nothing_into_the_folder() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash cmd=\"touch one.txt\"]] go"));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("not an approval") };
    assert!(!approval.always.is_empty());
    story.handle.prompt("[[scn:bash cmd=\"touch one.txt\"]] again").await.unwrap();
    story.handle.answer(ask, Answer::always(None)).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.closed_asks().len(), 1, "it was asked again:\n{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Completed), 2);
    assert!(!rig.place.work.path().join(".claude").exists(), "the work tree was written to");
}

#[tokio::test]
async fn deny_and_interrupt_ends_the_turn() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:bash]] go"));
    let (ask, _) = story.until_ask().await;
    let answer = Answer::DenyAndInterrupt { reason: "Stop.".into() };
    story.handle.answer(ask, answer).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Interrupted);
}

#[tokio::test]
async fn parallel_calls_are_asked_and_answered_one_by_one() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:par n=3]] go");
    spec.rules.ask.push("execute".parse().unwrap());
    let mut story = begin(spec);
    for _ in 0..3 {
        let (ask, _) = story.until_ask().await;
        story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
        let closed = story.closed_asks().len();
        while story.closed_asks().len() == closed {
            story.listen().await;
        }
    }
    let ended = story.end().await;
    assert_eq!(ended.tools(ToolPhase::Completed), 3, "{}", ended.text());
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_question_takes_one_choice_several_or_words() {
    let replies = [
        ("[[scn:ask]] go", QuestionReply { chosen: vec!["Blue".into()], text: None }, "Blue"),
        (
            "[[scn:ask multi=true]] go",
            QuestionReply { chosen: vec!["Red".into(), "Blue".into()], text: None },
            "Red, Blue",
        ),
        (
            "[[scn:ask]] go",
            QuestionReply { chosen: vec![], text: Some("Green, please".into()) },
            "Green, please",
        ),
    ];
    for (prompt, reply, heard) in replies {
        let rig = ClaudeRig::new().await;
        let mut story = begin(rig.spec(prompt));
        let (ask, body) = story.until_ask().await;
        let Ask::Question { questions } = body else { panic!("not a question") };
        assert_eq!(questions[0].multi, prompt.contains("multi"));
        story.handle.answer(ask, Answer::Replies { replies: vec![reply] }).await.unwrap();
        let ended = story.end().await;
        let told = ended.events.iter().any(|event| {
            matches!(&event.kind, EventKind::Tool(t)
                if t.output.as_ref().is_some_and(|output| output.text.contains(heard)))
        });
        assert!(told, "the agent did not hear {heard}:\n{}", ended.text());
    }
}

#[tokio::test]
async fn a_plan_is_shown_and_approved() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:plan]] go");
    spec.permission_mode = Some("plan".into());
    let mut story = begin(spec);
    let (ask, body) = story.until_ask().await;
    let Ask::Plan { plan } = body else { panic!("not a plan: {body:?}") };
    assert!(!plan.is_empty());
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let left_plan_mode = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::SessionInfo(info)
            if info.permission_mode.as_deref().is_some_and(|mode| mode != "plan"))
    });
    assert!(left_plan_mode, "{}", ended.text());
}

#[tokio::test]
async fn a_deny_rule_holds_even_where_the_agent_would_not_ask() {
    let rig = ClaudeRig::new().await;
    let mut spec = trusted(rig.spec("[[scn:bash]] go"));
    spec.rules.deny.push("execute(echo *)".parse().unwrap());
    let ended = begin(spec).end().await;
    assert_eq!(ended.tools(ToolPhase::Denied), 1, "{}", ended.text());
    assert_eq!(rig.place.file("out.txt"), None);
}

#[tokio::test]
async fn an_ask_rule_brings_a_call_to_a_person_that_the_agent_would_not_ask_about() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:bash cmd=\"echo quiet\"]] go");
    spec.rules.ask.push("execute".parse().unwrap());
    let mut story = begin(spec);
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.closed_asks().into_values().collect::<Vec<_>>(), [ClosedBy::Person]);
    assert_eq!(ended.tools(ToolPhase::Completed), 1, "{}", ended.text());
}

#[tokio::test]
async fn a_tool_that_fails_or_does_not_exist_is_told_and_the_agent_goes_on() {
    for prompt in ["[[scn:bash_fail]] go", "[[scn:badtool]] go"] {
        let rig = ClaudeRig::new().await;
        let ended = begin(trusted(rig.spec(prompt))).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert_eq!(ended.tools(ToolPhase::Failed), 1, "{}", ended.text());
    }
}
