//! Sessions of our own: resumed, forked, rewound, moved, torn, damaged, and told in another format.

use std::path::{Path, PathBuf};

use musher_runtime::core::{ErrorClass, EventKind, Outcome, SessionId, SessionOrigin, ToolPhase};
use musher_runtime::{ResumeFrom, SessionSpec};

use crate::rig::{ModelRig, Wire};
use crate::story::Ended;

async fn run(rig: &ModelRig, spec: SessionSpec) -> Ended {
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{:?}:\n{}", rig.wire, ended.text());
    ended
}

fn session(ended: &Ended) -> SessionId {
    ended.end.session.clone().expect("a session is kept")
}

fn resuming(rig: &ModelRig, resume: ResumeFrom) -> SessionSpec {
    SessionSpec { resume: Some(resume), ..rig.free("[[scn:echo]] how much do you know?") }
}

fn seen(texts: usize) -> String {
    format!("I have seen {texts} user text(s)")
}

fn file(folder: &Path, session: &SessionId) -> PathBuf {
    folder.join(format!("{session}.jsonl"))
}

/// A session of two turns, of which the second uses a tool.
async fn two_turns(rig: &ModelRig) -> SessionId {
    let story = rig.begin(rig.free("[[scn:think]] one"));
    story.handle.prompt("[[scn:bash think=Hm.]] two").await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    session(&ended)
}

#[tokio::test]
async fn a_resumed_session_knows_all_that_was_said_and_keeps_its_name() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let first = two_turns(&rig).await;
        let ended = run(&rig, resuming(&rig, ResumeFrom::of(first.clone()))).await;
        assert!(ended.response().contains(&seen(3)), "{wire:?}: {}", ended.response());
        assert_eq!((session(&ended), ended.end.origin), (first.clone(), SessionOrigin::Resumed));
        let again = run(&rig, resuming(&rig, ResumeFrom::of(first))).await;
        assert!(again.response().contains(&seen(4)), "{wire:?}: {}", again.response());
    }
}

#[tokio::test]
async fn a_fork_leaves_the_earlier_session_as_it_is() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let first = two_turns(&rig).await;
        let before = std::fs::read(file(&rig.sessions(), &first)).unwrap();
        let fork = ResumeFrom { fork: true, ..ResumeFrom::of(first.clone()) };
        let ended = run(&rig, resuming(&rig, fork)).await;
        assert_ne!(session(&ended), first);
        assert_eq!(ended.end.origin, SessionOrigin::Forked);
        assert!(ended.response().contains(&seen(3)), "{wire:?}: {}", ended.response());
        assert_eq!(std::fs::read(file(&rig.sessions(), &first)).unwrap(), before);
    }
}

#[tokio::test]
async fn a_session_is_gone_on_with_from_any_turn() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let first = two_turns(&rig).await;
        for (turn, fork, texts) in [(1, true, 2), (0, true, 1), (2, true, 3), (1, false, 2)] {
            let resume = ResumeFrom { fork, turn: Some(turn), ..ResumeFrom::of(first.clone()) };
            let ended = run(&rig, resuming(&rig, resume)).await;
            assert!(
                ended.response().contains(&seen(texts)),
                "{wire:?} {turn}: {}",
                ended.response()
            );
        }
        // What was rewound stays so, and its turns are counted on.
        let ended = run(&rig, resuming(&rig, ResumeFrom::of(first.clone()))).await;
        assert!(ended.response().contains(&seen(3)), "{wire:?}: {}", ended.response());
        let resume = ResumeFrom { fork: true, turn: Some(9), ..ResumeFrom::of(first) };
        let ended = rig.begin(resuming(&rig, resume)).end().await;
        let error = ended.end.error.clone().unwrap();
        assert_eq!(error.class, ErrorClass::Config, "{error:?}");
        assert!(error.message.contains("no turn 9"), "{error:?}");
    }
}

#[tokio::test]
async fn a_session_moves_to_another_folder_which_then_holds_all_of_it() {
    let rig = ModelRig::new(Wire::Responses).await;
    let first = two_turns(&rig).await;
    let elsewhere = rig.place.home.path().join("another-run");
    let resume = ResumeFrom { session_dir: Some(rig.sessions()), ..ResumeFrom::of(first.clone()) };
    let mut spec = resuming(&rig, resume);
    spec.session_dir = Some(elsewhere.clone());
    let ended = run(&rig, spec).await;
    assert_eq!(session(&ended), first);
    std::fs::remove_dir_all(rig.sessions()).unwrap();
    let mut spec = resuming(&rig, ResumeFrom::of(first));
    spec.session_dir = Some(elsewhere);
    let ended = run(&rig, spec).await;
    assert!(ended.response().contains(&seen(4)), "{}", ended.response());
}

