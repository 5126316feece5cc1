//! The `openai` runtime: models of OpenAI, and every server that speaks one of its formats.

mod chat;
mod refusal;
mod responses;

use crate::model::{Service, start};
use crate::{Capabilities, Runtime, Session, SessionSpec};

/// What this runtime is for. The format is `responses`; local servers mostly speak `chat`.
pub(crate) const SERVICE: Service = Service {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    base_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
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

    fn start(&self, spec: SessionSpec) -> Session {
        start(&SERVICE, spec)
    }
}
