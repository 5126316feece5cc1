//! What makes a sandbox.

use serde::{Deserialize, Serialize};

use crate::container::ContainerBackend;

/// What makes a sandbox. It is written into the spec of a run, so its form is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// Namespaces that bubblewrap makes.
    #[default]
    Namespaces,
    /// Rules of Landlock alone. Everything of the machine has the place that it has outside, and far from everything is held:
    /// it is never used where another one was asked for.
    Landlock,
    /// A container of an engine.
    Container(ContainerBackend),
}

impl SandboxBackend {
    pub(crate) fn is_namespaces(&self) -> bool {
        *self == Self::Namespaces
    }
}