#[tokio::test]
async fn a_session_that_began_with_one_vendor_goes_on_with_another() {
    for from in Wire::ALL {
        let rig = ModelRig::new(from).await;
        let first = two_turns(&rig).await;
        for to in Wire::ALL {
            let other = ModelRig::new(to).await;
            let resume = ResumeFrom {
                session_dir: Some(rig.sessions()),
                fork: true,
                ..ResumeFrom::of(first.clone())
            };
            let mut spec = resuming(&other, resume);
            spec.model = match to {
                Wire::Responses | Wire::Chat => Some("gpt-5.5".into()),
                Wire::Messages => Some("claude-sonnet-5-5".into()),
                Wire::Generate => Some("gemini-3.1-pro-preview".into()),
            };
            let ended = run(&other, spec).await;
            assert!(ended.response().contains(&seen(3)), "{from:?} {to:?}: {}", ended.response());
        }
    }
}

#[tokio::test]
async fn a_run_that_was_killed_in_a_call_can_be_gone_on_with() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut story = rig.begin(rig.free("[[scn:bash_sleep s=300]] go"));
        story.until_tool(ToolPhase::Running).await;
        let session = story
            .until(|kind| match kind {
                EventKind::SessionInfo(info) => info.session.clone(),
                _ => None,
            })
            .await;
        story.handle.kill().await.unwrap();
        let ended = story.end().await;
        assert_eq!(ended.end.outcome, Outcome::Stopped, "{}", ended.text());
        let ended = run(&rig, resuming(&rig, ResumeFrom::of(session))).await;
        assert!(ended.response().contains(&seen(2)), "{wire:?}: {}", ended.response());
    }
}

#[tokio::test]
async fn a_torn_tail_is_cut_and_a_call_without_its_result_gets_one() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let first = two_turns(&rig).await;
        let path = file(&rig.sessions(), &first);
        let whole = std::fs::read_to_string(&path).unwrap();
        // The power may fail after any line and inside any line.
        let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        for end in ends {
            for cut in [end, end.saturating_sub(5)] {
                std::fs::write(&path, &whole[..whole.floor_char_boundary(cut)]).unwrap();
                let ended = rig.begin(resuming(&rig, ResumeFrom::of(first.clone()))).end().await;
                assert_eq!(
                    ended.end.outcome,
                    Outcome::Completed,
                    "{wire:?} cut at {cut}:\n{}",
                    ended.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_session_is_refused_and_stays_as_it_is() {
    let rig = ModelRig::new(Wire::Messages).await;
    let first = two_turns(&rig).await;
    let path = file(&rig.sessions(), &first);
    let later = "{\"type\":\"session\",\"version\":99,\"session\":\"x\"}\n";
    for bytes in
        [&b"not json\n{}\n"[..], b"\xff\xfe\n", later.as_bytes(), b"{\"type\":\"novel\"}\n"]
    {
        std::fs::write(&path, bytes).unwrap();
        let ended = rig.begin(resuming(&rig, ResumeFrom::of(first.clone()))).end().await;
        let error = ended.end.error.clone().unwrap();
        assert_eq!(error.class, ErrorClass::Config, "{error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    for id in ["../../etc/passwd", "not-a-uuid", "/etc/passwd"] {
        let ended = rig.begin(resuming(&rig, ResumeFrom::of(SessionId::new(id)))).end().await;
        let class = ended.end.error.clone().unwrap().class;
        assert_eq!(class, ErrorClass::SessionNotFound, "{id}");
    }
}

#[tokio::test]
async fn a_session_is_written_by_one_run_at_a_time() {
    let rig = ModelRig::new(Wire::Messages).await;
    let first = two_turns(&rig).await;
    let busy = SessionSpec {
        resume: Some(ResumeFrom::of(first.clone())),
        ..rig.free("[[scn:bash_sleep s=300]] go")
    };
    let mut story = rig.begin(busy);
    story.until_tool(ToolPhase::Running).await;
    let ended = rig.begin(resuming(&rig, ResumeFrom::of(first))).end().await;
    let error = ended.end.error.clone().unwrap();
    assert!(error.message.contains("in use"), "{error:?}");
    story.handle.kill().await.unwrap();
    story.end().await;
}

#[tokio::test]
async fn a_session_that_is_not_kept_has_no_name_and_its_files_are_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let rig = ModelRig::new(Wire::Generate).await;
    let mut spec = rig.free("[[scn:text]] go");
    spec.session_dir = None;
    assert_eq!(run(&rig, spec).await.end.session, None);
    let kept = run(&rig, rig.free("[[scn:text]] go")).await;
    let about = std::fs::metadata(file(&rig.sessions(), &session(&kept))).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}
