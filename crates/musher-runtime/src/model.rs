//! Agents that need no program of a vendor: a model over its API, our own loop, our own tools, our own sessions.
//!
//! The loop is the same for every vendor: write a request, read its stream, put the answer together, have its calls
//! approved and carried out, append their results, and ask again. A vendor brings a [`wire::Wire`] and a table of
//! prices.

mod agent;
mod call;
mod compact;
mod connection;
#[cfg(test)]
pub(crate) mod fuzz;
mod history;
mod inbox;
mod key;
mod mode;
pub(crate) mod refusal;
mod sse;
pub(crate) mod stop;
pub(crate) mod told;
pub(crate) mod wire;
mod work;

use std::path::Path;
use std::sync::Arc;

use musher_core::SessionId;

use crate::session::{self, BackendProfile};
use crate::{Capabilities, KeySource, Session, SessionSpec};

/// What can be known of a vendor's service without speaking to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelService {
    pub base_url: &'static str,
    /// The variable that names another base address.
    pub base_variable: &'static str,
    /// The variables that usually hold the key, the first one first.
    pub key_variables: &'static [&'static str],
    /// The wire formats, the usual one first.
    pub wires: &'static [&'static str],
}

/// What a vendor's service is to the loop.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) about: ModelService,
    /// Variables that no command of the agent gets to see.
    pub(crate) banned: &'static [&'static str],
    /// The model when none is named.
    pub(crate) model: &'static str,
    pub(crate) prices: &'static str,
    /// How each wire format is spoken.
    pub(crate) wires: &'static [(&'static str, MakeWire)],
}

/// Whether a session of a runtime that keeps its own is in this folder.
pub(crate) fn has_session(folder: &Path, session: &SessionId) -> bool {
    history::is_in(folder, session)
}

type MakeWire = fn() -> Box<dyn wire::Wire>;

/// Starts a session with a model of this service.
pub(crate) fn start(service: &'static Service, mut spec: SessionSpec) -> Session {
    let profile = BackendProfile {
        banned: service.banned,
        // No variables: the key is for us, and what the model runs does not need it. No files: our own loop reads none
        // unless the model asks for it.
        ..BackendProfile::new(service.name, Capabilities::ALL)
    };
    if spec.model_options.key.is_none() {
        let is_set =
            |name: &&&str| spec.environment.get(name).is_some_and(|value| !value.is_empty());
        let found = service.about.key_variables.iter().find(is_set);
        spec.model_options.key = found.map(|name| KeySource::Env((*name).to_owned()));
    }
    if spec.model_options.base_url.is_none() {
        let named =
            spec.environment.get(service.about.base_variable).and_then(|value| value.to_str());
        let named = named.map(str::trim).filter(|value| !value.is_empty());
        spec.model_options.base_url = named.map(str::to_owned);
    }
    session::start(profile, spec, Arc::new(move |attempt| Box::pin(agent::run(service, attempt))))
}
