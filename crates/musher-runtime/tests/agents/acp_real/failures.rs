//! What goes wrong is told as it is: no login, refusals of the service, broken streams, a program that dies or never answers.

use musher_runtime::core::{ErrorClass, EventKind, Outcome};

use super::begin;
use crate::rig::{AcpAgent, AcpRig, write_program};
use crate::story::kill_all;

#[tokio::test]
async fn a_missing_login_is_told_with_the_command_that_logs_in() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.environment = rig.place.environment();
    let ended = begin(&rig, spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let error = ended.end.error.clone().unwrap();
    assert_eq!(error.class, ErrorClass::Auth, "{}", ended.text());
    assert_eq!(error.hint.as_deref(), Some("log in with `gemini`"));
}

#[tokio::test]
async fn a_program_that_is_killed_is_lost_and_its_call_is_not_free() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let story = begin(&rig, rig.unasked(r#"[[scn:bash cmd="nohup sleep 300"]] go"#));
    story.until_sleeping().await;
    kill_all(story.processes());
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Lost, "{}", ended.text());
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
}

#[tokio::test]
async fn a_refusal_of_the_service_fails_with_its_class() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let ended = begin(&rig, rig.spec("[[scn:auth]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let error = ended.end.error.clone().unwrap();
    assert_eq!(error.class, ErrorClass::Auth, "{}", ended.text());
}

#[tokio::test]
async fn noise_before_the_handshake_and_unknown_requests_are_borne() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut spec = rig.spec("[[scn:text]] go");
    let real = spec.program.take().unwrap();
    let wrapper = rig.place.home.path().join("noisy");
    let request = r#"{"jsonrpc":"2.0","method":"some/new/request","id":77,"params":{}}"#;
    write_program(
        &wrapper,
        &format!("echo 'Welcome!'\necho '{request}'\nexec {} \"$@\"", real.display()),
    );
    spec.program = Some(wrapper);
    let ended = begin(&rig, spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let unparsed = |kind: &EventKind| matches!(kind, EventKind::Unparsed { text, .. } if text.contains("Welcome"));
    assert!(ended.events.iter().any(|event| unparsed(&event.kind)), "{}", ended.text());
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_command_that_installs_it() {
    let rig = AcpRig::new(AcpAgent::GeminiCli).await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.program = None;
    spec.environment = spec.environment.set("PATH", "/nowhere");
    let ended = begin(&rig, spec).end().await;
    let error = ended.end.error.unwrap();
    assert_eq!(error.class, ErrorClass::Unavailable);
    assert!(error.hint.unwrap().contains("npm install -g @google/gemini-cli"));
}

mod matrix {
    use super::*;

    const ALL: [AcpAgent; 6] = [
        AcpAgent::GeminiCli,
        AcpAgent::OpenCode,
        AcpAgent::CodexAcp,
        AcpAgent::Copilot,
        AcpAgent::Qwen,
        AcpAgent::ClaudeAcp,
    ];

    /// Each agent says it in its own words, if at all: what matters is that it is told as a failure, and at no cost.
    async fn is_no_success(agent: AcpAgent) {
        for scene in ["auth", "err status=429 n=0"] {
            let rig = AcpRig::new(agent).await;
            let mut spec = rig.spec(&format!("[[scn:{scene}]] go"));
            spec.limits.wall_clock = Some(std::time::Duration::from_secs(30));
            let ended = begin(&rig, spec).end().await;
            assert_ne!(ended.end.outcome, Outcome::Completed, "{scene}: {}", ended.text());
            assert_eq!(ended.end.usage.output, 0, "{scene}");
        }
    }

    macro_rules! refused {
        ($($test:ident = $agent:ident),* $(,)?) => {$(
            #[tokio::test]
            async fn $test() {
                is_no_success(AcpAgent::$agent).await;
            }
        )*};
    }

    refused! {
        a_refused_request_of_gemini_cli_is_a_failure = GeminiCli,
        a_refused_request_of_opencode_is_a_failure = OpenCode,
        a_refused_request_of_codex_acp_is_a_failure = CodexAcp,
        a_refused_request_of_copilot_is_a_failure = Copilot,
        a_refused_request_of_qwen_is_a_failure = Qwen,
        a_refused_request_of_claude_acp_is_a_failure = ClaudeAcp,
    }

    /// Some ask again, some give up; what was cut off is never free.
    #[tokio::test]
    async fn a_stream_that_breaks_off_is_never_free() {
        for agent in ALL {
            let rig = AcpRig::new(agent).await;
            let mut spec = rig.spec("[[scn:cut]] go");
            spec.limits.wall_clock = Some(std::time::Duration::from_secs(40));
            let ended = begin(&rig, spec).end().await;
            let free = ended.end.cost_usd.is_some_and(|cost| cost.is_zero());
            assert!(!free, "{agent:?}: {}", ended.text());
        }
    }
}
