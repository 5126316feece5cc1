//! Failures of the model and its provider, and limits: each with its own class and outcome.

use musher_runtime::core::{ErrorClass, EventKind, Outcome, Usd};

use super::{CALL, assert_bill, assert_cost, begin, trusted};
use crate::rig::ClaudeRig;
use crate::story::Ended;

async fn fails(prompt: &str, class: ErrorClass) -> Ended {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec(prompt)).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    let error = ended.end.error.clone().expect("an error is told");
    assert_eq!(error.class, class, "{prompt}:\n{}", ended.text());
    assert!(!error.message.is_empty());
    assert_bill(&ended, rig.server.ledger().total());
    ended
}

fn retries(ended: &Ended) -> usize {
    ended.events.iter().filter(|e| matches!(e.kind, EventKind::Retry { .. })).count()
}

#[tokio::test]
async fn a_refused_key_is_an_auth_failure() {
    let ended = fails("[[scn:auth]] go", ErrorClass::Auth).await;
    assert_eq!(ended.end.error.as_ref().unwrap().http, Some(401));
    assert!(ended.end.error.as_ref().unwrap().hint.is_some());
}

#[tokio::test]
async fn too_many_requests_are_retried_and_then_a_rate_limit() {
    let ended = fails("[[scn:err status=429 n=0]] go", ErrorClass::RateLimit).await;
    assert!(retries(&ended) > 0, "{}", ended.text());
}

#[tokio::test]
async fn an_overloaded_provider_is_retried_and_named() {
    let ended = fails("[[scn:err status=529 n=0]] go", ErrorClass::Overloaded).await;
    assert!(retries(&ended) > 0, "{}", ended.text());
}

#[tokio::test]
async fn a_provider_that_recovers_is_no_failure() {
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("[[scn:err status=529 n=1]] go")).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(retries(&ended), 1);
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_a_context_overflow() {
    fails("[[scn:ctxfull]] go", ErrorClass::ContextOverflow).await;
}

#[tokio::test]
async fn an_empty_account_an_unknown_model_and_a_refusal_are_told_apart() {
    fails("[[scn:credit]] go", ErrorClass::Billing).await;
    fails("[[scn:nomodel]] go", ErrorClass::ModelNotFound).await;
    fails("[[scn:maxtok]] go", ErrorClass::MaxOutput).await;
    let rig = ClaudeRig::new().await;
    let ended = begin(rig.spec("[[scn:refusal]] go")).end().await;
    assert_eq!(
        ended.end.error.as_ref().map(|e| e.class),
        Some(ErrorClass::Refused),
        "{}",
        ended.text()
    );
}

#[tokio::test]
async fn a_used_up_subscription_is_a_usage_limit_with_its_reset() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:limit reset=3600]] go");
    spec.environment = rig
        .environment()
        .set("ANTHROPIC_API_KEY", "")
        .set("CLAUDE_CODE_OAUTH_TOKEN", "dummy-oauth-token-for-tests");
    let ended = begin(spec).end().await;
    assert_eq!(
        ended.end.error.as_ref().map(|e| e.class),
        Some(ErrorClass::UsageLimit),
        "{}",
        ended.text()
    );
    let limit = ended.events.iter().find_map(|event| match &event.kind {
        EventKind::RateLimit(limit) if limit.exhausted => Some((limit.clone(), event.at)),
        _ => None,
    });
    let (limit, at) = limit.expect("the limit is told");
    let wait = limit.resets_at.unwrap() - at;
    assert!((3_500_000..3_700_000).contains(&wait), "resets in {wait} ms");
}

#[tokio::test]
async fn a_stream_that_is_cut_is_taken_up_again() {
    for prompt in ["[[scn:cut n=1]] go", "[[scn:inline_err n=1]] go", "[[scn:garbage n=1]] go"] {
        let rig = ClaudeRig::new().await;
        let ended = begin(rig.spec(prompt)).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{prompt}:\n{}", ended.text());
    }
}

#[tokio::test]
async fn promise_6_the_limit_on_model_calls_ends_a_run_with_its_own_outcome() {
    let rig = ClaudeRig::new().await;
    let mut spec = trusted(rig.spec("[[scn:endless]] go"));
    spec.limits.max_turns = Some(3);
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::OutOfTurns, "{}", ended.text());
    assert_eq!(ended.end.model_calls, 3);
    assert_eq!(rig.server.ledger().requests(), 3);
    assert_bill(&ended, rig.server.ledger().total());
    assert_cost(&ended, 3.0 * CALL);
}

#[tokio::test]
async fn promise_6_the_budget_ends_a_run_with_its_own_outcome() {
    let rig = ClaudeRig::new().await;
    let mut spec = trusted(rig.spec("[[scn:endless]] go"));
    spec.limits.budget = Some(Usd::from_dollars(2.5 * CALL));
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::OutOfBudget, "{}", ended.text());
    assert_cost(&ended, 3.0 * CALL);
    assert_bill(&ended, rig.server.ledger().total());
}

#[tokio::test]
async fn a_model_that_never_answers_ends_by_silence() {
    let rig = ClaudeRig::new().await;
    let mut spec = rig.spec("[[scn:hang]] go");
    spec.limits.inactivity = Some(std::time::Duration::from_secs(2));
    let ended = begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::TimedOut, "{}", ended.text());
}
