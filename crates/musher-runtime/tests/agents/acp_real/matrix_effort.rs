//! The agents that take a word for how hard their model is to think.

use musher_runtime::Runtime as _;
use musher_runtime::core::Outcome;

use super::begin;
use crate::rig::{AcpAgent, AcpRig};

/// Whether the word reached the model in one of the ways that services have for it.
async fn effort_reaches_the_model(agent: AcpAgent) {
    assert!(agent.runtime().capabilities().effort);
    let rig = AcpRig::new(agent).await;
    let mut spec = rig.spec("[[scn:text]] go");
    spec.model_options.effort = Some("low".into());
    let ended = begin(&rig, spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    let requests = rig.server.requests();
    let told = requests.iter().map(|request| request.json()).any(|body| {
        body["reasoning"]["effort"] == "low" || body["output_config"]["effort"] == "low"
    });
    assert!(told, "the effort did not reach the model");
}

#[tokio::test]
async fn the_effort_of_the_session_reaches_the_model_of_claude_acp() {
    effort_reaches_the_model(AcpAgent::ClaudeAcp).await;
}

#[tokio::test]
async fn the_effort_of_the_session_reaches_the_model_of_codex_acp() {
    effort_reaches_the_model(AcpAgent::CodexAcp).await;
}
