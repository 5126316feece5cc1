//! A whole run as a file.

use musher_core::{
    Edit, EventKind, ItemBody, Origin, ToolKind, ToolOutput, ToolPhase, ToolUpdate, Trigger,
};

use crate::rig::Rig;

#[tokio::test]
async fn an_export_for_programs_holds_the_lines_as_they_are() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    log.notices(5_000);
    let whole = std::fs::read_to_string(log.folder.join("events-00000001.jsonl")).unwrap();
    let lines = whole.split_once('\n').unwrap().1;
    let reply = rig.get(&format!("/api/v1/runs/{run}/export?as=jsonl")).await;
    assert_eq!(reply.text(), lines);
    assert_eq!(reply.headers["content-type"], "application/x-ndjson");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"s1-r1.jsonl\"");
}

#[tokio::test]
async fn an_export_for_people_reads_from_the_top_to_the_end() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    let mut log = rig.log(run);
    let (text, origin) = ("Do it.\nNow.".to_owned(), Origin::Prompt);
    log.append(EventKind::UserMessage { prompt: None, text, origin, attachments: Vec::new() });
    log.append(EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() });
    let body = ItemBody::Text { text: "I will.".into() };
    log.append(EventKind::ItemDone { item: "i".into(), body, aborted: false });
    let edit = Edit { path: "a".into(), old: Some("x".into()), new: "y\n```".into(), all: false };
    let update = ToolUpdate {
        name: Some("Edit".into()),
        kind: Some(ToolKind::Edit),
        subject: Some("a.txt".into()),
        edits: vec![edit],
        ..ToolUpdate::phase("c".into(), ToolPhase::Proposed)
    };
    log.append(EventKind::Tool(Box::new(update)));
    let output = ToolOutput { text: "no such text".into(), ..ToolOutput::default() };
    let update =
        ToolUpdate { output: Some(output), ..ToolUpdate::phase("c".into(), ToolPhase::Failed) };
    log.append(EventKind::Tool(Box::new(update)));
    log.notices(1);
    log.end();
    let reply = rig.get(&format!("/api/v1/runs/{run}/export?as=markdown")).await;
    let text = reply.text();
    assert!(text.starts_with("# r1: Work\n\n- Story: s1\n- Agent: coder\n"), "{text}");
    let told = "**Prompt**\n\n> Do it.\n> Now.\n\n## Turn 0\n\nI will.\n\n**Edit** `a.txt`\n\n\
        ````diff\n-x\n+y\n+```\n````\n\n*Edit failed.*\n\n```\nno such text\n```\n\n## End: failed\n\n> none\n\n";
    assert!(text.ends_with(told), "{text}");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"s1-r1.md\"");
}

#[tokio::test]
async fn a_run_without_a_log_gives_an_export_without_events() {
    let rig = Rig::new().await;
    let run = rig.live().await;
    assert_eq!(rig.get(&format!("/api/v1/runs/{run}/export?as=jsonl")).await.body, b"");
    let text = rig.get(&format!("/api/v1/runs/{run}/export")).await.text();
    assert!(text.starts_with("# r1: Work"), "{text}");
    rig.get(&format!("/api/v1/runs/{run}/export?as=pdf")).await.is_problem(400, "bad_query");
}
