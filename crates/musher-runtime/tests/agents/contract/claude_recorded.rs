//! The contract for the `claude-code` runtime, with recordings of the real program.

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::SessionId;
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::{Place, recorded, write_program};

pub(crate) struct Recorded {
    place: Place,
}

async fn subject() -> Recorded {
    Recorded { place: Place::new() }
}

impl Subject for Recorded {
    fn place(&self) -> &Place {
        &self.place
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        Box::new(ClaudeCode::default())
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let recording = match scene {
            Scene::Text => "bidi_replay",
            Scene::Approval => "bidi_perm_deny",
            Scene::Question => "bidi_ask",
            Scene::Hang => "kill9",
            Scene::Interruptible => "bidi_interrupt_tool",
            Scene::TwoPrompts => "bidi_queue",
            Scene::ManyCalls => "bidi_perm_par",
        };
        let mut spec = recorded(&self.place, recording, "go");
        if scene == Scene::Hang {
            // As the real one does in a tool, it starts something in a session of its own.
            let player = spec.program.take().unwrap();
            let program = self.place.home.path().join("hanging");
            write_program(
                &program,
                &format!("setsid sleep 300 & exec {} \"$@\"", player.display()),
            );
            spec.program = Some(program);
        }
        if scene == Scene::ManyCalls {
            spec.rules.allow.push("*".parse().unwrap());
        }
        spec
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = recorded(&self.place, "resume_bad_uuid", "go");
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

super::every_clause!();
