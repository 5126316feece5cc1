//! Files that go with prompts: what the record says, what the backend is given, and what is refused before it starts.

use musher_core::{AttachmentForm, SentAttachment};
use tempfile::TempDir;

use super::*;
use crate::{Attachment, ResumeFrom};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more of it";

fn attached(folder: &TempDir) -> Vec<Attachment> {
    let file = |name: &str, media_type: &str, bytes: &[u8]| {
        let path = folder.path().canonicalize().unwrap().join(name);
        std::fs::write(&path, bytes).unwrap();
        Attachment { path, name: name.into(), media_type: media_type.into() }
    };
    vec![file("a.png", "image/png", PNG), file("notes.txt", "text/plain", b"x")]
}

/// Plays a session whose backend repeats its prompt and names the images in it.
async fn repeated(spec: SessionSpec, images: bool) -> Vec<EventKind> {
    let capabilities = Capabilities { images, ..Capabilities::ALL };
    let profile = BackendProfile::new("played", capabilities);
    let backend: Backend = Arc::new(|mut attempt: Attempt| {
        Box::pin(async move {
            if attempt.resume.as_ref().is_some_and(|session| session.as_str() == "unknown") {
                return BackendEnd { unknown_session: true, ..BackendEnd::default() };
            }
            let Some(BackendOrder::Prompt { text, images, .. }) = attempt.port.orders.recv().await
            else {
                return BackendEnd::default();
            };
            let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
            let started = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: vec![] };
            say(&attempt, started).await;
            let text = format!("{text}|{}", names.join(","));
            let notice = EventKind::Notice { level: Level::Info, code: Some("heard".into()), text };
            say(&attempt, notice).await;
            let ended = TurnEnded::synthesised(TurnOutcome::Completed, None);
            say(&attempt, EventKind::TurnEnded(Box::new(ended))).await;
            BackendEnd::default()
        })
    });
    let mut session = start(profile, spec, backend);
    let mut kinds = Vec::new();
    while let Some(output) = session.next().await {
        if let SessionOutput::Event(event) = output {
            kinds.push(event.kind);
        }
    }
    kinds
}

fn heard(kinds: &[EventKind]) -> &str {
    let found = kinds.iter().find_map(|kind| match kind {
        EventKind::Notice { code: Some(code), text, .. } if code == "heard" => Some(text.as_str()),
        _ => None,
    });
    found.expect("the backend heard nothing")
}

fn sent(kinds: &[EventKind]) -> Vec<(&str, AttachmentForm)> {
    let mut messages = kinds.iter().filter_map(|kind| match kind {
        EventKind::UserMessage { attachments, .. } => Some(attachments),
        _ => None,
    });
    let last: Option<&Vec<SentAttachment>> = messages.next_back();
    last.into_iter().flatten().map(|file| (file.name.as_str(), file.how)).collect()
}

fn given(folder: &TempDir) -> (SessionSpec, TempDir) {
    let work = TempDir::new().unwrap();
    let spec = SessionSpec::new("go", work.path(), Environment::default());
    (SessionSpec { attachments: attached(folder), ..spec }, work)
}

#[tokio::test]
async fn a_runtime_without_images_is_told_the_path_and_the_record_says_so() {
    let folder = TempDir::new().unwrap();
    let (spec, _work) = given(&folder);
    let kinds = repeated(spec, false).await;
    let path = folder.path().canonicalize().unwrap().join("a.png").display().to_string();
    assert!(heard(&kinds).contains(&path) && heard(&kinds).ends_with('|'), "{}", heard(&kinds));
    let by_path = AttachmentForm::Path;
    assert_eq!(sent(&kinds), [("a.png", by_path), ("notes.txt", by_path)]);
}

#[tokio::test]
async fn a_runtime_with_images_is_given_them_and_the_record_says_how_each_file_went() {
    let folder = TempDir::new().unwrap();
    let (spec, _work) = given(&folder);
    let kinds = repeated(spec, true).await;
    assert!(heard(&kinds).ends_with("|a.png"), "{}", heard(&kinds));
    let (image, path) = (AttachmentForm::Image, AttachmentForm::Path);
    assert_eq!(sent(&kinds), [("a.png", image), ("notes.txt", path)]);
    let told = serde_json::to_string(&kinds).unwrap();
    assert!(told.contains(r#""text":"go","origin":"prompt""#), "{told}");
    let image = format!(r#""media_type":"image/png","bytes":{},"how":"image""#, PNG.len());
    assert!(told.contains(&image), "{told}");
}

#[tokio::test]
async fn a_resumed_session_is_given_only_what_comes_with_its_next_prompt() {
    let folder = TempDir::new().unwrap();
    let (spec, _work) = given(&folder);
    let resume = ResumeFrom::of("known".into());
    let kinds = repeated(SessionSpec { resume: Some(resume.clone()), ..spec.clone() }, true).await;
    assert_eq!((heard(&kinds), sent(&kinds)), ("go|", vec![]));
    let attachments = attached(&folder).split_off(1);
    let resume = ResumeFrom { attachments, ..resume };
    let kinds = repeated(SessionSpec { resume: Some(resume), ..spec }, true).await;
    assert_eq!(sent(&kinds), [("notes.txt", AttachmentForm::Path)]);
}

#[tokio::test]
async fn a_session_that_is_begun_anew_is_given_all_of_them() {
    let folder = TempDir::new().unwrap();
    let (spec, _work) = given(&folder);
    let fresh_prompt = Some("all".into());
    let resume = ResumeFrom { fresh_prompt, ..ResumeFrom::of("unknown".into()) };
    let kinds = repeated(SessionSpec { resume: Some(resume), ..spec }, true).await;
    assert!(heard(&kinds).starts_with("all\n") && heard(&kinds).ends_with("|a.png"));
    assert_eq!(sent(&kinds).len(), 2);
}

#[tokio::test]
async fn a_file_that_cannot_be_given_ends_the_session_before_the_backend_starts() {
    let folder = TempDir::new().unwrap();
    let (spec, _work) = given(&folder);
    std::fs::remove_file(folder.path().join("notes.txt")).unwrap();
    let kinds = repeated(spec, true).await;
    let [EventKind::SessionEnded(end)] = &kinds[..] else { panic!("{kinds:?}") };
    let error = end.error.as_ref().unwrap();
    assert_eq!(end.outcome, Outcome::Failed);
    assert!(error.message.contains("notes.txt") && error.hint.is_some(), "{error:?}");
    assert_eq!(error.code.as_deref(), Some("attachment_missing"));
}
