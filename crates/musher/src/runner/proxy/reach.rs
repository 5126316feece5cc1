//! The way to a host: through the proxy of this machine, or directly to an address that was checked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use musher_sandbox::{Destination, is_public, stands_for};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::{CONNECT_TIMEOUT, NotConnected};

/// How long a name may take to be looked up where the proxy of this machine can do without.
const SIDE_LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to a host itself. The name is looked up once, and what was checked is what is connected to.
pub(super) async fn directly(to: &Destination) -> Result<TcpStream, NotConnected> {
    let unreachable = |error| NotConnected::Unreachable(to.clone(), error);
    let addresses: Vec<SocketAddr> = match to {
        // Only a rule that names an address in full allows one.
        Destination::Address(address) => vec![*address],
        Destination::Name(..) => {
            let found = lookup(to, CONNECT_TIMEOUT).await.map_err(unreachable)?;
            outward(found, is_own_address)
        }
    };
    if addresses.is_empty() {
        return Err(NotConnected::Inward(to.clone()));
    }
    let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(&*addresses)).await;
    connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(unreachable)
}

/// Refuses a host that the proxy of this machine must not be sent to, as far as that can be known here: which address it will connect to
/// is its own affair. A name that cannot be looked up here is left to it.
pub(super) async fn may_pass_upstream(to: &Destination) -> Result<(), NotConnected> {
    if let Ok(found) = lookup(to, SIDE_LOOKUP_TIMEOUT).await {
        let all = found.len();
        if outward(found, is_own_address).len() < all {
            return Err(NotConnected::Inward(to.clone()));
        }
    }
    Ok(())
}

/// Whether a destination is an address that only this machine and its neighbours know, so that no other machine may be asked for it.
pub(super) fn is_near(to: &Destination) -> bool {
    match to {
        Destination::Address(address) => outward(vec![*address], is_own_address).is_empty(),
        Destination::Name(..) => false,
    }
}

async fn lookup(to: &Destination, within: Duration) -> io::Result<Vec<SocketAddr>> {
    match to {
        Destination::Address(address) => Ok(vec![*address]),
        Destination::Name(name, port) => {
            let found = timeout(within, lookup_host((name.as_str(), *port))).await;
            Ok(found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?.collect())
        }
    }
}

/// Those addresses that are of the internet and not this machine's own. The owner of a name could point it at this machine.
fn outward(found: Vec<SocketAddr>, is_own: impl Fn(IpAddr) -> bool) -> Vec<SocketAddr> {
    let goes_out = |address: &SocketAddr| {
        let ip = address.ip();
        is_public(ip) && !is_own(ip) && !is_own(stands_for(ip))
    };
    found.into_iter().filter(goes_out).collect()
}

/// Whether an address is one of this machine's own: only to those can a socket be bound. Asked anew each time, because they change.
fn is_own_address(address: IpAddr) -> bool {
    let can_bind = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    // An address of documentation is nobody's. Where a socket can be bound to it, sockets can be bound to anything.
    let (any, nobodys): (IpAddr, IpAddr) = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(_) => {
            let nobodys = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
            (Ipv6Addr::UNSPECIFIED.into(), nobodys.into())
        }
    };
    if !can_bind(address) {
        return false;
    }
    if !can_bind(nobodys) {
        return true;
    }
    // What goes to an own address comes from it. Nothing is sent by this.
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_for_a_public_address_of_this_machine_is_not_followed() {
        let own: Vec<IpAddr> = ["203.0.114.7", "2606:4700::7"].map(|ip| ip.parse().unwrap()).into();
        let kept = |ips: &[&str]| -> Vec<String> {
            let found = ips.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 443)).collect();
            let kept = outward(found, |ip| own.contains(&ip));
            kept.iter().map(|address| address.ip().to_string()).collect()
        };
        for ip in ["203.0.114.7", "::ffff:203.0.114.7", "64:ff9b::cb00:7207", "2606:4700::7"] {
            assert!(kept(&[ip]).is_empty(), "{ip}");
        }
        assert_eq!(kept(&["203.0.114.7", "203.0.114.8", "10.0.0.1"]), ["203.0.114.8"]);
    }

    #[test]
    fn the_addresses_of_this_machine_are_known_and_those_of_others_are_not_taken_for_them() {
        assert!(is_own_address(Ipv4Addr::LOCALHOST.into()));
        for other in ["1.1.1.1", "8.8.8.8", "2606:4700::1111"] {
            assert!(!is_own_address(other.parse().unwrap()), "{other}");
        }
    }

    #[tokio::test]
    async fn a_name_that_stands_for_this_machine_is_not_sent_to_a_proxy_either() {
        let localhost = Destination::new("localhost", 443).unwrap();
        assert!(matches!(may_pass_upstream(&localhost).await, Err(NotConnected::Inward(_))));
        let unknown = Destination::new("host.invalid", 443).unwrap();
        assert!(may_pass_upstream(&unknown).await.is_ok());
        assert!(is_near(&Destination::new("10.0.0.1", 443).unwrap()));
    }
}
