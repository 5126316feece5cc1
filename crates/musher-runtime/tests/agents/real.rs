//! The real Claude Code on a scripted model: every way a turn can go, and the bill for it.

mod attachments;
mod below;
mod failures;
mod interrupts;
mod money;
mod project;
mod sessions;
mod subagents;
mod tools;

use musher_runtime::claude_code::{ClaudeCode, TESTED_VERSION};
use musher_runtime::core::{EventKind, Outcome, ToolPhase, Usd};
use musher_runtime::{
    CancellationToken, Capabilities, McpServer, McpTransport, Runtime as _, SessionSpec,
    SystemPrompt, run_once,
};
use musher_testkit::model::Usage;

use crate::rig::ClaudeRig;
use crate::story::{Ended, Story};

fn begin(spec: SessionSpec) -> Story {
    Story::begin(&ClaudeCode::default(), spec)
}

/// Lets the agent do what it wants, as far as its own rules go.
fn trusted(mut spec: SessionSpec) -> SessionSpec {
    spec.permission_mode = Some("bypassPermissions".into());
    spec
}

/// What it can do, by hand: each power has its scene here or in the contract. Going on from an earlier turn is absent, because
/// a session can be taken up at its end alone (`--resume ID`).
#[test]
fn its_powers_are_what_was_seen_of_it() {
    let mut all = Capabilities::default();
    (all.resume, all.fork, all.steer, all.interrupt) = (true, true, true, true);
    (all.approvals, all.questions, all.partial_text) = (true, true, true);
    (all.set_model, all.set_mode, all.effort) = (true, true, true);
    (all.usage, all.cost, all.images) = (true, true, true);
    assert_eq!(ClaudeCode::default().capabilities(), all);
}

/// What the run says it used is what the server says it gave, to the token.
pub(crate) fn assert_bill(ended: &Ended, told: Usage) {
    let ours = ended.end.usage;
    let said = Usage {
        input: ours.input,
        cache_read: ours.cache_read,
        cache_write_5m: ours.cache_write_5m,
        cache_write_1h: ours.cache_write_1h,
        output: ours.output,
    };
    assert_eq!(said, told, "{}", ended.text());
    assert_eq!(ours.cache_write_other, 0);
}

/// The cost in the agent's own last words, less what the session had cost before.
fn assert_cost(ended: &Ended, dollars: f64) {
    assert_eq!(ended.end.cost_usd, Some(Usd::from_dollars(dollars)), "{}", ended.text());
}

/// One call of the scripted model: 100 in, 50 written and 1000 read from cache, 20 out.
const CALL: f64 = 0.001_25;

#[tokio::test]
async fn text_streams_and_its_bill_is_exact() {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("[[scn:text say=Good_morning.]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed);
    assert_eq!(ended.response(), "Good morning.");
    let streamed: String = ended.deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(streamed, "Good morning.");
    assert_bill(&ended, rig.server.ledger().total());
    assert_cost(&ended, CALL);
    assert_eq!(ended.end.exit_code, Some(0));
    let version = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::SessionInfo(info) => info.agent_version.clone(),
        _ => None,
    });
    assert_eq!(version.as_deref(), Some(TESTED_VERSION));
}

#[tokio::test]
async fn thinking_is_apart_from_text() {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("[[scn:think]] go")).end().await;
    let reasoning = ended.events.iter().any(|event| {
        matches!(&event.kind, EventKind::ItemDone { body: musher_runtime::core::ItemBody::Reasoning { text, opaque }, .. }
            if !text.is_empty() && opaque.is_some())
    });
    assert!(reasoning, "{}", ended.text());
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn multi_byte_text_arrives_whole() {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("[[scn:utf8]] go")).end().await;
    let streamed: String = ended.deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(streamed, ended.response());
    assert!(!streamed.is_ascii());
}

