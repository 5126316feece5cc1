//! The hosts that an agent spoke to, as a table.

use musher_client::api::{ApiHostTraffic, ApiNetwork, ApiTrafficFigures};

use super::table::{TextTable, Tone};

/// The hosts with their figures; nothing if none was spoken to.
pub(super) fn table(network: &ApiNetwork) -> Option<String> {
    if network.hosts.is_empty() {
        return None;
    }
    let heads = ["HOST", "CONNECTIONS", "REFUSED", "SENT", "RECEIVED", "ALLOWED BY"];
    let mut table = TextTable::new(&heads).right(&[1, 2, 3, 4]);
    for host in &network.hosts {
        let tone = match host.figures.connections {
            0 => Tone::Heed,
            _ => Tone::Good,
        };
        table.row(tone, cells(&host.host, host.figures, by(host)));
    }
    if let Some(others) = network.others {
        table.row(Tone::Quiet, cells("other hosts", others, String::new()));
    }
    Some(table.text())
}

fn cells(host: &str, figures: ApiTrafficFigures, by: String) -> [String; 6] {
    let ApiTrafficFigures { connections, refused, sent, received, .. } = figures;
    let number = |number: u64| number.to_string();
    [host.to_owned(), number(connections), number(refused), bytes(sent), bytes(received), by]
}

/// Who or what let a host through, or why not.
fn by(host: &ApiHostTraffic) -> String {
    let unreached = host.figures.failed > 0 && host.figures.connections == 0;
    let words = match (host.by.as_deref(), &host.rule) {
        (Some("hosts"), Some(rule)) => format!("hosts: {rule}"),
        (Some("hosts"), None) => "- (not among hosts)".to_owned(),
        (Some("rule"), _) => "a rule".to_owned(),
        (Some("person"), _) => "a person".to_owned(),
        (Some("waiting"), _) => "- (waits for you)".to_owned(),
        (Some("deadline"), _) => "the deadline".to_owned(),
        (Some("unattended"), _) => "- (nobody was there)".to_owned(),
        (Some("address"), _) => "- (no address of the internet)".to_owned(),
        (Some("upstream"), _) => "- (refused by the machine's proxy)".to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, _) => "-".to_owned(),
    };
    match unreached {
        true => format!("{words} (not reached)"),
        false => words,
    }
}

/// Bytes at a glance.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut scaled = count;
    let mut rest = 0;
    while scaled >= 1024 && unit + 1 < UNITS.len() {
        rest = scaled % 1024;
        scaled /= 1024;
        unit += 1;
    }
    match unit {
        0 => format!("{scaled} B"),
        _ => format!("{scaled}.{} {}", rest * 10 / 1024, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn hosts_are_told_with_their_figures_and_who_allowed_them() {
        let network: ApiNetwork = serde_json::from_value(serde_json::json!({
            "profile": "strict", "proxied": true,
            "hosts": [
                { "host": "api.example:443", "connections": 3, "refused": 0, "sent": 2048, "received": 5_242_880, "by": "hosts", "rule": "*.example" },
                { "host": "new.example:443", "connections": 0, "refused": 2, "sent": 0, "received": 0, "by": "waiting" },
            ],
            "others": { "connections": 1, "refused": 9, "sent": 1, "received": 1 },
        }))
        .unwrap();
        let text = plain(&table(&network).unwrap());
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1].join(" "), "api.example:443 3 0 2.0 KiB 5.0 MiB hosts: *.example");
        assert_eq!(lines[2].join(" "), "new.example:443 0 2 0 B 0 B - (waits for you)");
        assert_eq!(lines[3].join(" "), "other hosts 1 9 1 B 1 B");
        assert_eq!(table(&ApiNetwork::default()), None);
    }
}
