//! Images that go with the first prompt of real ACP agents.

use musher_runtime::core::Outcome;

use super::begin;
use crate::rig::{AcpAgent, AcpRig, Attached, RawCopy, one_image, shown};

async fn shows_an_image(agent: AcpAgent) {
    let (rig, attached) = (AcpRig::new(agent).await, Attached::new());
    let mut spec = rig.spec("[[scn:text]] look");
    spec.attachments = vec![attached.image()];
    let copy = RawCopy::of(&mut spec);
    let ended = begin(&rig, spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(shown(&rig.server, "text"), [one_image()], "{}", agent.name());
    copy.assert_holds_no_image();
    assert!(!ended.said().contains("iVBOR"), "{}", ended.text());
}

#[tokio::test]
async fn gemini_cli_shows_its_model_an_image() {
    shows_an_image(AcpAgent::GeminiCli).await;
}

/// `scripts/prove agents` takes the others, too.
mod matrix {
    use super::{AcpAgent, shows_an_image};

    #[tokio::test]
    async fn opencode_shows_its_model_an_image() {
        shows_an_image(AcpAgent::OpenCode).await;
    }

    #[tokio::test]
    async fn codex_acp_shows_its_model_an_image() {
        shows_an_image(AcpAgent::CodexAcp).await;
    }

    #[tokio::test]
    async fn copilot_shows_its_model_an_image() {
        shows_an_image(AcpAgent::Copilot).await;
    }

    #[tokio::test]
    async fn claude_acp_shows_its_model_an_image() {
        shows_an_image(AcpAgent::ClaudeAcp).await;
    }
}