#[tokio::test]
async fn a_prompt_that_begins_with_a_dash_and_one_of_a_megabyte_arrive_whole() {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("--dangerously-skip-permissions [[scn:text]]")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(rig.server.prompts().iter().any(|p| p.contains("--dangerously-skip-permissions")));
    let long = format!("[[scn:text]] {}", "x".repeat(1_000_000));
    let ended = begin(rig.spec(&long)).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(rig.server.prompts().iter().any(|prompt| prompt.len() > 1_000_000));
}

#[tokio::test]
async fn a_helper_speaks_in_its_own_scope_and_a_background_turn_belongs_to_the_run() {
    let rig = ClaudeRig::new().await;
    let ended = begin(trusted(rig.spec("[[scn:agent bg=true]] go"))).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.turns, 2, "the helper's end wakes the agent:\n{}", ended.text());
    let helper = ended
        .events
        .iter()
        .any(|event| !event.scope.is_main() && matches!(&event.kind, EventKind::ItemDone { .. }));
    assert!(helper, "{}", ended.text());
    assert_bill(&ended, rig.server.ledger().total());
    assert_cost(&ended, 4.0 * CALL);
}

#[tokio::test]
async fn instructions_and_tool_servers_are_handed_over_and_never_in_argv() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:slow ms=20 n=20]] PROMPT_WORDS");
    spec.system_prompt = Some(SystemPrompt::Append("SYSTEM_WORDS".into()));
    spec.mcp_servers = vec![McpServer {
        name: "notes".into(),
        transport: McpTransport::Http {
            url: "http://127.0.0.1:9/mcp".into(),
            headers: [("Authorization".to_owned(), "Bearer HEADER_WORDS".to_owned())].into(),
        },
        own: false,
    }];
    let mut story = begin(spec);
    story.until_deltas(1).await;
    for pid in story.processes() {
        let args = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let args = String::from_utf8_lossy(&args).into_owned();
        for secret in ["PROMPT_WORDS", "SYSTEM_WORDS", "HEADER_WORDS", "dummy-key-for-tests"] {
            assert!(!args.contains(secret), "{secret} is in argv: {args}");
        }
    }
    let ended = story.end().await;
    let servers = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::SessionInfo(info) => info.mcp.clone().filter(|mcp| !mcp.is_empty()),
        _ => None,
    });
    assert_eq!(servers.expect("the tool server was not seen")[0].name, "notes");
}

#[tokio::test]
async fn the_model_and_the_mode_can_be_changed_between_turns() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:text]] one");
    spec.linger = std::time::Duration::from_secs(20);
    let mut story = begin(spec);
    story.until_turns_ended(1).await;
    story.handle.set_model("claude-sonnet-4-5").await.unwrap();
    story.handle.set_mode("acceptEdits").await.unwrap();
    story.handle.prompt("[[scn:write path=a.txt content=hello]] two").await.unwrap();
    story.until_turns_ended(2).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    let changed = ended.events.iter().any(
        |e| matches!(&e.kind, EventKind::ModelChanged { to, .. } if to == "claude-sonnet-4-5"),
    );
    assert!(changed, "{}", ended.text());
    assert!(rig.server.ledger().calls.iter().any(|call| call.model == "claude-sonnet-4-5"));
    assert_eq!(ended.tools(ToolPhase::Completed), 1, "edits need no approval now");
    assert_eq!(rig.place.file("a.txt").as_deref().map(str::trim), Some("hello"));
}

#[tokio::test]
async fn one_shot_work_returns_its_response_and_its_cost() {
    let rig = ClaudeRig::new().await;
    let spec = trusted(rig.spec("[[scn:seq n=2]] go"));
    let result = run_once(&ClaudeCode::default(), spec, &CancellationToken::new()).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert!(!result.response.is_empty());
    assert_eq!(result.usage.output, rig.server.ledger().total().output);
    assert_eq!(result.cost_usd, Some(Usd::from_dollars(3.0 * CALL)));
}
