//! The `gates` runtime: plays a check run, in which commands of the project file decide and no agent takes part.
//!
//! It runs the gates of its [`GatesPlan`] one after the other, each as a tool call in a process tree of its own, and says with
//! [`GateEnded`](musher_core::GateEnded) how each was judged. The plan comes from whoever starts the session, so that nothing
//! in the folder decides which commands run. It asks no model and costs nothing.
//!
//! ```no_run
//! use musher_runtime::gates::{GateSpec, Gates, GatesPlan};
//! use musher_runtime::{Environment, Runtime, SessionSpec};
//!
//! # async fn example() {
//! let plan = GatesPlan { gates: vec![GateSpec::new("test", "cargo test")], all: false };
//! let spec = SessionSpec::new(plan.title(), "/tmp/work", Environment::of_this_process());
//! let mut session = Gates::of(plan).start(spec);
//! while let Some(output) = session.next().await {
//!     println!("{output:?}");
//! }
//! # }
//! ```

mod check;
mod command;
mod disk;
mod expected;
mod judge;
mod opening;
mod plan;
mod variables;

use std::sync::Arc;

use crate::session::{self, BackendProfile};
use crate::{Capabilities, ProjectFile, Runtime, Session, SessionSpec};

pub use plan::{GateSpec, GatesPlan, GatesPlanError, USUAL_GATE_TIMEOUT_MS};

const NAME: &str = "gates";

/// Runs the gates of a plan. The prompt of the session is its title and changes nothing; each prompt is one pass.
#[derive(Debug, Clone)]
pub struct Gates {
    plan: Arc<GatesPlan>,
}

impl Gates {
    /// Runs these gates.
    pub fn of(plan: impl Into<Arc<GatesPlan>>) -> Self {
        Self { plan: plan.into() }
    }
}

impl Runtime for Gates {
    fn name(&self) -> &'static str {
        NAME
    }

    /// It can be interrupted. There is nobody to talk to, and nothing to go on with later.
    fn capabilities(&self) -> Capabilities {
        Capabilities { interrupt: true, ..Capabilities::default() }
    }

    /// What its commands take from the folder is what they are there to judge.
    fn project_files(&self) -> &'static [ProjectFile] {
        &[]
    }

    /// So that what it costs is known: nothing.
    fn asks_a_model(&self) -> bool {
        false
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let profile = BackendProfile {
            asks_a_model: self.asks_a_model(),
            ..BackendProfile::new(NAME, self.capabilities())
        };
        let plan = self.plan.clone();
        session::start(
            profile,
            spec,
            Arc::new(move |attempt| Box::pin(check::check(plan.clone(), attempt))),
        )
    }
}
