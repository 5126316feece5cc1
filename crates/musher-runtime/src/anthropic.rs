//! The `anthropic` runtime: models of Anthropic, and whatever else speaks its Messages format.

mod messages;

use crate::model::{Service, start};
use crate::{Capabilities, Runtime, Session, SessionSpec};

/// What this runtime is for: the vendor's service, reached without a program of the vendor.
pub(crate) const SERVICE: Service = Service {
    name: "anthropic",
    base_url: "https://api.anthropic.com",
    base_variable: "ANTHROPIC_BASE_URL",
    key_variables: &["ANTHROPIC_API_KEY"],
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

    fn start(&self, spec: SessionSpec) -> Session {
        start(&SERVICE, spec)
    }
}
