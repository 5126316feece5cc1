//! Promises that need a whole session to be shown. Those of one process alone are tested beside it.

use std::time::Duration;

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::{Answer, EventKind, Outcome, ToolPhase, TurnOutcome};
use musher_runtime::script::Script;
use musher_runtime::{
    AskPolicy, Containment, Host, McpServer, McpTransport, Runtime, SessionSpec, Sweep,
};
use musher_testkit::proc;

use crate::rig::{ClaudeRig, Place, write_program};
use crate::story::{Story, kill_all};

/// Sleepers in sessions of their own, and talk that is still under way when the end comes.
const SHELLS: &str =
    "[[step]]\nrun = 'setsid sleep 300 & (setsid sleep 300 &) ; while :; do echo tick; done'";

/// Kills a session in the middle of a tool and gives the processes that are left.
async fn kill_in_a_tool(runtime: &dyn Runtime, mut spec: SessionSpec, sweep: Sweep) -> Vec<i32> {
    spec.containment = Containment { host: Host::Shared, sweep };
    let mut story = Story::begin(runtime, spec);
    story.until_tool(ToolPhase::Proposed).await;
    story.until_sleeping().await;
    story.handle.kill().await.unwrap();
    let mark = story.mark();
    story.drain().await;
    proc::marked(&mark)
}

#[tokio::test]
async fn promise_3_no_process_of_a_script_outlives_a_kill() {
    let place = Place::new();
    let runtime = Script::default().playing(SHELLS);
    let left = kill_in_a_tool(&runtime, place.spec("go"), Sweep::RootOnly).await;
    assert!(!left.is_empty(), "without the sweep the test would prove nothing");
    kill_all(left);
    let left = kill_in_a_tool(&runtime, place.spec("go"), Sweep::Tree).await;
    assert_eq!(left, Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_no_process_of_the_real_claude_outlives_a_kill() {
    let rig = ClaudeRig::new().await;
    let spec = || {
        let mut spec = rig.spec("[[scn:bash_sleep s=300]] go");
        spec.permission_mode = Some("bypassPermissions".into());
        spec
    };
    let left = kill_in_a_tool(&ClaudeCode::default(), spec(), Sweep::RootOnly).await;
    assert!(!left.is_empty(), "without the sweep the test would prove nothing");
    kill_all(left);
    let left = kill_in_a_tool(&ClaudeCode::default(), spec(), Sweep::Tree).await;
    assert_eq!(left, Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_an_agent_that_ignores_every_request_is_stopped_within_20_seconds() {
    let place = Place::new();
    let program = place.home.path().join("deaf");
    let fake = musher_testkit::programs::fake_agent().unwrap();
    write_program(&program, &format!("exec {} ignore-term", fake.display()));
    let mut spec = place.spec("go");
    spec.program = Some(program);
    let mut story = Story::begin(&ClaudeCode::default(), spec);
    story.until(|kind| matches!(kind, EventKind::Unparsed { .. }).then_some(())).await;
    let began = std::time::Instant::now();
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Stopped, "{}", ended.text());
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
}

#[tokio::test]
async fn promise_10_garbage_and_a_line_of_64_mib_become_events_and_the_run_ends() {
    let place = Place::new();
    let program = place.home.path().join("noisy");
    let fake = musher_testkit::programs::fake_agent().unwrap();
    let fake = fake.display();
    write_program(
        &program,
        &format!(
            "{fake} garbage --seed 3 --bytes 300000; {fake} long-line --mb 64; {fake} partial"
        ),
    );
    let mut spec = place.spec("go");
    spec.program = Some(program);
    let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed);
    let heard: u64 = ended
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Unparsed { bytes, .. } => Some(*bytes),
            _ => None,
        })
        .sum();
    assert!(heard > 64 * 1024 * 1024, "only {heard} bytes were heard of");
}

