//! The contract for the `script` runtime.

use musher_runtime::core::SessionId;
use musher_runtime::script::Script;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::Place;

pub(crate) struct Scripted {
    place: Place,
}

pub(crate) async fn subject() -> Scripted {
    Scripted { place: Place::new() }
}

impl Subject for Scripted {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        Box::new(Script::default().remembering(self.place.home.path().join("sessions")))
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let steps = match scene {
            Scene::Text => "[[step]]\nsay = 'Hello.'\n[[step]]\nusage = { input = 5, output = 2 }",
            Scene::Approval => "[[step]]\nrun = 'true'\nask_first = true\n[[step]]\nsay = 'Done.'",
            Scene::Question => {
                "[[step]]\nask = 'Which?'\noptions = ['Red', 'Blue']\nsave = 'colour'\n[[step]]\nsay = '${colour}'"
            }
            Scene::Hang | Scene::Interruptible => "[[step]]\nrun = 'setsid sleep 300 & sleep 300'",
            Scene::TwoPrompts => {
                "[[step]]
usage = { output = 3, cost_usd = 0.5 }
[[step]]
say = 'One.'
[[step]]
turn = true
[[step]]
say = 'Two.'"
            }
            Scene::ManyCalls => {
                "[[step]]
run = 'true'
[[step]]
run = 'true'
[[step]]
hang = true"
            }
        };
        let file = self.place.home.path().join(format!("{scene:?}.toml"));
        std::fs::write(&file, steps).unwrap();
        let mut spec = self.place.spec("go");
        spec.program = Some(file);
        spec
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = self.spec(Scene::Text);
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

super::every_clause!();
