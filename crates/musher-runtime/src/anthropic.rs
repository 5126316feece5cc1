//! The `anthropic` runtime: models of Anthropic, and whatever else speaks its Messages format.

mod messages;
mod usage;

use std::path::Path;

use musher_core::SessionId;

use crate::model::{self, Service, start};
use crate::{Capabilities, ModelService, ProjectFile, Runtime, Session, SessionSpec};

/// What can be known of the service without speaking to it.
pub const ABOUT: ModelService = ModelService {
    base_url: "https://api.anthropic.com",
    base_variable: "ANTHROPIC_BASE_URL",
    key_variables: &["ANTHROPIC_API_KEY"],
    wires: &["messages"],
};

/// What this runtime is for: the vendor's service, reached without a program of the vendor.
pub(crate) const SERVICE: Service = Service {
    name: "anthropic",
    about: ABOUT,
    banned: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    model: "claude-sonnet-5-5",
    prices: include_str!("anthropic/prices.toml"),
    wires: &[("messages", || Box::new(messages::Messages::default()))],
};

/// Models of Anthropic over their own API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic {}

impl Runtime for Anthropic {
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
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "message",
        "type",
        "index",
        "content_block",
        "delta",
        "text",
        "text_delta",
        "input_json_delta",
        "partial_json",
        "thinking",
        "thinking_delta",
        "signature_delta",
        "signature",
        "tool_use",
        "id",
        "name",
        "input",
        "usage",
        "input_tokens",
        "cache_creation",
        "stop_reason",
        "content",
        "citations_delta",
    ];
}