#[tokio::test]
async fn promise_21_an_agent_that_closes_its_output_in_its_turn_and_lives_on_ends_as_a_failure() {
    let place = Place::new();
    let program = place.home.path().join("mute");
    write_program(
        &program,
        r#"read -r initialize
printf '{"type":"control_response","response":{"subtype":"success","request_id":"musher-0","response":{}}}\n'
read -r prompt
printf '{"type":"system","subtype":"init","session_id":"s","model":"m"}\n'
exec >&-
exec sleep 300"#,
    );
    let mut spec = place.spec("go");
    spec.program = Some(program);
    spec.limits.inactivity = None;
    let began = std::time::Instant::now();
    let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
    assert!(began.elapsed() < Duration::from_secs(30), "it took {:?}", began.elapsed());
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let code = ended.end.error.as_ref().and_then(|error| error.code.as_deref());
    assert_eq!(code, Some("output_closed"), "{}", ended.text());
    assert_eq!(ended.turns()[0].outcome, TurnOutcome::Failed, "{}", ended.text());
}

#[tokio::test]
async fn promise_19_a_secret_given_to_the_real_claude_reaches_no_event_and_no_delta() {
    let secret = "sk-very-secret-0123456789";
    let rig = ClaudeRig::new().await;
    for prompt in [
        "[[scn:bash cmd=\"env; printenv MY_SERVICE_TOKEN\"]] go",
        "[[scn:text say=sk-very-secret-0123456789]] go",
        "[[scn:slow ms=1 n=30 say=sk-very-secret-0123456789]] go",
    ] {
        let mut spec = rig.spec(prompt);
        spec.environment = rig.environment().set("MY_SERVICE_TOKEN", secret);
        spec.asks = AskPolicy::default();
        spec.rules.allow.push("*".parse().unwrap());
        let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        let said = ended.said();
        assert!(!said.contains(secret), "the secret was said:\n{}", ended.text());
        assert!(!said.contains("dummy-key-for-tests"), "the key was said");
        assert!(said.contains("[redacted MY_SERVICE_TOKEN]"), "{}", ended.text());
    }
}

#[tokio::test]
async fn promise_19_a_secret_in_a_command_is_hidden_from_the_ask_and_still_reaches_the_tool() {
    let secret = "sk-very-secret-0123456789";
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec(&format!("[[scn:bash cmd=\"echo {secret} > key.txt\"]] go"));
    spec.environment = rig.environment().set("MY_SERVICE_TOKEN", secret);
    let mut story = Story::begin(&ClaudeCode::default(), spec);
    let (ask, _) = story.until_ask().await;
    story.handle.answer(ask, Answer::Allow { input: None }).await.unwrap();
    let ended = story.end().await;
    assert!(!ended.said().contains(secret), "{}", ended.text());
    assert_eq!(rig.place.file("key.txt").as_deref().map(str::trim), Some(secret));
}

#[tokio::test]
async fn promise_19_what_was_given_for_a_tool_server_reaches_no_event() {
    let place = Place::new();
    let program = place.home.path().join("curious");
    write_program(
        &program,
        "for a in \"$@\"; do case $a in --mcp-config=*) cat ${a#*=};; esac; done",
    );
    let mut spec = place.spec("go");
    spec.program = Some(program);
    spec.mcp_servers = vec![McpServer {
        name: "notes".into(),
        transport: McpTransport::Http {
            url: "http://127.0.0.1:9/mcp".into(),
            headers: [("Authorization".to_owned(), "Bearer very-secret-words".to_owned())].into(),
        },
        own: false,
    }];
    let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
    assert!(ended.said().contains("mcpServers"), "{}", ended.text());
    assert!(!ended.said().contains("very-secret-words"), "{}", ended.text());
}

#[tokio::test]
async fn promise_19_a_secret_reaches_no_error_message() {
    let secret = "sk-very-secret-0123456789";
    let place = Place::new();
    let program = place.home.path().join("talkative");
    write_program(&program, "echo \"fatal: bad key $MY_SERVICE_TOKEN\" >&2; exit 3");
    let mut spec = place.spec("go");
    spec.environment = place.environment().set("MY_SERVICE_TOKEN", secret);
    spec.program = Some(program);
    let ended = Story::begin(&ClaudeCode::default(), spec).end().await;
    assert_eq!(ended.end.exit_code, Some(3));
    assert!(ended.end.stderr_tail.as_deref().unwrap_or_default().contains("[redacted"));
    assert!(!ended.said().contains(secret), "{}", ended.said());
}
