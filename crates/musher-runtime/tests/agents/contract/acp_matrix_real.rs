//! The whole contract with every real ACP agent: `scripts/prove agents`. The check takes a few clauses of it.

use musher_runtime::core::SessionId;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::{AcpAgent, AcpRig, Place};

impl Subject for AcpRig {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        Box::new(self.agent.runtime())
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        match scene {
            Scene::Text | Scene::TwoPrompts => Self::spec(self, "[[scn:text]] go"),
            // It asks before changes, and refuses commands by itself.
            Scene::Approval if self.agent == AcpAgent::CodexAcp => {
                Self::spec(self, "[[scn:write path=a.txt content=hello]] go")
            }
            Scene::Approval => Self::spec(self, "[[scn:bash]] go"),
            Scene::Question => Self::spec(self, "[[scn:ask]] go"),
            // Some end what they have started when they are killed, by its terminal or by its parent. What has a session of its
            // own is left, and without that the clauses about the whole tree would prove nothing.
            Scene::Hang | Scene::Interruptible => {
                self.unasked(r#"[[scn:bash cmd="setsid --fork sleep 300; sleep 300"]] go"#)
            }
            Scene::ManyCalls => self.unasked("[[scn:endless]] go"),
        }
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = Self::spec(self, "[[scn:text]] go");
        let id = match self.agent {
            AcpAgent::OpenCode => "ses_e186e379dffewA5WCY5678uS0C",
            _ => "00000000-0000-4000-8000-000000000000",
        };
        spec.resume = Some(ResumeFrom::of(SessionId::new(id)));
        spec
    }

    /// Copilot lists its models after a login alone; of a model that a variable names it says nothing.
    fn names_its_model(&self) -> bool {
        self.agent != AcpAgent::Copilot
    }
}

macro_rules! agents {
    ($($module:ident = $agent:ident),* $(,)?) => {$(
        mod $module {
            use crate::rig::{AcpAgent, AcpRig};

            async fn subject() -> AcpRig {
                AcpRig::new(AcpAgent::$agent).await
            }

            crate::contract::every_clause!();
        }
    )*};
}

agents! {
    gemini_cli = GeminiCli,
    opencode = OpenCode,
    codex_acp = CodexAcp,
    copilot = Copilot,
    qwen = Qwen,
    claude_acp = ClaudeAcp,
}
