//! The contract for the runtimes that speak to a model themselves, in every wire format, on a scripted model.

use musher_runtime::core::SessionId;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::{ModelRig, Place};

impl Subject for ModelRig {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        self.wire.runtime()
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let prompt = match scene {
            Scene::Text | Scene::TwoPrompts => "[[scn:text]] go",
            Scene::Approval => "[[scn:bash]] go",
            Scene::Question => "[[scn:ask]] go",
            Scene::Hang | Scene::Interruptible => {
                "[[scn:bash cmd=\"setsid sleep 300 & sleep 300\"]] go"
            }
            Scene::ManyCalls => "[[scn:endless]] go",
        };
        match scene {
            Scene::Hang | Scene::Interruptible | Scene::ManyCalls => self.free(prompt),
            Scene::Text | Scene::TwoPrompts | Scene::Approval | Scene::Question => {
                Self::spec(self, prompt)
            }
        }
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = Self::spec(self, "[[scn:text]] go");
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

macro_rules! wires {
    ($($module:ident: $wire:ident),* $(,)?) => {$(
        mod $module {
            use crate::rig::{ModelRig, Wire};

            async fn subject() -> ModelRig {
                ModelRig::new(Wire::$wire).await
            }

            crate::contract::every_clause!();
        }
    )*};
}

wires! {
    responses: Responses,
    chat: Chat,
    messages: Messages,
    generate: Generate,
}
