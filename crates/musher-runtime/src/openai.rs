//! The `openai` runtime: models of OpenAI, and every server that speaks one of its formats.

mod chat;
mod refusal;
mod responses;
mod words;

use std::path::Path;

use musher_core::SessionId;

use crate::model::{self, Service, start};
use crate::{Capabilities, ModelService, ProjectFile, Runtime, Session, SessionSpec};

/// What can be known of the service without speaking to it.
pub const ABOUT: ModelService = ModelService {
    base_url: "https://api.openai.com/v1",
    base_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    wires: &["responses", "chat"],
};

/// What this runtime is for. The format is `responses`; local servers mostly speak `chat`.
pub(crate) const SERVICE: Service = Service {
    name: "openai",
    about: ABOUT,
    banned: &["OPENAI_API_KEY"],
    model: "gpt-5.5",
    prices: include_str!("openai/prices.toml"),
    wires: &[
        ("responses", || Box::new(responses::Responses::default())),
        ("chat", || Box::new(chat::Chat::default())),
    ],
};

/// Models of OpenAI, or of whoever serves one of its formats.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAi {}

impl Runtime for OpenAi {
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
        "response.output_item.done",
        "response.output_item.added",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "error",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_part.added",
        "type",
        "item",
        "output",
        "output_index",
        "content",
        "summary",
        "text",
        "delta",
        "call_id",
        "arguments",
        "usage",
        "response",
        "function_call",
        "message",
        "reasoning",
        "input_tokens",
        "input_tokens_details",
        "cached_tokens",
        "choices",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "finish_reason",
        "reasoning_content",
        "<think>",
        "</think>",
        "object",
        "code",
        "incomplete_details",
        "reason",
        "max_output_tokens",
    ];
}
