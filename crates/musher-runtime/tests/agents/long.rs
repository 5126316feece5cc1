//! Frames of any length: what they are about is known, their asks are answered and their bills are kept.

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::{Answer, Ask, EventKind, Outcome, ToolPhase, Usd, is_cut};
use musher_runtime::{AskPolicy, CommandError, SessionSpec};
use serde_json::{Value as Json, json};

use crate::rig::{ClaudeRig, Place, write_program};
use crate::story::{Ended, Story};

/// An agent that says every kind of frame that matters with 64 MiB in it, and keeps what it is answered.
const LONG: &str = r#"
big() { head -c 67108864 /dev/zero | tr '\0' x; }
read -r initialize
printf '{"type":"control_response","response":{"subtype":"success","request_id":"musher-0","response":{"commands":"'; big
printf '","hooks_applied":true}}}\n'
read -r prompt
printf '{"type":"system","subtype":"init","session_id":"s","model":"m"}\n'
printf '{"type":"assistant","message":{"model":"m","content":[{"input":{"content":"'; big
printf '","file_path":"a.txt"},"type":"tool_use","id":"t1","name":"Write"}],"id":"m1"}}\n'
printf '{"request":{"input":{"content":"'; big
printf '","file_path":"a.txt"},"subtype":"can_use_tool","tool_name":"Write","tool_use_id":"t1"},"type":"control_request","request_id":"q1"}\n'
read -r answer
printf '%s\n' "$answer" > answer.json
printf '{"tool_use_result":{"originalFile":"'; big
printf '"},"message":{"content":[{"content":"done","type":"tool_result","tool_use_id":"t1"}]},"type":"user"}\n'
printf '{"result":"'; big
printf '","type":"result","subtype":"success","is_error":false,"model_usage_since_last_result":{"m":{"inputTokens":7,"outputTokens":3,"costUSD":0.25}}}\n'
read -r end
"#;

fn long_agent(place: &Place) -> SessionSpec {
    let program = place.home.path().join("long");
    write_program(&program, LONG);
    SessionSpec { program: Some(program), ..place.spec("go") }
}

fn approval(ask: &Ask) -> &musher_runtime::core::Approval {
    match ask {
        Ask::Approval(approval) => approval,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn promise_10_frames_of_64_mib_of_every_kind_are_told_answered_and_billed() {
    let place = Place::new();
    let mut story = Story::begin(&ClaudeCode::default(), long_agent(&place));
    let (ask, body) = story.until_ask().await;
    let wanted = approval(&body);
    assert_eq!((wanted.tool.as_str(), wanted.subject.as_deref()), ("Write", Some("a.txt")));
    assert!(wanted.shortened.is_some_and(|raw| raw.len > 64 << 20), "{:?}", wanted.shortened);
    let changed = Answer::Allow { input: Some(json!({ "file_path": "b.txt" })) };
    let refused = story.handle.answer(ask.clone(), changed).await;
    assert!(matches!(refused, Err(CommandError::WrongAnswer { .. })), "{refused:?}");
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Completed), 1, "{}", ended.text());
    assert_eq!((ended.end.usage.input, ended.end.usage.output), (7, 3));
    assert_eq!(ended.end.cost_usd, Some(Usd::from_dollars(0.25)));
    let answer: Json = serde_json::from_str(&place.file("answer.json").unwrap()).unwrap();
    assert_eq!(answer["response"]["response"], json!({ "behavior": "allow" }));
    assert!(is_cut(ended.response()));
    let unparsed = |kind: &EventKind| matches!(kind, EventKind::Unparsed { .. });
    assert!(!ended.events.iter().any(|event| unparsed(&event.kind)), "{}", ended.text());
}

