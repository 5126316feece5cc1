//! Commands and changes of files: asked for, allowed, denied, and by rule.

use musher_runtime::CommandError;
use musher_runtime::core::{Answer, Ask, ClosedBy, EventKind, Outcome, Rule, ToolKind, ToolPhase};

use super::{assert_bill, begin, trusted};
use crate::rig::CodexRig;
use crate::story::Ended;

fn phases(ended: &Ended) -> Vec<ToolPhase> {
    let phase = |kind: &EventKind| match kind {
        EventKind::Tool(update) => Some(update.phase),
        _ => None,
    };
    ended.events.iter().filter_map(|event| phase(&event.kind)).collect()
}

#[tokio::test]
async fn a_command_is_shown_without_its_shell_and_runs_when_it_is_allowed() {
    let rig = CodexRig::new().await;
    let mut story = begin(rig.spec(r#"[[scn:bash cmd="echo hi > out.txt"]] go"#));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("{body:?}") };
    assert_eq!(approval.tool_kind, ToolKind::Execute);
    assert_eq!(approval.subject.as_deref(), Some("echo hi > out.txt"));
    let other = Answer::Allow { input: Some(serde_json::json!({ "command": "echo no" })) };
    let refused = story.handle.answer(ask.clone(), other).await;
    assert!(matches!(refused, Err(CommandError::WrongAnswer { .. })), "{refused:?}");
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.place.file("out.txt").as_deref(), Some("hi\n"));
    assert_eq!(phases(&ended), [ToolPhase::Proposed, ToolPhase::Completed]);
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_command_that_is_denied_is_not_run_and_the_turn_goes_on() {
    let rig = CodexRig::new().await;
    let mut story = begin(rig.spec(r#"[[scn:bash cmd="echo hi > out.txt"]] go"#));
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Deny { reason: "No.".into() }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.place.file("out.txt"), None);
    assert_eq!(phases(&ended), [ToolPhase::Proposed, ToolPhase::Denied]);
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_change_is_shown_with_what_it_writes_and_made_when_it_is_allowed() {
    let rig = CodexRig::new().await;
    let mut story = begin(rig.spec(r#"[[scn:write path=a.txt content="one\ntwo\n"]] go"#));
    let (ask, body) = story.until_ask().await;
    let Ask::Approval(approval) = body else { panic!("{body:?}") };
    assert_eq!(approval.tool_kind, ToolKind::Edit);
    assert!(
        approval.subject.as_deref().is_some_and(|path| path.ends_with("a.txt")),
        "{approval:?}"
    );
    assert_eq!(approval.edits[0].new, "one\ntwo\n");
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.place.file("a.txt").as_deref(), Some("one\ntwo\n"));
}

#[tokio::test]
async fn a_rule_about_a_file_settles_a_change_of_it() {
    for (rule, written) in [("edit(*.txt)", true), ("edit(*.md)", false)] {
        let rig = CodexRig::new().await;
        let mut spec = rig.spec("[[scn:write path=a.txt content=x]] go");
        let rule: Rule = rule.parse().unwrap();
        match written {
            true => spec.rules.allow.push(rule),
            false => spec.rules.deny.push("edit(a.txt)".parse().unwrap()),
        }
        let ended = begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        let by: Vec<ClosedBy> = ended.closed_asks().into_values().collect();
        assert_eq!(by, [ClosedBy::Rule], "{}", ended.text());
        assert_eq!(rig.place.file("a.txt").is_some(), written);
    }
}

#[tokio::test]
async fn several_commands_at_once_each_have_their_end() {
    let rig = CodexRig::new().await;
    let ended = begin(trusted(rig.spec("[[scn:par n=3]] go"))).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let done = phases(&ended).iter().filter(|phase| **phase == ToolPhase::Completed).count();
    assert_eq!(done, 3, "{}", ended.text());
    assert_bill(&ended, rig.server.ledger().total());
}
