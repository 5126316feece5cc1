//! The network of a run as the API tells it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What passed through the proxy of a run's sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Network)]
pub struct ApiNetwork {
    /// The profile of the run's sandbox: `off`, `workspace` or `strict`; absent before the run has begun.
    pub profile: Option<String>,
    /// Whether the agent's connections go through a proxy, so that they can be counted.
    #[schema(required)]
    pub proxied: bool,
    /// By host, in the order in which they were first spoken to.
    #[schema(required)]
    pub hosts: Vec<ApiHostTraffic>,
    /// All hosts together that came after so many others that they are not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<ApiTrafficFigures>,
}

/// What passed between an agent and one host, since the run began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = HostTraffic)]
pub struct ApiHostTraffic {
    /// Its name or address, with the port.
    #[schema(required)]
    pub host: String,
    #[serde(flatten)]
    pub figures: ApiTrafficFigures,
    /// Who or what let it through or refused it last: `hosts`, `rule`, `person`, `waiting`, `deadline`, `unattended`, `address`,
    /// `upstream`. A newer server may know more words.
    pub by: Option<String>,
    /// The entry of `hosts` that allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The ask about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
}

/// Connections and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = TrafficFigures)]
pub struct ApiTrafficFigures {
    /// Connections that were made.
    #[schema(required)]
    pub connections: u64,
    /// Connections that were refused.
    #[schema(required)]
    pub refused: u64,
    /// Connections that were allowed and failed.
    #[schema(required)]
    pub failed: u64,
    /// Bytes from the agent to the host.
    #[schema(required)]
    pub sent: u64,
    /// Bytes from the host to the agent.
    #[schema(required)]
    pub received: u64,
}
