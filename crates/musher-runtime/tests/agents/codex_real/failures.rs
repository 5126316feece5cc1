//! What goes wrong is told as it is: refusals of the service, broken streams, a program that dies or never answers.

use std::time::Duration;

use musher_runtime::core::{ErrorClass, EventKind, Outcome};

use super::{begin, trusted};
use crate::rig::{CodexRig, write_program};
use crate::story::kill_all;

#[tokio::test]
async fn every_refusal_of_the_service_fails_with_its_class() {
    for (scene, class) in [
        ("auth", ErrorClass::Auth),
        ("ctxfull", ErrorClass::ContextOverflow),
        ("err status=429 n=0", ErrorClass::RateLimit),
        ("err status=500 n=0", ErrorClass::Server),
    ] {
        let rig = CodexRig::new().await;
        let ended = begin(rig.spec(&format!("[[scn:{scene}]] go"))).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{scene}: {}", ended.text());
        let error = ended.end.error.clone().unwrap();
        assert_eq!(error.class, class, "{scene}: {}", ended.text());
        assert_eq!(ended.end.usage.output, 0, "{scene}");
    }
}

#[tokio::test]
async fn a_failure_that_passes_is_a_retry_and_no_failure() {
    let rig = CodexRig::new().await;
    let ended = begin(rig.spec("[[scn:err status=500 n=1]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_for_again_and_its_call_is_not_free() {
    let rig = CodexRig::new().await;
    let ended = begin(rig.spec("[[scn:cut]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
    let aborted = |kind: &EventKind| matches!(kind, EventKind::ItemDone { aborted: true, .. });
    assert!(ended.events.iter().any(|event| aborted(&event.kind)), "{}", ended.text());
    let retries = |kind: &EventKind| matches!(kind, EventKind::Retry { .. });
    assert!(ended.events.iter().any(|event| retries(&event.kind)), "{}", ended.text());
}

#[tokio::test]
async fn a_program_that_is_killed_is_lost_and_its_call_is_not_free() {
    let rig = CodexRig::new().await;
    let story = begin(trusted(rig.spec("[[scn:bash_sleep s=300]] go")));
    story.until_sleeping().await;
    kill_all(story.processes());
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Lost, "{}", ended.text());
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
}

#[tokio::test]
async fn a_killed_sandbox_leaves_nothing_in_the_shared_temporary_folder() {
    let shared = || {
        let names = [".git", ".codex", ".agents", ".aws"];
        let there = |name: &&str| std::env::temp_dir().join(name).exists();
        names.into_iter().filter(there).collect::<Vec<_>>()
    };
    let before = shared();
    let rig = CodexRig::new().await;
    let mut spec = rig.spec("[[scn:bash_sleep s=300]] go");
    spec.permission_mode = Some("never".into());
    let mut story = begin(spec);
    story.until_tool(musher_runtime::core::ToolPhase::Proposed).await;
    story.until_sleeping().await;
    kill_all(story.processes());
    story.end().await;
    assert_eq!(shared(), before);
}

#[tokio::test]
async fn noise_before_the_handshake_and_unknown_requests_are_borne() {
    let rig = CodexRig::new().await;
    let real = rig.spec("[[scn:text]] go").program.unwrap();
    let wrapper = rig.place.home.path().join("noisy");
    let request = r#"{"method":"some/new/request","id":77,"params":{}}"#;
    write_program(
        &wrapper,
        &format!("echo 'Welcome!'\necho '{request}'\nexec {} \"$@\"", real.display()),
    );
    let mut spec = rig.spec("[[scn:text]] go");
    spec.program = Some(wrapper);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let unparsed = |kind: &EventKind| matches!(kind, EventKind::Unparsed { text, .. } if text.contains("Welcome"));
    assert!(ended.events.iter().any(|event| unparsed(&event.kind)), "{}", ended.text());
    let native = |kind: &EventKind| matches!(kind, EventKind::Native { name, .. } if name == "some/new/request");
    assert!(ended.events.iter().any(|event| native(&event.kind)), "{}", ended.text());
}

#[tokio::test]
async fn a_program_that_ends_at_once_and_a_mode_that_it_lacks_are_named() {
    let rig = CodexRig::new().await;
    let wrapper = rig.place.home.path().join("dies");
    write_program(&wrapper, "echo 'no such command app-server' >&2; exit 3");
    let mut spec = rig.spec("[[scn:text]] go");
    spec.program = Some(wrapper);
    let ended = begin(spec).end().await;
    assert_ne!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(ended.end.exit_code, Some(3));
    assert!(ended.end.stderr_tail.as_deref().is_some_and(|tail| tail.contains("app-server")));
    let mut spec = rig.spec("[[scn:text]] go");
    spec.permission_mode = Some("yolo".into());
    spec.limits.wall_clock = Some(Duration::from_secs(20));
    let ended = begin(spec).end().await;
    let error = ended.end.error.unwrap();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(error.message.contains("yolo"), "{error:?}");
}
