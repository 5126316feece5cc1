//! The contract for the `claude-code` runtime, with the real program on a scripted model.

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::SessionId;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::{ClaudeRig, Place};

async fn subject() -> ClaudeRig {
    ClaudeRig::new().await
}

impl Subject for ClaudeRig {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        Box::new(ClaudeCode::default())
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let prompt = match scene {
            Scene::Text | Scene::TwoPrompts => "[[scn:text]] go",
            Scene::Approval => "[[scn:bash]] go",
            Scene::Question => "[[scn:ask]] go",
            Scene::Hang | Scene::Interruptible => "[[scn:bash_sleep s=300]] go",
            Scene::ManyCalls => "[[scn:endless]] go",
        };
        let mut spec = Self::spec(self, prompt);
        if matches!(scene, Scene::Hang | Scene::Interruptible | Scene::ManyCalls) {
            spec.permission_mode = Some("bypassPermissions".into());
        }
        spec
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = Self::spec(self, "[[scn:text]] go");
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

super::every_clause!();
