//! Calls of tools: made, refused, asked about, mended by a person, broken off; the model is told, and goes on.

use musher_runtime::AskPolicy;
use musher_runtime::core::{
    Answer, Ask, ErrorClass, EventKind, Outcome, QuestionReply, ToolPhase, ToolUpdate, TurnOutcome,
};

use super::{assert_bill, everywhere};
use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

pub(super) fn updates(ended: &Ended, phase: ToolPhase) -> Vec<ToolUpdate> {
    let update = |kind: &EventKind| match kind {
        EventKind::Tool(update) if update.phase == phase => Some((**update).clone()),
        _ => None,
    };
    ended.events.iter().filter_map(|event| update(&event.kind)).collect()
}

fn outputs(ended: &Ended, phase: ToolPhase) -> String {
    let texts = updates(ended, phase).into_iter().filter_map(|update| update.output);
    texts.map(|output| output.text).collect::<Vec<_>>().join("\n")
}

pub(super) fn completed(wire: Wire, ended: &Ended) {
    assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
}

#[tokio::test]
async fn a_failing_test_is_mended_through_the_real_tools_and_billed_to_the_token() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let work = rig.place.work.path();
        std::fs::write(work.join("answer.txt"), "The answer is 41.\n").unwrap();
        std::fs::write(work.join("test.sh"), "grep -q 42 answer.txt\n").unwrap();
        let ended = rig.run("[[scn:coder think=I_look_first]] Make the test pass.").await;
        completed(wire, &ended);
        assert_eq!(rig.place.file("answer.txt").as_deref(), Some("The answer is 42.\n"));
        assert_eq!(ended.response(), "The test passes now.", "{wire:?}");
        let exits: Vec<_> = updates(&ended, ToolPhase::Completed)
            .into_iter()
            .chain(updates(&ended, ToolPhase::Failed))
            .filter_map(|update| update.output?.exit_code)
            .collect();
        assert!(exits.contains(&0) && exits.contains(&1), "{wire:?}: {exits:?}");
        assert_eq!(ended.end.model_calls, 5, "{wire:?}");
        assert_bill(wire, &ended, rig.server.ledger().total());
    }
}

#[tokio::test]
async fn thoughts_and_signatures_go_back_untouched() {
    // The server refuses a signature that was changed or left out, so that an end is the proof.
    for quirk in ["", "bare-signature", "raw-reasoning"] {
        let prompt = format!("[[scn:seq n=3 think=Hm. first=I_go. quirk={quirk}]] go");
        everywhere(&prompt, |wire, ended, rig| {
            completed(wire, ended);
            assert_eq!(rig.server.ledger().requests(), 4, "{wire:?} {quirk}");
        })
        .await;
    }
}

#[tokio::test]
async fn several_calls_of_one_answer_are_all_made() {
    everywhere("[[scn:par n=5]] go", |wire, ended, rig| {
        completed(wire, ended);
        let said = outputs(ended, ToolPhase::Completed);
        (1..=5).for_each(|n| assert!(said.contains(&format!("parallel {n}")), "{wire:?}: {said}"));
        assert_eq!(rig.server.ledger().requests(), 2, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_cannot_be_made_is_told_to_the_model_which_goes_on() {
    let wrong = [
        ("[[scn:badtool]] go", "there is no tool `NoSuchTool`"),
        ("[[scn:call tool=read_file args=\"{not json\"]] go", "could not be read"),
        ("[[scn:call tool=read_file args=\"[1]\"]] go", ""),
        ("[[scn:call tool=read_file args=\"{\\\"pathe\\\": 3}\"]] go", "pathe"),
        (
            "[[scn:call tool=read_file args=\"{\\\"path\\\": \\\"../../etc/passwd\\\"}\"]] go",
            "leads out",
        ),
        (
            "[[scn:call tool=read_file args=\"{\\\"path\\\": \\\"/etc/passwd\\\"}\"]] go",
            "leads out",
        ),
        ("[[scn:bash_fail]] go", "nonexistent-file"),
    ];
    for (prompt, told) in wrong {
        everywhere(prompt, |wire, ended, rig| {
            if wire == Wire::Generate && prompt.contains("{not json") {
                // This service reads arguments itself, and says only that the model got them wrong.
                assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::Protocol));
                return;
            }
            completed(wire, ended);
            let said = outputs(ended, ToolPhase::Failed);
            let count = updates(ended, ToolPhase::Failed).len();
            assert_eq!(count, 1, "{wire:?} {prompt}:\n{}", ended.text());
            assert!(said.contains(told), "{wire:?} {prompt}: {said}");
            assert!(!said.contains("root:"), "{wire:?}");
            let requests = rig.server.requests();
            let last = String::from_utf8_lossy(&requests[requests.len() - 1].body).into_owned();
            assert!(last.contains(told), "{wire:?} {prompt}: the model was told");
        })
        .await;
    }
}

#[tokio::test]
async fn a_model_that_calls_for_ever_is_ended_by_the_limit_and_makes_no_call_beyond_it() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:endless]] go");
        spec.limits.max_turns = Some(20);
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::OutOfTurns, "{wire:?}");
        assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::MaxTurns));
        assert_eq!((ended.end.model_calls, rig.server.ledger().requests()), (20, 20), "{wire:?}");
    }
}

