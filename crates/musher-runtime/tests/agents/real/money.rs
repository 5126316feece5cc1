//! The bill of turns that do not end, against the books of the model: it is never below them.

use std::time::Duration;

use musher_runtime::ResumeFrom;
use musher_runtime::core::{Event, EventKind, Outcome, Tokens, Usd};
use musher_testkit::model::{Ledger, Usage};
use tokio::time::Instant;

use super::{begin, trusted};
use crate::rig::ClaudeRig;
use crate::story::{Ended, Story, kill_all};

/// Which of these a bill may not be below, one kind of token after another.
fn parts(usage: Usage) -> [u64; 5] {
    [usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output]
}

fn of(tokens: Tokens) -> Usage {
    Usage {
        input: tokens.input,
        cache_read: tokens.cache_read,
        cache_write_5m: tokens.cache_write_5m,
        cache_write_1h: tokens.cache_write_1h,
        output: tokens.output,
    }
}

/// What the client was told is billed, to the token; output that was cut is marked, and what it was not told is unknown.
fn assert_not_below(ended: &[&Ended], books: &Ledger) {
    let mut ours = ended.iter().map(|one| of(one.end.usage)).sum::<Usage>();
    let unknown = ended.iter().any(|one| one.end.cost_usd.is_none());
    let told = books.told();
    let text = || ended.iter().map(|one| one.text()).collect::<Vec<_>>().join("\n---\n");
    if ended.iter().any(|one| one.end.estimated) {
        // The least that it can be: the agent may have died with more of an answer than it had passed on.
        ours.output = ours.output.max(told.output);
    }
    let below = parts(ours).iter().zip(parts(told)).any(|(ours, told)| *ours < told);
    assert!(!below || unknown, "{ours:?} is below {told:?}, and is said to be known\n{}", text());
    let input = |usage: Usage| (usage.input, usage.cache_read, usage.cache_write_5m);
    assert!(unknown || input(ours) == input(told), "{ours:?} is not {told:?}\n{}", text());
}

async fn until_calls(story: &mut Story, rig: &ClaudeRig, count: usize) {
    while rig.server.ledger().requests() < count {
        let _nothing = tokio::time::timeout(Duration::from_millis(5), story.listen()).await;
    }
}

#[tokio::test]
async fn promise_20_an_agent_killed_in_its_third_call_is_billed_for_all_three() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(trusted(rig.spec("[[scn:seq n=9 delay=300]] go")));
    story
        .until(|kind| {
            let EventKind::Usage(report) = kind else { return None };
            let began = report.partial && !report.over && report.spend.tokens.total() > 0;
            (began && report.id.as_deref() == Some("call-3")).then_some(())
        })
        .await;
    kill_all(story.processes());
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Lost, "{}", ended.text());
    let last = |event: &&Event| matches!(&event.kind, EventKind::Usage(report) if !report.partial);
    // Those that are over are told as one; the third one may have come to its end before the kill.
    let told = ended.events.iter().filter(last).count();
    assert!(matches!(told, 1 | 2), "{told}: {}", ended.text());
    assert_not_below(&[&ended], &rig.server.ledger());
    assert_eq!((ended.end.usage.input, ended.end.usage.cache_read), (300, 3000));
    assert!(ended.end.estimated, "{}", ended.text());
    let two = Usd::from_dollars(2.0 * super::CALL);
    assert!(ended.end.cost_usd.is_some_and(|cost| cost > two), "{:?}", ended.end.cost_usd);
}

#[tokio::test]
async fn promise_20_agents_killed_at_seeded_moments_are_never_billed_below_the_books() {
    let mut seed = 20_261_116_u64;
    for _ in 0..6 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(400 + (seed >> 33) % 1600);
        let rig = ClaudeRig::new().await;
        let mut story = begin(trusted(rig.spec("[[scn:seq n=40 delay=120 first=Now_this]] go")));
        let moment = Instant::now() + moment;
        while tokio::time::timeout_at(moment, story.listen()).await.is_ok() {}
        kill_all(story.processes());
        let killed = story.end().await;
        assert_not_below(&[&killed], &rig.server.ledger());
        let Some(session) = killed.end.session.clone() else { continue };
        let mut spec = rig.spec("[[scn:text]] again");
        let mut resume = ResumeFrom::of(session);
        resume.lineage.totals = killed.end.models.clone();
        resume.fresh_prompt = Some("[[scn:text]] again".into());
        spec.resume = Some(resume);
        let resumed = begin(spec).end().await;
        assert_eq!(resumed.end.outcome, Outcome::Completed, "{}", resumed.text());
        assert_not_below(&[&killed, &resumed], &rig.server.ledger());
    }
}

#[tokio::test]
async fn promise_20_an_interrupted_call_is_billed_and_marked() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:slow ms=50 n=400]] go"));
    story.until_deltas(3).await;
    story.handle.interrupt().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Interrupted, "{}", ended.text());
    assert_not_below(&[&ended], &rig.server.ledger());
    assert!(ended.end.estimated && ended.end.cost_usd.is_some(), "{}", ended.text());
    assert_eq!(ended.end.usage.input, 100);
}

#[tokio::test]
async fn promise_20_a_request_that_was_stopped_before_its_answer_is_unknown() {
    let rig = ClaudeRig::new().await;
    let mut story = begin(rig.spec("[[scn:hang]] go"));
    until_calls(&mut story, &rig, 1).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_eq!(ended.end.outcome, Outcome::Stopped, "{}", ended.text());
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
}

#[tokio::test]
async fn promise_20_a_stop_that_meets_a_helper_in_the_background_does_not_make_it_free() {
    let rig = ClaudeRig::new().await;
    let prompt = "[[scn:agent bg=true does=\"slow ms=100 n=300\"]] go";
    let mut story = begin(trusted(rig.spec(prompt)));
    story.until_turns_ended(1).await;
    story.handle.stop().await.unwrap();
    let ended = story.end().await;
    assert_not_below(&[&ended], &rig.server.ledger());
    let books = rig.server.ledger();
    assert!(books.calls.iter().any(|call| !call.counted), "the helper was at work: {books:?}");
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
    assert!(ended.end.known_cost_usd >= Usd::from_dollars(2.0 * super::CALL), "{}", ended.text());
}

#[tokio::test]
async fn promise_20_a_call_that_breaks_off_and_is_made_again_is_billed_twice() {
    for scenario in ["cut n=1", "eof n=1", "inline_err n=1", "cut n=1 blocks=2"] {
        let rig = ClaudeRig::new().await;
        let ended = begin(rig.spec(&format!("[[scn:{scenario}]] go"))).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
        assert_not_below(&[&ended], &rig.server.ledger());
        assert_eq!(ended.end.usage.input, 200, "{scenario}\n{}", ended.text());
    }
}
