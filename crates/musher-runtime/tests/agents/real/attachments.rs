//! Files that go with the first prompt of the real Claude Code.

use musher_runtime::core::{EventKind, Outcome};

use super::begin;
use crate::rig::{Attached, ClaudeRig, RawCopy, one_image, shown};

#[tokio::test]
async fn an_image_reaches_the_model_and_is_in_no_record() {
    let (rig, attached) = (ClaudeRig::new().await, Attached::new());
    let mut spec = rig.spec("[[scn:text]] look");
    spec.attachments = vec![attached.image()];
    let copy = RawCopy::of(&mut spec);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(shown(&rig.server, "text"), [one_image()]);
    let begun = ended.events.iter().any(
        |event| matches!(&event.kind, EventKind::TurnStarted { prompts, .. } if prompts.len() == 1),
    );
    assert!(begun, "the turn names the prompt that it answers: {}", ended.text());
    copy.assert_holds_no_image();
    assert!(!ended.said().contains("iVBOR"), "{}", ended.text());
}

#[tokio::test]
async fn an_attached_file_is_read_without_an_ask() {
    let (rig, attached) = (ClaudeRig::new().await, Attached::new());
    let notes = attached.file("notes.txt", "text/plain", b"ORDER 66\n");
    let args = format!("{{\\\"file_path\\\":\\\"{}\\\"}}", notes.path.display());
    let mut spec = rig.spec(&format!("[[scn:call tool=Read args=\"{args}\"]] go"));
    spec.attachments = vec![notes];
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert!(ended.said().contains("ORDER 66"), "{}", ended.text());
    let waited = |kind: &EventKind| matches!(kind, EventKind::AskOpened { settled: false, .. });
    assert!(!ended.events.iter().any(|event| waited(&event.kind)), "{}", ended.text());
}
