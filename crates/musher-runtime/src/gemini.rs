//! The `gemini` runtime: models of Google over the Gemini API.

mod generate;
mod words;

use std::path::Path;

use musher_core::SessionId;

use crate::model::{self, Service, start};
use crate::{Capabilities, ModelService, ProjectFile, Runtime, Session, SessionSpec};

/// What can be known of the service without speaking to it.
pub const ABOUT: ModelService = ModelService {
    base_url: "https://generativelanguage.googleapis.com",
    base_variable: "GOOGLE_GEMINI_BASE_URL",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    wires: &["generate"],
};

/// What this runtime is for.
pub(crate) const SERVICE: Service = Service {
    name: "gemini",
    about: ABOUT,
    banned: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    model: "gemini-3.1-pro-preview",
    prices: include_str!("gemini/prices.toml"),
    wires: &[("generate", || Box::new(generate::Generate::default()))],
};

/// Models of Google over the Gemini API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini {}

impl Runtime for Gemini {
    fn name(&self) -> &'static str {
        SERVICE.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    /// The loop is our own, and takes nothing from its folder by itself.
    fn project_files(&self) -> &'static [ProjectFile] {
        &[]
    }

    fn has_session(&self, folder: &Path, session: &SessionId) -> bool {
        model::has_session(folder, session)
    }

    fn start(&self, spec: SessionSpec) -> Session {
        start(&SERVICE, spec)
    }
}

#[cfg(test)]
mod tests {
    use super::SERVICE;
    use crate::model::fuzz;

    #[test]
    fn the_table_of_prices_is_sound_and_knows_the_usual_model() {
        fuzz::prices_are_sound(&SERVICE);
    }

    #[test]
    fn no_bytes_break_a_reader() {
        fuzz::no_bytes_break_a_reader(&SERVICE);
    }

    #[test]
    fn no_frame_breaks_a_reader() {
        fuzz::no_frame_breaks_a_reader(&SERVICE, WORDS);
    }

    #[test]
    fn every_history_can_be_told_in_every_format() {
        fuzz::every_history_can_be_told(&SERVICE);
    }

    const WORDS: &[&str] = &[
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "name",
        "args",
        "id",
        "finishReason",
        "STOP",
        "usageMetadata",
        "promptTokenCount",
        "error",
        "details",
        "retryDelay",
        "17s",
        "promptFeedback",
        "blockReason",
        "status",
        "message",
        "modelVersion",
        "executableCode",
    ];
}
