//! The contract for the `codex` runtime, with the real program on a scripted model.

use musher_runtime::codex::Codex;
use musher_runtime::core::SessionId;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::{CodexRig, Place};

async fn subject() -> CodexRig {
    CodexRig::new().await
}

impl Subject for CodexRig {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        Box::new(Codex::default())
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let (prompt, mode) = match scene {
            Scene::Text | Scene::TwoPrompts => ("[[scn:text]] go", None),
            Scene::Approval => ("[[scn:bash]] go", None),
            // Elsewhere it has no tool to ask with.
            Scene::Question => ("[[scn:ask]] go", Some("plan")),
            Scene::Hang | Scene::Interruptible => {
                ("[[scn:bash_sleep s=300]] go", Some("full-access"))
            }
            Scene::ManyCalls => ("[[scn:endless]] go", Some("full-access")),
        };
        let mut spec = Self::spec(self, prompt);
        spec.permission_mode = mode.map(str::to_owned);
        spec
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = Self::spec(self, "[[scn:text]] go");
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

super::every_clause!();
