//! Which hosts a program may speak to: names that are read once, and rules about them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The port of a rule that names none.
const USUAL_PORT: u16 = 443;
/// No name is longer, and no part of one.
const MAX_NAME_LEN: usize = 253;
const MAX_LABEL_LEN: usize = 63;

/// The name of a host, in the one form in which names are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

/// Where a program wants to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    Name(HostName, u16),
    Address(SocketAddr),
}

/// A rule that lets a program reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: RuleHost,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleHost {
    Exact(HostName),
    /// All names below this one, and not this one itself.
    Below(HostName),
    Address(IpAddr),
}

/// What is no name of a host, or no rule about one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", .text.escape_debug())]
pub struct BadHost {
    text: String,
    why: &'static str,
}

impl BadHost {
    fn new(text: &str, why: &'static str) -> Self {
        Self { text: text.chars().take(80).collect(), why }
    }
}

impl FromStr for HostName {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let label = |label: &str| {
            !label.is_empty() && label.len() <= MAX_LABEL_LEN && label.bytes().all(plain)
        };
        if name.len() > MAX_NAME_LEN || !name.split('.').all(label) {
            return Err(BadHost::new(text, "is not the name of a host"));
        }
        // `127.1`, `2130706433` and `0x7f000001` are addresses to the system.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(BadHost::new(text, "is an address, which must be written in full"));
        }
        Ok(Self(name))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_below(&self, other: &Self) -> bool {
        self.0.strip_suffix(&other.0).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl Destination {
    /// Reads a host and a port as a program names them.
    pub fn new(host: &str, port: u16) -> Result<Self, BadHost> {
        if port == 0 {
            return Err(BadHost::new(host, "has no port"));
        }
        match address(host) {
            Some(address) => Ok(Self::Address(SocketAddr::new(address, port))),
            None => Ok(Self::Name(host.parse()?, port)),
        }
    }

    /// As it is shown to a person, and compared with rules about addresses of the web.
    pub fn url(&self) -> String {
        match self {
            Self::Name(name, 443) => format!("https://{name}/"),
            Self::Name(name, 80) => format!("http://{name}/"),
            Self::Name(name, port) => format!("https://{name}:{port}/"),
            Self::Address(address) => format!("https://{address}/"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// An address in full, with or without brackets, and nothing that only looks like one.
fn address(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<IpAddr>().ok(),
    }
}

impl FromStr for HostRule {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let bad_port = || BadHost::new(text, "has a port that cannot be read");
        let (host, port) = match text.rsplit_once(':') {
            // Colons without brackets are an address of the sixth version.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, USUAL_PORT),
            Some((host, port)) => {
                let port: u16 = port.parse().map_err(|_| bad_port())?;
                (host, Some(port).filter(|port| *port > 0).ok_or_else(bad_port)?)
            }
            None => (text, USUAL_PORT),
        };
        let host = match (host.strip_prefix("*."), address(host)) {
            (Some(rest), _) => RuleHost::Below(rest.parse()?),
            (None, Some(address)) => RuleHost::Address(address),
            (None, None) => RuleHost::Exact(host.parse()?),
        };
        Ok(Self { host, port })
    }
}

impl HostRule {
    /// Whether it lets a program connect there.
    pub fn allows(&self, destination: &Destination) -> bool {
        match (&self.host, destination) {
            (RuleHost::Exact(rule), Destination::Name(name, port)) => {
                rule == name && self.port == *port
            }
            (RuleHost::Below(rule), Destination::Name(name, port)) => {
                name.is_below(rule) && self.port == *port
            }
            (RuleHost::Address(rule), Destination::Address(address)) => {
                *rule == address.ip() && self.port == address.port()
            }
            (RuleHost::Exact(_) | RuleHost::Below(_), Destination::Address(_))
            | (RuleHost::Address(_), Destination::Name(..)) => false,
        }
    }
}

/// Whether an address that a name resolves to is public. The owner of a name could point it at this machine, or at one of its
/// neighbours.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => is_public_v4(v4),
            None => {
                let first = v6.segments()[0];
                let unique_local = first & 0xfe00 == 0xfc00;
                // Those of one link, and of one site as it was called once.
                let link_local = first & 0xff80 == 0xfe80;
                let documentation = first == 0x2001 && v6.segments()[1] == 0x0db8;
                !(v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_multicast()
                    || unique_local
                    || link_local
                    || documentation)
            }
        },
    }
}

/// The address that is reached by another: an older one that stands in one of the sixth version, or itself.
pub fn stands_for(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => embedded(v6).map_or(address, IpAddr::V4),
    }
}

/// The older address that one of the sixth version stands for: mapped, compatible, translated or tunnelled.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = v6.segments();
    let of = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0 | 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, d] = v4.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (b == 18 || b == 19);
    let reserved = a == 0 || a >= 240 || [a, b, c] == [192, 0, 0];
    // Where a cloud answers its own machines.
    let wire_server = [a, b, c, d] == [168, 63, 129, 16];
    !(v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_documentation()
        || shared
        || benchmark
        || reserved
        || wire_server)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, host: &str, port: u16) -> bool {
        let rule: HostRule = rule.parse().unwrap();
        Destination::new(host, port).is_ok_and(|destination| rule.allows(&destination))
    }

    #[test]
    fn a_rule_means_one_name_or_the_names_below_one_and_one_port() {
        assert!(allows("api.example.com", "API.example.com.", 443));
        assert!(allows("*.example.com", "a.b.example.com", 443));
        assert!(allows("db.example.com:5432", "db.example.com", 5432));
        assert!(allows("127.0.0.2:80", "127.0.0.2", 80));
        assert!(allows("[2001:4860::1]:80", "[2001:4860::1]", 80));
        for (rule, host, port) in [
            ("api.example.com", "api.example.com", 80),
            ("*.example.com", "example.com", 443),
            ("*.example.com", "evilexample.com", 443),
            ("example.com", "a.example.com", 443),
            ("example.com", "example.com.evil.org", 443),
            ("db.example.com:5432", "db.example.com", 443),
            ("127.0.0.2:80", "127.0.0.3", 80),
        ] {
            assert!(!allows(rule, host, port), "{rule} {host} {port}");
        }
    }

    #[test]
    fn what_only_looks_like_a_name_is_refused() {
        for host in [
            "",
            ".",
            "a..b",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "example.com\0.evil.org",
            "user@example.com",
            "example.com%00",
            "fe80::1%eth0",
            "[fe80::1%25eth0]",
            "a b",
            "ex\u{e4}mple.com",
            "*.example.com",
            "example.com/",
            "-.1",
        ] {
            assert!(Destination::new(host, 443).is_err(), "{host:?}");
        }
        assert!(Destination::new("example.com", 0).is_err());
    }

    #[test]
    fn rules_that_would_mean_everything_or_nothing_are_refused() {
        for rule in
            ["*", "*.", "", "example.com:0", "example.com:x", "https://example.com", "*.*.com"]
        {
            assert!(rule.parse::<HostRule>().is_err(), "{rule}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_of_its_neighbours_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fec0::1",
            "64:ff9b:1::a00:1",
            "::127.0.0.1",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
