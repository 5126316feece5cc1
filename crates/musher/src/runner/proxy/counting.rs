//! Counts what passes between an agent and each host, and says it in the run's log: few events, however many connections there are.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use musher_core::{EventKind, HostTraffic, NetworkReport, TrafficFigures};
use musher_runtime::HostReports;
use musher_sandbox::Destination;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::verdict::HostVerdict;

/// So many hosts that were reached are told by name, and so many that were not: names that are refused must not push out those that
/// matter. The rest are told together, because an agent could think of a new name each time.
const MAX_NAMED_HOSTS: usize = 256;
/// So many hosts are told in one event, so that its line stays short.
const HOSTS_OF_EVENT: usize = 64;

/// The figures of one run, shared by its connections.
#[derive(Debug, Clone, Default)]
pub(super) struct TrafficCounts(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    hosts: BTreeMap<String, (HostTraffic, IsTold)>,
    others: (TrafficFigures, IsTold),
}

/// Whether the log has the figures as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IsTold(bool);

impl Default for IsTold {
    fn default() -> Self {
        Self(true)
    }
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    Made,
    Refused,
    Failed,
}

impl TrafficCounts {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection. `true` if that is worth telling at once: a named host is reached or refused for the first
    /// time.
    pub(super) fn connection(
        &self,
        to: &Destination,
        verdict: &HostVerdict,
        end: ConnectionEnd,
    ) -> bool {
        let mut counted = self.lock();
        let is_reached = end == ConnectionEnd::Made;
        if counted.has_room(is_reached) {
            counted.name(&to.to_string());
        }
        counted.change(&to.to_string(), |host, figures| {
            let count = match end {
                ConnectionEnd::Made => &mut figures.connections,
                ConnectionEnd::Refused => &mut figures.refused,
                ConnectionEnd::Failed => &mut figures.failed,
            };
            *count = count.saturating_add(1);
            let first = *count == 1;
            let Some(host) = host else { return false };
            let HostVerdict { by, rule, ask } = verdict.clone();
            (host.by, host.rule, host.ask) = (Some(by), rule, ask);
            first
        })
    }

    fn bytes(&self, to: &str, sent: usize, received: usize) {
        self.lock().change(to, |_, figures| {
            figures.sent = figures.sent.saturating_add(sent as u64);
            figures.received = figures.received.saturating_add(received as u64);
        });
    }
}

impl Counted {
    /// Whether one more host can be told by name.
    fn has_room(&self, is_reached: bool) -> bool {
        let like = |host: &HostTraffic| (host.figures.connections > 0) == is_reached;
        self.hosts.values().filter(|(host, _)| like(host)).count() < MAX_NAMED_HOSTS
    }

    fn name(&mut self, host: &str) {
        if !self.hosts.contains_key(host) {
            let fresh = HostTraffic { host: host.to_owned(), ..HostTraffic::default() };
            self.hosts.insert(host.to_owned(), (fresh, IsTold(true)));
        }
    }

    /// Changes the figures of a host, or of those that are not named.
    fn change<T>(
        &mut self,
        host: &str,
        change: impl FnOnce(Option<&mut HostTraffic>, &mut TrafficFigures) -> T,
    ) -> T {
        match self.hosts.get_mut(host) {
            Some((known, told)) => {
                *told = IsTold(false);
                let mut figures = known.figures;
                let done = change(Some(&mut *known), &mut figures);
                known.figures = figures;
                done
            }
            None => {
                self.others.1 = IsTold(false);
                change(None, &mut self.others.0)
            }
        }
    }
}

impl HostReports for TrafficCounts {
    fn take(&self) -> Vec<EventKind> {
        let mut counted = self.lock();
        let mut changed = Vec::new();
        for (host, told) in counted.hosts.values_mut() {
            if !std::mem::replace(told, IsTold(true)).0 {
                changed.push(host.clone());
            }
        }
        let (others, told) = &mut counted.others;
        let others = (!std::mem::replace(told, IsTold(true)).0).then_some(*others);
        let mut reports: Vec<NetworkReport> = changed
            .chunks(HOSTS_OF_EVENT)
            .map(|hosts| NetworkReport { hosts: hosts.to_vec(), others: None })
            .collect();
        match (reports.last_mut(), others) {
            (Some(last), others) => last.others = others,
            (None, Some(_)) => reports.push(NetworkReport { hosts: Vec::new(), others }),
            (None, None) => {}
        }
        reports.into_iter().map(|report| EventKind::Network(Box::new(report))).collect()
    }
}

/// A connection to a host whose bytes are counted as they pass.
#[derive(Debug)]
pub(super) struct CountedStream<S> {
    stream: S,
    host: String,
    counts: TrafficCounts,
}

impl<S> CountedStream<S> {
    pub(super) fn new(stream: S, to: &Destination, counts: TrafficCounts) -> Self {
        Self { stream, host: to.to_string(), counts }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let more = buffer.filled().len() - before;
        if more > 0 {
            self.counts.bytes(&self.host, 0, more);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = &written {
            self.counts.bytes(&self.host, *written, 0);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use musher_core::HostDecider;

    use super::*;

    fn host(name: &str) -> Destination {
        Destination::new(name, 443).unwrap()
    }

    fn told(counts: &TrafficCounts) -> (Vec<HostTraffic>, Option<TrafficFigures>) {
        let (mut hosts, mut others) = (Vec::new(), None);
        for kind in counts.take() {
            let EventKind::Network(report) = kind else { panic!("{kind:?}") };
            assert!(report.hosts.len() <= HOSTS_OF_EVENT);
            hosts.extend(report.hosts);
            others = others.or(report.others);
        }
        (hosts, others)
    }

    #[test]
    fn ten_thousand_connections_are_a_few_events_and_only_what_changed_is_told_again() {
        let counts = TrafficCounts::default();
        let allowed = HostVerdict::of(HostDecider::Hosts);
        let at_once = |name: &str| counts.connection(&host(name), &allowed, ConnectionEnd::Made);
        assert!(at_once("a.example"), "the first is told at once");
        assert!((0..10_000).all(|_| !at_once("a.example")), "and no other");
        counts.bytes("a.example:443", 5, 7);
        let (hosts, others) = told(&counts);
        assert_eq!((hosts.len(), others), (1, None));
        let figures = hosts[0].figures;
        assert_eq!((figures.connections, figures.sent, figures.received), (10_001, 5, 7));
        assert!(counts.take().is_empty(), "nothing has changed since");
        assert!(counts.connection(&host("a.example"), &allowed, ConnectionEnd::Refused));
        assert_eq!(told(&counts).0[0].figures.refused, 1);
    }

    #[test]
    fn hosts_beyond_the_bound_are_told_together_and_hide_none_that_is_reached() {
        let counts = TrafficCounts::default();
        let refused = HostVerdict::of(HostDecider::Hosts);
        for number in 0..1_000 {
            let name = format!("h{number}.example");
            counts.connection(&host(&name), &refused, ConnectionEnd::Refused);
        }
        let reached = host("reached.example");
        let allowed = HostVerdict::of(HostDecider::Person);
        assert!(counts.connection(&reached, &allowed, ConnectionEnd::Made));
        counts.bytes("reached.example:443", 3, 4);
        let (hosts, others) = told(&counts);
        assert_eq!(hosts.len(), MAX_NAMED_HOSTS + 1);
        assert_eq!(others.unwrap().refused, 1_000 - MAX_NAMED_HOSTS as u64);
        let told = hosts.iter().find(|told| told.host == reached.to_string()).unwrap();
        assert_eq!((told.figures.sent, told.figures.received), (3, 4), "names do not hide it");
    }
}
