//! The contract for the `gates` runtime, as far as it fits one without an agent: it asks nobody, calls no model, and keeps no
//! session. Silence does not end it, because each gate has a deadline.

use musher_runtime::core::SessionId;
use musher_runtime::gates::{GateSpec, Gates, GatesPlan};
use musher_runtime::{ResumeFrom, Runtime, SessionSpec};

use super::{Scene, Subject};
use crate::rig::Place;

pub(crate) struct Checked {
    place: Place,
}

impl Checked {
    fn new() -> Self {
        Self { place: Place::new() }
    }
}

async fn subject() -> Checked {
    Checked::new()
}

impl Subject for Checked {
    fn place(&self) -> &Place {
        &self.place
    }

    /// Which scene it is stands in the folder, because the plan belongs to the runtime and not to the session.
    fn runtime(&self) -> Box<dyn Runtime> {
        let gate = GateSpec::new("scene", "sh ./scene");
        Box::new(Gates::of(GatesPlan { gates: vec![gate], all: false }))
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        let command = match scene {
            Scene::Text | Scene::TwoPrompts => "echo Hello.",
            Scene::Hang | Scene::Interruptible => "setsid sleep 300 & sleep 300",
            Scene::Approval | Scene::Question | Scene::ManyCalls => panic!("no gate does that"),
        };
        std::fs::write(self.place.work.path().join("scene"), command).unwrap();
        self.place.spec("go")
    }

    fn unknown_session(&self) -> SessionSpec {
        let mut spec = self.spec(Scene::Text);
        spec.resume = Some(ResumeFrom::of(SessionId::new("00000000-0000-4000-8000-000000000000")));
        spec
    }
}

super::clauses! {
    without_the_sweep_an_end_leaves_processes_behind,
    stop_ends_the_whole_tree_and_is_true,
    kill_ends_the_whole_tree_at_once,
    dropping_the_session_ends_the_whole_tree,
    a_second_prompt_waits_for_its_turn,
    the_wall_clock_ends_a_run,
    an_unknown_session_fails_and_says_so,
    bad_input_is_refused_before_anything_runs,
    one_shot_work_gives_its_result,
}

/// The same in a sandbox.
mod in_workspace {
    use super::Checked;
    use crate::contract::sandbox::Confined;

    async fn subject() -> Confined<Checked> {
        Confined::workspace(Checked::new())
    }

    crate::contract::clauses! {
        stop_ends_the_whole_tree_and_is_true,
        kill_ends_the_whole_tree_at_once,
        a_second_prompt_waits_for_its_turn,
        one_shot_work_gives_its_result,
    }
}
