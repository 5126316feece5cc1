//! The plan, questions, progress and the end.

use musher_core::{Answer, PlanEntry, QuestionReply};
use serde_json::json;

use super::rig::call;
use crate::tools::{RunTools, SessionEffect, ToolHost, ToolReply};

#[tokio::test]
async fn a_plan_is_set_whole_and_read_back() {
    let tools = RunTools::default();
    assert_eq!(call(&tools, "plan", json!({})).await.text, "there is no plan");
    let steps = json!([
        {"text": "look", "status": "completed"},
        {"text": "mend", "status": "in_progress"},
        {"text": "test", "status": "pending"},
    ]);
    let reply = call(&tools, "plan", json!({ "steps": steps })).await;
    let SessionEffect::Plan(plan) = &reply.effect else { panic!("{reply:?}") };
    assert_eq!(plan[1], PlanEntry { text: "mend".into(), status: "in_progress".into() });
    let read = call(&tools, "plan", json!({ "steps": null })).await;
    assert_eq!(read.text, "1. [completed] look\n2. [in_progress] mend\n3. [pending] test");
    assert_eq!(
        (read.effect, read.structured.unwrap()["steps"].clone()),
        (SessionEffect::None, steps)
    );
    for wrong in [
        json!({"steps": [{"text": "a", "status": "later"}]}),
        json!({"steps": [{"text": " ", "status": "pending"}]}),
        json!({"steps": "a"}),
    ] {
        let reply = call(&tools, "plan", wrong).await;
        assert!(reply.is_failed() && reply.effect == SessionEffect::None, "{}", reply.text);
    }
    assert_eq!(
        call(&tools, "plan", json!({})).await.text,
        read.text,
        "what is wrong changes nothing"
    );
    let later = RunTools::with_plan(plan.clone());
    assert_eq!(call(&later, "plan", json!({})).await.text, read.text);
}

#[tokio::test]
async fn a_question_is_handed_on_and_its_answer_is_the_reply() {
    let tools = RunTools::default();
    let input = json!({"questions": [
        {"text": "Which?", "options": [{"label": "Red"}, {"label": "Blue", "description": "the sky"}], "multi": true},
        {"text": "Why?"},
    ]});
    let SessionEffect::Question(questions) = call(&tools, "ask_person", input).await.effect else {
        panic!()
    };
    assert_eq!((questions.len(), questions[0].options.len(), questions[0].multi), (2, 2, true));
    let answer = Answer::Replies {
        replies: vec![
            QuestionReply { chosen: vec!["Red".into()], text: None },
            QuestionReply { chosen: vec![], text: Some("because".into()) },
        ],
    };
    let reply = ToolReply::answered(&questions, &answer);
    assert_eq!(reply.text, "Which?\n> Red\nWhy?\n> because");
    let refused =
        ToolReply::answered(&questions, &Answer::Deny { reason: "nobody is there".into() });
    assert!(refused.is_failed() && refused.text.contains("nobody is there"));
    for wrong in [json!({"questions": []}), json!({"questions": [{"text": ""}]}), json!({})] {
        assert!(call(&tools, "ask_person", wrong).await.is_failed());
    }
}

#[tokio::test]
async fn progress_and_the_end_are_told_to_the_session() {
    let tools = RunTools::default();
    let reply = call(&tools, "report_progress", json!({"text": "half"})).await;
    assert_eq!(reply.effect, SessionEffect::Progress { text: "half".into() });
    let reply = call(&tools, "finish", json!({"summary": "done"})).await;
    assert_eq!(reply.effect, SessionEffect::Finish { summary: "done".into() });
    let reply = call(&tools, "finish", json!({"summary": "x".repeat(40_000)})).await;
    assert!(reply.is_failed() && reply.text.contains("say it in at most"), "{}", reply.text);
    assert!(call(&tools, "finish", json!({"summary": " "})).await.text.contains("is empty"));
    assert!(call(&tools, "end", json!({})).await.text.contains("call one of: plan, ask_person"));
    let names: Vec<_> = tools.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["plan", "ask_person", "report_progress", "finish"]);
    insta::assert_json_snapshot!(
        "run_tools",
        tools.tools().iter().map(|tool| &tool.input_schema).collect::<Vec<_>>()
    );
}