#[tokio::test]
async fn reading_is_free_and_changing_is_asked_about_unless_the_mode_says_otherwise() {
    let asks = async |prompt: &str, mode: &str| {
        let rig = ModelRig::new(Wire::Responses).await;
        std::fs::write(rig.place.work.path().join("edit.txt"), "old\n").unwrap();
        let mut spec = rig.spec(prompt);
        spec.permission_mode = Some(mode.into());
        spec.asks = AskPolicy::Deny;
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        ended.closed_asks().len()
    };
    assert_eq!(asks("[[scn:call tool=list_files]] go", "ask").await, 0);
    assert_eq!(asks("[[scn:write]] go", "ask").await, 1);
    assert_eq!(asks("[[scn:write]] go", "edit").await, 0);
    assert_eq!(asks("[[scn:bash]] go", "edit").await, 1);
    assert_eq!(asks("[[scn:bash]] go", "free").await, 0);
}

#[tokio::test]
async fn a_rule_holds_in_every_mode_and_the_denial_is_told() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.free("[[scn:bash cmd=\"touch made\"]] go");
        spec.rules.deny.push("execute(touch *)".parse().unwrap());
        let ended = rig.begin(spec).end().await;
        completed(wire, &ended);
        assert_eq!(rig.place.file("made"), None);
        assert_eq!(ended.turns()[0].denials, ["run_command"], "{wire:?}");
        let requests = rig.server.requests();
        let last = String::from_utf8_lossy(&requests[1].body).into_owned();
        assert!(last.contains("forbids this"), "{wire:?}: the model was told why");
    }
}

#[tokio::test]
async fn what_a_person_changes_is_what_is_done() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.spec("[[scn:bash cmd=\"echo wanted > out.txt\"]] go"));
        let (ask, body) = story.until_ask().await;
        let Ask::Approval(approval) = body else { panic!("not an approval") };
        assert_eq!(approval.subject.as_deref(), Some("echo wanted > out.txt"));
        let input = Some(serde_json::json!({ "command": "echo allowed > out.txt" }));
        story.handle.answer(ask, Answer::Allow { input }).await.unwrap();
        completed(wire, &story.end().await);
        assert_eq!(rig.place.file("out.txt").as_deref(), Some("allowed\n"), "{wire:?}");
    }
}

#[tokio::test]
async fn a_denial_with_an_interrupt_ends_the_turn_and_the_session_goes_on() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.spec("[[scn:par n=2]] go"));
        let (ask, _) = story.until_ask().await;
        story.handle.prompt("[[scn:echo]] what now?").await.unwrap();
        let answer = Answer::DenyAndInterrupt { reason: "Stop that.".into() };
        story.handle.answer(ask, answer).await.unwrap();
        let ended = story.end().await;
        completed(wire, &ended);
        assert_eq!(ended.turns()[0].outcome, TurnOutcome::Interrupted, "{wire:?}");
        assert_eq!(ended.turns()[1].outcome, TurnOutcome::Completed, "{wire:?}");
    }
}

