//! What passed between an agent and the hosts that it spoke to. It is made with the outline of the run, from the same reading of the log.

use std::collections::BTreeMap;

use musher_client::api::{ApiHostTraffic, ApiNetwork, ApiTrafficFigures, word};
use musher_core::{HostTraffic, NetworkReport, TrafficFigures};
use musher_sandbox::SandboxNetwork;

use crate::runner::spec::RunSpec;

/// A runner names fewer; a log that says otherwise is not followed without bound.
const MAX_FOLDED_HOSTS: usize = 1_000;

/// The figures of a run, report by report.
#[derive(Debug, Default)]
pub(super) struct NetworkFold {
    hosts: Vec<HostTraffic>,
    places: BTreeMap<String, usize>,
    others: Option<TrafficFigures>,
}

impl NetworkFold {
    /// The last word about a host counts.
    pub(super) fn take(&mut self, report: NetworkReport) {
        let NetworkReport { hosts, others } = report;
        for host in hosts {
            match self.places.get(&host.host) {
                Some(&at) => self.hosts[at] = host,
                None if self.hosts.len() < MAX_FOLDED_HOSTS => {
                    self.places.insert(host.host.clone(), self.hosts.len());
                    self.hosts.push(host);
                }
                None => {}
            }
        }
        self.others = others.or(self.others);
    }

    pub(super) fn network(&self, spec: Option<&RunSpec>) -> ApiNetwork {
        let host = |host: &HostTraffic| ApiHostTraffic {
            host: host.host.clone(),
            figures: figures(host.figures),
            by: host.by.as_ref().map(word),
            rule: host.rule.clone(),
            ask: host.ask.as_ref().map(ToString::to_string),
        };
        ApiNetwork {
            hosts: self.hosts.iter().map(host).collect(),
            others: self.others.map(figures),
            ..of_spec(spec)
        }
    }
}

/// What is known before anything was counted.
fn of_spec(spec: Option<&RunSpec>) -> ApiNetwork {
    let Some(spec) = spec else { return ApiNetwork::default() };
    let (profile, proxied) = match spec.sandbox.as_ref().map(|sandbox| sandbox.network) {
        None => ("off", false),
        Some(SandboxNetwork::Host) => ("workspace", false),
        Some(SandboxNetwork::None) => ("strict", false),
        Some(SandboxNetwork::Proxy) => ("strict", true),
    };
    ApiNetwork { profile: Some(profile.to_owned()), proxied, ..ApiNetwork::default() }
}

fn figures(figures: TrafficFigures) -> ApiTrafficFigures {
    let TrafficFigures { connections, refused, failed, sent, received } = figures;
    ApiTrafficFigures { connections, refused, failed, sent, received }
}
