//! The `acp` runtime: any agent that speaks the Agent Client Protocol, version 1, on its standard streams.
//!
//! What differs between agents is data: a [`AcpPreset`] names the program, its arguments, its login and its powers.

mod frame;
mod launch;
mod preset;
mod presets;
mod recording;
mod translate;

use std::sync::Arc;

use crate::session::{self, BackendProfile};
use crate::{Capabilities, ProjectFile, Runtime, Session, SessionSpec};

pub use preset::{
    AcpPowers, AcpPreset, AcpUsage, LaunchExtra, PresetError, all as presets, named as preset,
};
pub use recording::recording;

/// An agent that speaks ACP. Without a preset it is whatever program the session names.
#[derive(Debug, Clone)]
pub struct Acp {
    preset: Arc<AcpPreset>,
    files: Vec<ProjectFile>,
}

impl Default for Acp {
    fn default() -> Self {
        Self::of(AcpPreset::any())
    }
}

impl Acp {
    /// The agent that a preset describes.
    pub fn of(preset: impl Into<Arc<AcpPreset>>) -> Self {
        let preset = preset.into();
        let files = preset.project_files();
        Self { preset, files }
    }

    pub fn preset(&self) -> &AcpPreset {
        &self.preset
    }
}

impl Runtime for Acp {
    fn name(&self) -> &str {
        &self.preset.name
    }

    fn capabilities(&self) -> Capabilities {
        self.preset.capabilities()
    }

    fn project_files(&self) -> &[ProjectFile] {
        &self.files
    }

    fn hosts(&self) -> Vec<&str> {
        self.preset.hosts.iter().map(String::as_str).collect()
    }

    fn start(&self, mut spec: SessionSpec) -> Session {
        for name in &self.preset.variables {
            spec.environment = spec.environment.pass(name);
        }
        for (name, value) in &self.preset.env {
            // What a person has set for this agent goes before what makes it quiet.
            if spec.environment.given(name).is_none() {
                spec.environment = spec.environment.set(name, value);
            }
        }
        let profile = BackendProfile {
            banned: presets::BANNED,
            files: self.files.clone().into(),
            ..BackendProfile::new(self.preset.name.clone(), self.capabilities())
        };
        let preset = self.preset.clone();
        let run = move |attempt| launch::run(preset.clone(), attempt);
        session::start(profile, spec, Arc::new(move |attempt| Box::pin(run(attempt))))
    }
}
