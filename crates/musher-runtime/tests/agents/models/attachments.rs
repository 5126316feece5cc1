//! Files that go with a prompt of our own loop: what the model sees, what its tools read, and what is kept of them.

use musher_runtime::core::{AttachmentForm, EventKind, Outcome, ToolPhase};
use musher_runtime::{ResumeFrom, SessionSpec};

use crate::contract::sandbox::Confined;
use crate::rig::{Attached, ModelRig, PNG, Wire, one_image, shown};
use crate::story::Ended;

fn with(spec: SessionSpec, attachments: Vec<musher_runtime::Attachment>) -> SessionSpec {
    SessionSpec { attachments, ..spec }
}

/// What the tools of a session have printed.
fn printed(ended: &Ended, phase: ToolPhase) -> String {
    let text = |kind: &EventKind| match kind {
        EventKind::Tool(update) if update.phase == phase => {
            update.output.as_ref().map(|output| output.text.clone())
        }
        _ => None,
    };
    ended.events.iter().filter_map(|event| text(&event.kind)).collect()
}

fn notices(ended: &Ended) -> Vec<&str> {
    let codes = ended.events.iter().filter_map(|event| match &event.kind {
        EventKind::Notice { code, .. } => code.as_deref(),
        _ => None,
    });
    codes.collect()
}

#[tokio::test]
async fn an_image_reaches_the_model_with_every_call_in_every_wire_format() {
    for wire in Wire::ALL {
        let (rig, attached) = (ModelRig::new(wire).await, Attached::new());
        let spec = with(rig.free("[[scn:bash]] look"), vec![attached.image()]);
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
        assert_eq!(shown(&rig.server, "bash"), [one_image(), one_image()], "{wire:?}");
        let sent = ended.events.iter().find_map(|event| match &event.kind {
            EventKind::UserMessage { text, attachments, .. } => {
                assert_eq!(text, "[[scn:bash]] look", "the record has what the person said");
                Some(attachments.clone())
            }
            _ => None,
        });
        let [sent] = &sent.unwrap()[..] else { panic!("not one file") };
        assert_eq!((sent.name.as_str(), sent.how), ("square.png", AttachmentForm::Image));
        assert_eq!(sent.bytes, PNG.len() as u64);
    }
}

#[tokio::test]
async fn a_resumed_session_is_not_sent_an_image_again_and_its_file_holds_none() {
    for wire in Wire::ALL {
        let (rig, attached) = (ModelRig::new(wire).await, Attached::new());
        let spec = with(rig.free("[[scn:text]] look"), vec![attached.image()]);
        let session = rig.begin(spec).end().await.end.session.unwrap();
        let kept = rig.sessions().join(format!("{session}.jsonl"));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert!(!kept.contains("iVBOR") && kept.contains("square.png"), "{kept}");

        let spec = with(rig.free("[[scn:echo]] go on"), vec![attached.image()]);
        let resume = Some(ResumeFrom::of(session.clone()));
        let ended = rig.begin(SessionSpec { resume, ..spec }).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
        assert_eq!(shown(&rig.server, "echo"), [vec![]], "{wire:?}");

        // One that comes with the next prompt is sent.
        let resume = ResumeFrom { attachments: vec![attached.image()], ..ResumeFrom::of(session) };
        let spec = rig.free("[[scn:think]] and this?");
        rig.begin(SessionSpec { resume: Some(resume), ..spec }).end().await;
        assert_eq!(shown(&rig.server, "think"), [one_image()], "{wire:?}");
    }
}

#[tokio::test]
async fn an_unknown_session_is_begun_anew_with_the_files_of_its_first_prompt() {
    let (rig, attached) = (ModelRig::new(Wire::Messages).await, Attached::new());
    let mut spec = with(rig.free("go on"), vec![attached.image()]);
    let unknown = "00000000-0000-4000-8000-000000000000".into();
    let fresh_prompt = Some("[[scn:text]] all of it".into());
    spec.resume = Some(ResumeFrom { fresh_prompt, ..ResumeFrom::of(unknown) });
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(shown(&rig.server, "text"), [one_image()]);
}

