//! The real Codex on a scripted model: every way a turn can go, and the bill for it.

mod attachments;
mod failures;
mod project;
mod tools;
mod turns;

use musher_runtime::codex::{Codex, TESTED_VERSION};
use musher_runtime::core::{EventKind, Outcome};
use musher_runtime::{
    Capabilities, McpServer, McpTransport, Runtime as _, SessionSpec, SystemPrompt,
};
use musher_testkit::model::Usage;

use crate::rig::CodexRig;
use crate::story::{Ended, Story};

fn begin(spec: SessionSpec) -> Story {
    Story::begin(&Codex::default(), spec)
}

/// Lets the agent do what it wants.
fn trusted(mut spec: SessionSpec) -> SessionSpec {
    spec.permission_mode = Some("full-access".into());
    spec
}

/// What it can do, by hand: each power has its scene here or in the contract. Going on from an earlier turn is absent, because
/// a session can be taken up at its end alone (`thread/resume`, `thread/fork`).
#[test]
fn its_powers_are_what_was_seen_of_it() {
    let mut all = Capabilities::default();
    (all.resume, all.fork, all.steer, all.interrupt) = (true, true, true, true);
    (all.approvals, all.questions, all.partial_text) = (true, true, true);
    (all.set_model, all.set_mode, all.effort) = (true, true, true);
    (all.usage, all.cost, all.images) = (true, true, true);
    assert_eq!(Codex::default().capabilities(), all);
}

/// What the run says it used is what the server says it gave, to the token.
fn assert_bill(ended: &Ended, told: Usage) {
    let ours = ended.end.usage;
    let written = told.cache_write_5m + told.cache_write_1h;
    let all = (ours.input, ours.cache_read, ours.cache_write_other, ours.output);
    assert_eq!(all, (told.input, told.cache_read, written, told.output), "{}", ended.text());
}

#[tokio::test]
async fn text_streams_and_its_bill_is_exact() {
    let rig = CodexRig::new().await;
    let ended = begin(rig.spec("[[scn:text say=Good_morning.]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.response(), "Good morning.");
    let streamed: String = ended.deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(streamed, "Good morning.");
    assert_bill(&ended, rig.server.ledger().total());
    assert!(ended.end.cost_usd.is_some() && !ended.end.estimated, "{}", ended.text());
    assert_eq!(ended.end.exit_code, Some(0));
    let version = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::SessionInfo(info) => info.agent_version.clone(),
        _ => None,
    });
    assert_eq!(version.as_deref(), Some(TESTED_VERSION));
}

#[tokio::test]
async fn thinking_is_apart_from_text() {
    let rig = CodexRig::new().await;
    let ended = begin(rig.spec("[[scn:think about=Colours.]] go")).end().await;
    let thought = ended.said().contains("Colours.");
    assert!(thought && !ended.response().contains("Colours."), "{}", ended.text());
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn instructions_and_tool_servers_are_handed_over_and_never_in_argv() {
    let rig = CodexRig::new().await;
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
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let servers = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::SessionInfo(info) => info.mcp.clone().filter(|mcp| !mcp.is_empty()),
        _ => None,
    });
    assert_eq!(servers.expect("the tool server was not seen")[0].name, "notes");
    let requests = rig.server.requests();
    let told = requests.iter().any(|request| request.json().to_string().contains("SYSTEM_WORDS"));
    assert!(told, "the instructions did not reach the model");
}

#[tokio::test]
async fn its_folder_is_its_own_and_holds_the_persons_login() {
    let rig = CodexRig::new().await;
    let own = rig.place.home.path().join(".codex");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("auth.json"), r#"{"OPENAI_API_KEY":"sk-not-a-real-key"}"#).unwrap();
    std::fs::write(own.join("config.toml"), "model = \"gpt-4.1\"\n").unwrap();
    let ended = begin(rig.spec("[[scn:text]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let private = rig.sessions().join("codex");
    let login = std::fs::read_link(private.join("auth.json")).unwrap();
    assert_eq!(login, own.join("auth.json"));
    assert!(private.join("sessions").is_dir() && !own.join("sessions").exists());
    let settings = std::fs::read_to_string(own.join("config.toml")).unwrap();
    assert_eq!(settings, "model = \"gpt-4.1\"\n", "the person's settings are not touched");
}

#[tokio::test]
async fn a_folder_that_the_person_names_is_used_as_it_is() {
    let rig = CodexRig::new().await;
    let own = rig.place.home.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    let mut spec = rig.spec("[[scn:text]] go");
    spec.environment = spec.environment.set("CODEX_HOME", &own);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(own.join("sessions").is_dir() && !rig.sessions().join("codex").exists());
}