#[tokio::test]
async fn an_interrupt_leaves_a_conversation_that_can_be_gone_on_with() {
    for scenario in ["slow n=400 ms=20", "bash_sleep s=300", "hang", "par n=3"] {
        for wire in Wire::ALL {
            let rig = ModelRig::new(wire).await;
            let prompt = format!("[[scn:{scenario}]] go");
            // Where nobody answers the asks, the calls wait.
            let spec =
                if scenario.starts_with("par") { rig.spec(&prompt) } else { rig.free(&prompt) };
            let mut story = rig.begin(spec);
            match scenario.split(' ').next() {
                Some("slow") => story.until_deltas(3).await,
                Some("bash_sleep") => {
                    story.until_tool(ToolPhase::Running).await;
                    story.until_sleeping().await;
                }
                Some("par") => drop(story.until_ask().await),
                _ => {
                    while rig.server.ledger().requests() == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            story.handle.prompt("[[scn:text]] and now?").await.unwrap();
            story.handle.interrupt().await.unwrap();
            let ended = story.end().await;
            completed(wire, &ended);
            let outcomes: Vec<_> = ended.turns().iter().map(|turn| turn.outcome).collect();
            let expected = [TurnOutcome::Interrupted, TurnOutcome::Completed];
            assert_eq!(outcomes, expected, "{wire:?} {scenario}:\n{}", ended.text());
            let accepted = rig.server.ledger().calls.last().map(|call| call.status);
            assert_eq!(accepted, Some(200), "{wire:?} {scenario}");
        }
    }
}

#[tokio::test]
async fn what_is_said_into_a_turn_reaches_the_model_with_the_next_results() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.spec("[[scn:bash]] go"));
        let (ask, _) = story.until_ask().await;
        story.handle.steer("Be quick about it.").await.unwrap();
        story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
        let ended = story.end().await;
        completed(wire, &ended);
        assert_eq!(ended.end.turns, 1, "{wire:?}");
        let requests = rig.server.requests();
        let said = |at: usize| String::from_utf8_lossy(&requests[at].body).contains("Be quick");
        assert!(!said(0) && said(1), "{wire:?}");
    }
}

#[tokio::test]
async fn a_question_reaches_the_person_and_the_answer_the_model() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.spec("[[scn:ask]] go"));
        let (ask, body) = story.until_ask().await;
        let Ask::Question { questions } = body else { panic!("not a question") };
        assert_eq!(questions[0].options.len(), 2);
        let reply = QuestionReply { chosen: vec!["Blue".into()], text: Some("or navy".into()) };
        story.handle.answer(ask, Answer::Replies { replies: vec![reply] }).await.unwrap();
        completed(wire, &story.end().await);
        let requests = rig.server.requests();
        assert!(String::from_utf8_lossy(&requests[1].body).contains("Blue, or navy"), "{wire:?}");
    }
}

#[tokio::test]
async fn a_plan_is_told_and_a_summary_ends_the_turn() {
    everywhere("[[scn:todo]] go", |wire, ended, _| {
        completed(wire, ended);
        let plan = ended.events.iter().find_map(|event| match &event.kind {
            EventKind::Plan { entries } => Some(entries.len()),
            _ => None,
        });
        assert_eq!(plan, Some(3), "{wire:?}:\n{}", ended.text());
    })
    .await;
    let finish = "[[scn:call tool=finish args=\"{\\\"summary\\\": \\\"All done.\\\"}\"]] go";
    everywhere(finish, |wire, ended, rig| {
        completed(wire, ended);
        assert_eq!(ended.response(), "All done.", "{wire:?}");
        assert_eq!(rig.server.ledger().requests(), 1, "{wire:?}: nothing more is asked");
    })
    .await;
}

#[tokio::test]
async fn no_command_gets_to_see_the_key() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let ended = rig.run("[[scn:bash cmd=\"env > env.txt\"]] go").await;
        completed(wire, &ended);
        let seen = rig.place.file("env.txt").unwrap();
        assert!(seen.contains("PATH=") && !seen.contains("KEY="), "{wire:?}: {seen}");
    }
}

#[tokio::test]
async fn a_call_that_was_broken_off_leaves_nothing_running() {
    let rig = ModelRig::new(Wire::Messages).await;
    let mut story = rig.begin(rig.free("[[scn:bash cmd=\"setsid sleep 300 & sleep 300\"]] go"));
    story.until_tool(ToolPhase::Running).await;
    story.until_sleeping().await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert_eq!(updates(&ended, ToolPhase::Cancelled).len(), 1);
}