#[tokio::test]
async fn a_model_that_refuses_images_gets_the_path_and_a_notice_says_so() {
    for wire in Wire::ALL {
        let (rig, attached) = (ModelRig::new(wire).await, Attached::new());
        let prompt = "[[scn:err status=400 n=1 error=No_image_input_is_supported]] look";
        let ended = rig.begin(with(rig.free(prompt), vec![attached.image()])).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{wire:?}:\n{}", ended.text());
        assert_eq!(shown(&rig.server, "err"), [one_image(), vec![]], "{wire:?}");
        assert!(notices(&ended).contains(&"image_not_shown"), "{}", ended.text());
        let path = attached.path("square.png").display().to_string();
        assert!(rig.server.prompts().iter().all(|prompt| prompt.contains(&path)), "{wire:?}");
    }
}

#[tokio::test]
async fn an_image_that_is_gone_in_mid_session_is_left_out_and_told_of() {
    let (rig, attached) = (ModelRig::new(Wire::Chat).await, Attached::new());
    let image = attached.image();
    let gone = format!("[[scn:bash cmd=\"rm {}\"]] go", image.path.display());
    let ended = rig.begin(with(rig.free(&gone), vec![image])).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(shown(&rig.server, "bash"), [one_image(), vec![]]);
    assert!(notices(&ended).contains(&"image_not_shown"), "{}", ended.text());
}

#[tokio::test]
async fn an_attached_file_is_read_by_the_file_tool_and_nothing_beside_it_is() {
    let (rig, attached) = (ModelRig::new(Wire::Messages).await, Attached::new());
    let notes = attached.file("notes.txt", "text/plain", b"ORDER 66\n");
    attached.file("secret.txt", "text/plain", b"HIDDEN\n");
    let call = |tool: &str, name: &str| {
        let path = attached.path(name);
        let content = if tool == "read_file" { "" } else { ",\\\"content\\\":\\\"x\\\"" };
        let args = format!("{{\\\"path\\\":\\\"{}\\\"{content}}}", path.display());
        format!("[[scn:call tool={tool} args=\"{args}\"]] go")
    };
    let run = async |prompt: String| {
        let spec = SessionSpec { permission_mode: None, ..rig.free(&prompt) };
        rig.begin(with(spec, vec![notes.clone()])).end().await
    };
    let read = run(call("read_file", "notes.txt")).await;
    assert!(printed(&read, ToolPhase::Completed).contains("ORDER 66"), "{}", read.text());
    let beside = run(call("read_file", "secret.txt")).await;
    assert!(!beside.said().contains("HIDDEN"), "{}", beside.text());
    assert!(printed(&beside, ToolPhase::Failed).contains("leads out"), "{}", beside.text());
    let free = with(rig.free(&call("write_file", "notes.txt")), vec![notes.clone()]);
    let written = rig.begin(free).end().await;
    assert!(printed(&written, ToolPhase::Failed).contains("leads out"), "{}", written.text());
    assert_eq!(std::fs::read(&notes.path).unwrap(), b"ORDER 66\n");
}

#[tokio::test]
async fn in_a_sandbox_an_attached_file_is_shown_at_its_path_and_cannot_be_changed() {
    let (rig, attached) = (ModelRig::new(Wire::Messages).await, Attached::new());
    let rig = Confined::workspace(rig);
    let notes = attached.file("notes.txt", "text/plain", b"ORDER 66\n");
    let folder = attached.path("");
    attached.file("secret.txt", "text/plain", b"HIDDEN\n");
    let path = notes.path.display();
    let command = format!("cat {path}; echo no >> {path}; ls {}", folder.display());
    let prompt = format!("[[scn:bash cmd=\"{command}\"]] go");
    let spec = rig.confine(with(rig.subject().free(&prompt), vec![notes.clone()]));
    let ended = rig.subject().begin(spec).end().await;
    let output = printed(&ended, ToolPhase::Completed) + &printed(&ended, ToolPhase::Failed);
    assert!(output.contains("ORDER 66"), "{}", ended.text());
    assert!(output.contains("Read-only") && !output.contains("secret.txt"), "{output}");
    assert_eq!(std::fs::read(&notes.path).unwrap(), b"ORDER 66\n");
}
