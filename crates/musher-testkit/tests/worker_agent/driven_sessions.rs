//! Sessions of the agent under the real driver: resumed, forked, unknown, and killed in between.

use musher_runtime::EventKind;
use musher_runtime::core::{ErrorClass, Outcome, SessionId, SessionOrigin, Usd};

use crate::run::{Place, Run};

#[tokio::test]
async fn a_resumed_session_counts_on_and_is_billed_for_itself_alone() {
    let place = Place::new();
    let first = place.run("[[work lines=2 input=100 cost=0.5]]").end().await;
    let second = Run::begin(place.resume(&first.session(), "[[work lines=1 input=7]]")).end().await;
    assert_eq!(second.end.origin, SessionOrigin::Resumed);
    assert_eq!(second.session(), first.session());
    assert_eq!(second.texts(), ["line 3"]);
    assert_eq!(second.end.usage.input, 7);
    assert_eq!(second.end.cost_usd, Some(Usd::from_dollars(0.001)));
}

#[tokio::test]
async fn a_fork_counts_on_for_itself() {
    let place = Place::new();
    let parent = place.run("[[work lines=2]]").end().await;
    let mut spec = place.resume(&parent.session(), "[[work lines=3]]");
    spec.resume.as_mut().unwrap().fork = true;
    let fork = Run::begin(spec).end().await;
    assert_eq!(fork.end.origin, SessionOrigin::Forked);
    assert_ne!(fork.session(), parent.session());
    assert_eq!(fork.texts(), ["line 3", "line 4", "line 5"]);
    let again = Run::begin(place.resume(&parent.session(), "[[work lines=1]]")).end().await;
    assert_eq!(again.texts(), ["line 3"], "the fork left its parent alone");
    let fork = Run::begin(place.resume(&fork.session(), "[[work lines=1]]")).end().await;
    assert_eq!(fork.texts(), ["line 6"]);
}

#[tokio::test]
async fn an_unknown_session_is_said_to_be_unknown_and_the_driver_falls_back() {
    let place = Place::new();
    for unknown in ["00000000-0000-4000-8000-000000000000", "../starts"] {
        let unknown = SessionId::new(unknown);
        let ended = Run::begin(place.resume(&unknown, "[[work lines=1]]")).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed);
        assert_eq!(ended.end.error.unwrap().class, ErrorClass::SessionNotFound);
        assert_eq!(ended.end.exit_code, Some(1));

        let mut spec = place.resume(&unknown, "go on");
        spec.resume.as_mut().unwrap().fresh_prompt = Some("[[work lines=1]]".into());
        let ended = Run::begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed);
        assert_eq!(ended.end.origin, SessionOrigin::Fallback);
        assert_eq!(ended.texts(), ["line 1"]);
    }
}

#[tokio::test]
async fn a_session_that_was_killed_goes_on_with_the_next_line() {
    let place = Place::new();
    let mut run = place.run("[[work lines=100000 every_ms=5]]");
    run.until_text("line 4").await;
    run.handle.kill().await.unwrap();
    let ended = run.end().await;
    let said = ended.texts().len();
    let again = Run::begin(place.resume(&ended.session(), "[[work lines=1]]")).end().await;
    let next = [format!("line {said}"), format!("line {}", said + 1)];
    assert!(next.contains(&again.texts()[0].to_owned()), "{:?} after {said}", again.texts());
}

#[tokio::test]
async fn a_change_of_model_is_billed_under_its_name() {
    let place = Place::new();
    let mut run = place.run("[[work ask=x]]");
    let (ask, _) = run.until_ask().await;
    run.handle.set_model("other-model").await.unwrap();
    run.handle.set_mode("acceptEdits").await.unwrap();
    run.until(|kind| match kind {
        EventKind::SessionInfo(info) => info.permission_mode.clone().filter(|m| m == "acceptEdits"),
        _ => None,
    })
    .await;
    let answer = musher_runtime::core::Answer::Allow { input: None };
    run.handle.answer(ask, answer).await.unwrap();
    let ended = run.end().await;
    assert_eq!(ended.end.models.keys().collect::<Vec<_>>(), ["other-model"]);
}