#[tokio::test]
async fn a_rule_that_cannot_see_all_of_a_call_leaves_it_to_a_person() {
    let run = |allow: &'static str, deny: Option<&'static str>| async move {
        let place = Place::new();
        let mut spec = long_agent(&place);
        let text = LONG
            .replace("67108864", "5242880")
            .replace("\"Write\"", "\"Bash\"")
            .replace("\"content\":\"'; big", "\"command\":\"ls '; big");
        write_program(spec.program.as_deref().unwrap(), &text);
        spec.rules.allow.push(allow.parse().unwrap());
        spec.rules.deny.extend(deny.map(|rule| rule.parse().unwrap()));
        spec.asks = AskPolicy::Deny;
        let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
        let answer: Json = serde_json::from_str(&place.file("answer.json").unwrap()).unwrap();
        (answer["response"]["response"]["behavior"].clone(), ended.text())
    };
    for (allow, deny, expected) in [
        ("execute(ls *)", None, "deny"),
        ("execute", Some("execute(rm *)"), "deny"),
        ("execute", None, "allow"),
    ] {
        let (behavior, text) = run(allow, deny).await;
        assert_eq!(behavior, expected, "{allow} {deny:?}:\n{text}");
    }
}

/// The real program with a model that does these steps; `@WORK@` stands for the folder.
async fn real(steps: Json) -> (ClaudeRig, SessionSpec) {
    let rig = ClaudeRig::new().await;
    let script = rig.place.home.path().join("steps.json");
    let work = rig.place.work.path().canonicalize().unwrap();
    let steps = steps.to_string().replace("@WORK@", work.to_str().unwrap());
    std::fs::write(&script, steps).unwrap();
    let spec = rig.spec(&format!("[[scn:script file={}]] go", script.display()));
    (rig, spec)
}

fn shortened(ended: &Ended) -> usize {
    ended.events.iter().filter(|event| event.raw.is_some_and(|raw| raw.shortened)).count()
}

#[tokio::test]
async fn promise_10_the_real_claude_writes_a_file_of_5_mb_after_a_person_has_agreed() {
    let content = "All work and no play.\n".repeat(230_000);
    let (rig, spec) = real(json!([
        { "tools": [{ "name": "Write", "input": { "file_path": "@WORK@/big.txt", "content": content } }] },
        { "text": "Written." },
    ])).await;
    let mut story = Story::begin(&ClaudeCode::default(), spec);
    let (ask, body) = story.until_ask().await;
    assert!(approval(&body).shortened.is_some(), "the frame is longer than 4 MiB");
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Completed), 1, "{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Cancelled), 0, "{}", ended.text());
    assert_eq!(rig.place.file("big.txt").as_deref(), Some(content.as_str()), "it wrote all of it");
    crate::real::assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn promise_10_the_real_claude_edits_a_notebook_of_2_4_mb() {
    let cell = |n: usize| {
        let source = format!("print('{}')", "x".repeat(2_000));
        json!({ "cell_type": "code", "id": format!("c{n}"), "metadata": {}, "outputs": [],
            "execution_count": null, "source": source })
    };
    let cells: Vec<Json> = (0..1_150).map(cell).collect();
    let notebook =
        json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }).to_string();
    assert!(notebook.len() > 2_400_000, "{}", notebook.len());
    let path = "@WORK@/big.ipynb";
    let edit = json!({ "notebook_path": path, "cell_id": "c0", "new_source": "print('mended')" });
    let (rig, spec) = real(json!([
        { "tools": [{ "name": "Write", "input": { "file_path": path, "content": notebook } }] },
        { "tools": [{ "name": "NotebookEdit", "input": edit }] },
        { "text": "Mended." },
    ]))
    .await;
    let spec = SessionSpec { permission_mode: Some("bypassPermissions".into()), ..spec };
    let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(rig.place.file("big.ipynb").unwrap().contains("mended"), "{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Completed), 2, "{}", ended.text());
    assert_eq!(ended.tools(ToolPhase::Cancelled), 0, "{}", ended.text());
    assert!(shortened(&ended) > 0, "no frame was long:\n{}", ended.text());
    crate::real::assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn promise_10_a_last_word_of_more_than_4_mib_of_the_real_claude_keeps_its_bill() {
    let rig = ClaudeRig::new().await;
    let ended =
        Story::begin(&ClaudeCode::default(), rig.spec("[[scn:long kb=4200]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(is_cut(ended.response()));
    crate::real::assert_bill(&ended, rig.server.ledger().total());
    assert!(ended.end.cost_usd.is_some());
}
