//! What passed between an agent and the hosts that it spoke to, as far as a proxy of its host could count it.

use serde::{Deserialize, Serialize};

use crate::AskId;

/// Figures of hosts, each since the run began. A later report of a host replaces the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkReport {
    /// Those that have changed.
    pub hosts: Vec<HostTraffic>,
    /// All hosts together that came after so many others that they are not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<TrafficFigures>,
}

/// What passed between an agent and one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostTraffic {
    /// Its name or address, with the port.
    pub host: String,
    #[serde(flatten)]
    pub figures: TrafficFigures,
    /// Who or what let it through or refused it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<HostDecider>,
    /// The rule among the hosts of the sandbox that allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The ask about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
}

/// Connections and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficFigures {
    /// Connections that were made.
    pub connections: u64,
    /// Connections that were refused, by a rule, a person, or because nobody answered.
    pub refused: u64,
    /// Connections that were allowed and failed: the host could not be reached.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Bytes from the agent to the host.
    pub sent: u64,
    /// Bytes from the host to the agent.
    pub received: u64,
}

/// Who or what decides about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostDecider {
    /// The hosts of the sandbox, or that they do not name it and nobody can be asked.
    Hosts,
    /// A tool rule or a saved permission.
    Rule,
    /// A person.
    Person,
    /// A person was asked and has not answered yet.
    Waiting,
    /// The deadline of the ask.
    Deadline,
    /// Nobody is there to answer.
    Unattended,
    /// It stands for no address of the internet.
    Address,
    /// The proxy through which this machine reaches the internet.
    Upstream,
    /// A newer Musher knows.
    #[serde(other)]
    Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl TrafficFigures {
    /// Adds what another host had.
    pub fn add(&mut self, other: Self) {
        let Self { connections, refused, failed, sent, received } = other;
        self.connections = self.connections.saturating_add(connections);
        self.refused = self.refused.saturating_add(refused);
        self.failed = self.failed.saturating_add(failed);
        self.sent = self.sent.saturating_add(sent);
        self.received = self.received.saturating_add(received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;

    #[test]
    fn a_report_is_one_flat_object_for_each_host_and_survives_words_of_a_newer_musher() {
        let line = r#"{"type":"network","hosts":[{"host":"a.example:443","connections":2,"refused":0,"sent":10,"received":20,"by":"hosts","rule":"*.example"}],"others":{"connections":1,"refused":3,"sent":0,"received":0}}"#;
        let kind: EventKind = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&kind).unwrap(), line);
        let newer = r#"{"type":"network","hosts":[{"host":"a:1","by":"planet","new":1}]}"#;
        let EventKind::Network(report) = serde_json::from_str(newer).unwrap() else { panic!() };
        assert_eq!(report.hosts[0].by, Some(HostDecider::Unknown));
    }
}
