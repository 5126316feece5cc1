//! Prompts and the files that the agent's program would execute: noticed, asked about, and held until somebody agrees.

use std::path::Path;

use musher_core::Answer;

use super::*;
use crate::{ProjectFile, ProjectTrust, Snapshot};

const FILES: &[ProjectFile] = &[ProjectFile::executes(".tool/settings")];

fn write(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder.join(".tool")).unwrap();
    std::fs::write(folder.join(".tool/settings"), text).unwrap();
}

/// A session in a folder whose agent ends each turn at once, and writes the file in its first.
fn writing(folder: &Path, spec: SessionSpec) -> Session {
    writing_with(folder, spec, TurnOutcome::Completed)
}

fn writing_with(folder: &Path, spec: SessionSpec, outcome: TurnOutcome) -> Session {
    let profile = BackendProfile {
        name: "played".into(),
        capabilities: Capabilities::ALL,
        variables: &[],
        chosen: &[],
        banned: &[],
        files: FILES.into(),
        asks_a_model: true,
    };
    let place = folder.to_owned();
    let backend = move |mut attempt: Attempt| {
        let place = place.clone();
        async move {
            let mut turns = 0;
            loop {
                let order = tokio::select! {
                    () = attempt.port.end.cancelled() => return BackendEnd::default(),
                    order = attempt.port.orders.recv() => order,
                };
                match order {
                    Some(BackendOrder::Prompt { .. }) => {
                        turns += 1;
                        say(&attempt, started()).await;
                        if turns == 1 {
                            write(&place, "planted");
                        }
                        say(&attempt, ended(outcome)).await;
                    }
                    Some(BackendOrder::Close) | None => return BackendEnd::default(),
                    Some(_) => {}
                }
            }
        }
    };
    let spec = SessionSpec { cwd: folder.to_owned(), linger: Duration::from_secs(60), ..spec };
    start(profile, spec, Arc::new(move |attempt| Box::pin(backend(attempt))))
}

/// Gives a second prompt when the first turn has ended, and answers the ask about the files, if there is an answer.
async fn prompted_again(mut session: Session, answer: Option<Answer>) -> Vec<EventKind> {
    let handle = session.handle();
    let mut kinds = Vec::new();
    let mut prompted = false;
    while let Some(output) = session.next().await {
        let SessionOutput::Event(event) = output else { continue };
        match &event.kind {
            EventKind::TurnEnded(_) if !prompted => {
                prompted = true;
                handle.prompt("again").await.unwrap();
            }
            EventKind::AskOpened { ask, settled: false, .. } => {
                if let Some(answer) = &answer {
                    handle.answer(ask.clone(), answer.clone()).await.unwrap();
                }
            }
            _ => {}
        }
        kinds.push(event.kind);
    }
    kinds
}

fn turns(kinds: &[EventKind]) -> usize {
    kinds.iter().filter(|kind| matches!(kind, EventKind::TurnEnded(_))).count()
}

fn closed(kinds: &[EventKind]) -> Vec<ClosedBy> {
    let by = |kind: &EventKind| match kind {
        EventKind::AskClosed { by, .. } => Some(*by),
        _ => None,
    };
    kinds.iter().filter_map(by).collect()
}

/// The files were agreed to as they are at the start, so that the program has loaded them.
fn loaded(folder: &Path) -> SessionSpec {
    write(folder, "agreed");
    let trusted = vec![Snapshot::of_folder(folder, FILES).unwrap()];
    SessionSpec { project: ProjectTrust { trusted, ..ProjectTrust::default() }, ..spec() }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_waits_until_a_person_agrees_to_changed_files() {
    for load in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let spec = if load { loaded(folder.path()) } else { spec() };
        let session = writing(folder.path(), spec);
        let kinds = prompted_again(session, Some(Answer::Allow { input: None })).await;
        assert_eq!((turns(&kinds), closed(&kinds)), (2, vec![ClosedBy::Person]), "{kinds:#?}");
        let asked = kinds.iter().position(|kind| matches!(kind, EventKind::AskClosed { .. }));
        let begun = kinds.iter().rposition(|kind| matches!(kind, EventKind::TurnStarted { .. }));
        assert!(asked < begun, "{kinds:#?}");
        assert_eq!(outcome(&kinds), Outcome::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_ends_an_agent_that_has_loaded_the_files_and_lets_another_go_on_without_them() {
    for (load, wanted) in [(true, (1, Outcome::Failed)), (false, (2, Outcome::Completed))] {
        let folder = tempfile::tempdir().unwrap();
        let spec = if load { loaded(folder.path()) } else { spec() };
        let session = writing(folder.path(), spec);
        let no = Answer::Deny { reason: "no".into() };
        let kinds = prompted_again(session, Some(no)).await;
        assert_eq!((turns(&kinds), outcome(&kinds)), wanted, "{kinds:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_there_and_a_deadline_mean_no_whatever_the_default_is() {
    let policies = [
        (AskPolicy::Deny, ClosedBy::Unattended),
        (
            AskPolicy::Wait { deadline: Some(Duration::from_secs(5)), default: AskDecision::Allow },
            ClosedBy::Deadline,
        ),
    ];
    for (asks, by) in policies {
        let folder = tempfile::tempdir().unwrap();
        let session = writing(folder.path(), SessionSpec { asks, ..loaded(folder.path()) });
        let kinds = prompted_again(session, None).await;
        assert_eq!(closed(&kinds), [by], "{kinds:#?}");
        assert_eq!((turns(&kinds), outcome(&kinds)), (1, Outcome::Failed), "{kinds:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_with_files_that_nobody_knows_asks_and_one_with_those_of_the_project_does_not() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "unknown");
    let asks = AskPolicy::Deny;
    let kinds = all(writing(folder.path(), SessionSpec { asks, ..spec() })).await;
    assert_eq!(closed(&kinds), [ClosedBy::Unattended], "{kinds:#?}");
    write(folder.path(), "of the project");
    let base = Snapshot::of_folder(folder.path(), FILES).unwrap();
    let project = ProjectTrust { base, ..ProjectTrust::default() };
    let kinds = all(writing(folder.path(), SessionSpec { project, asks, ..spec() })).await;
    assert_eq!(closed(&kinds), [], "{kinds:#?}");
    let told = |kind: &EventKind| matches!(kind, EventKind::Notice { code: Some(code), .. } if code == "project_files_left_out");
    assert!(kinds.iter().any(told), "{kinds:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_denial_before_the_first_turn_does_not_make_a_failed_turn_an_interrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "unknown");
    let spec = SessionSpec { linger: Duration::ZERO, ..spec() };
    let mut session = writing_with(folder.path(), spec, TurnOutcome::Failed);
    let handle = session.handle();
    let mut kinds = Vec::new();
    while let Some(output) = session.next().await {
        let SessionOutput::Event(event) = output else { continue };
        if let EventKind::AskOpened { ask, .. } = &event.kind {
            let no = Answer::DenyAndInterrupt { reason: "no".into() };
            handle.answer(ask.clone(), no).await.unwrap();
        }
        kinds.push(event.kind);
    }
    assert_eq!(outcome(&kinds), Outcome::Failed, "{kinds:#?}");
}
