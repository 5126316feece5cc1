//! What the agents say they used, beside what their model says it gave.

use musher_runtime::core::Outcome;
use musher_testkit::model::Usage;

use super::begin;
use crate::rig::{AcpAgent, AcpRig};
use crate::story::Ended;

/// All that was looked at and all that was written, to the token, however it was cached.
fn assert_bill(ended: &Ended, told: Usage) {
    let given = told.input + told.cache_read + told.cache_write_5m + told.cache_write_1h;
    let ours = ended.end.usage;
    assert_eq!((ours.context(), ours.output), (given, told.output), "{}", ended.text());
}

async fn two_turns(agent: AcpAgent) -> (AcpRig, Ended) {
    let rig = AcpRig::new(agent).await;
    // One of them asks for a title until it gets one, and tells in no bill what is under way when the last turn ends.
    let story = begin(&rig, rig.unasked(r#"[[scn:bash side={"title":"Scripted"}]] go"#));
    story.handle.prompt("[[scn:text]] go").await.unwrap();
    let ended = story.end().await;
    assert_eq!((ended.end.outcome, ended.end.turns), (Outcome::Completed, 2), "{}", ended.text());
    (rig, ended)
}

async fn is_exact(agent: AcpAgent) {
    let (rig, ended) = two_turns(agent).await;
    assert_bill(&ended, rig.server.ledger().total());
}

async fn is_unknown(agent: AcpAgent) {
    let (rig, ended) = two_turns(agent).await;
    assert_eq!(ended.end.cost_usd, None, "{}", ended.text());
    let told = rig.server.ledger().total();
    assert!(ended.end.usage.output <= told.output, "no more is counted than was given");
}

#[tokio::test]
async fn the_tokens_of_gemini_cli_are_exact_and_its_cost_is_an_estimate() {
    let (rig, ended) = two_turns(AcpAgent::GeminiCli).await;
    assert_bill(&ended, rig.server.ledger().total());
    assert!(ended.end.cost_usd.is_some() && ended.end.estimated, "{}", ended.text());
}

#[tokio::test]
async fn the_cost_of_opencode_is_unknown() {
    is_unknown(AcpAgent::OpenCode).await;
}

mod matrix {
    use super::*;

    #[tokio::test]
    async fn the_tokens_of_copilot_are_exact() {
        is_exact(AcpAgent::Copilot).await;
    }

    #[tokio::test]
    async fn the_cost_of_qwen_is_unknown() {
        is_unknown(AcpAgent::Qwen).await;
    }

    #[tokio::test]
    async fn the_tokens_of_claude_acp_are_exact() {
        is_exact(AcpAgent::ClaudeAcp).await;
    }

    #[tokio::test]
    async fn the_cost_of_codex_acp_is_unknown() {
        is_unknown(AcpAgent::CodexAcp).await;
    }
}
