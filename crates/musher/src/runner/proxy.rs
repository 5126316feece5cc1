//! The one way out of a sandbox with a network of its own: a proxy that lets through what is allowed and asks about the rest.

mod counting;
mod http;
mod reach;
mod socks;
mod upstream;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use musher_core::HostDecider;
use musher_runtime::{HostReports, SessionHandle};
use musher_sandbox::{BadHost, Destination};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::folder;
use super::tools::OwnTools;
use counting::{ConnectionEnd, CountedStream, TrafficCounts};
pub(super) use upstream::BadUpstream;
pub(crate) use upstream::Upstreams;
use upstream::{Upstream, UpstreamError, Wanted};
use verdict::{Admission, HostJudge, HostVerdict};

/// How long a host may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a program may take to say where it wants to go.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// So many connections of one run are carried at once.
const MAX_CONNECTIONS: usize = 256;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(33);
/// How often figures that have changed are told in a turn that is long.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Why a connection is not made.
#[derive(Debug, thiserror::Error)]
enum NotConnected {
    #[error(transparent)]
    Bad(#[from] BadHost),
    #[error(
        "{0} is not among the hosts of this sandbox, and was refused; add it to `hosts` of [sandbox], or do without it"
    )]
    Refused(Destination),
    #[error(
        "{0} is a new host: a person was asked about it. Try again in a while, or do without it"
    )]
    Asked(Destination),
    #[error("{0} stands for no address of the internet, so it was refused")]
    Inward(Destination),
    #[error("{0} cannot be reached: {1}")]
    Unreachable(Destination, std::io::Error),
    #[error("{0} cannot be reached through the proxy {1} of this machine: {2}")]
    Upstream(Destination, Upstream, UpstreamError),
}

impl NotConnected {
    /// Who or what is the cause, where it is not what was decided about the host; and whether it was refused or failed.
    fn cause(&self) -> (Option<HostDecider>, ConnectionEnd) {
        match self {
            Self::Bad(_) | Self::Refused(_) | Self::Asked(_) => (None, ConnectionEnd::Refused),
            Self::Inward(_) => (Some(HostDecider::Address), ConnectionEnd::Refused),
            Self::Upstream(_, _, error) if error.is_refusal() => {
                (Some(HostDecider::Upstream), ConnectionEnd::Refused)
            }
            Self::Unreachable(..) | Self::Upstream(..) => (None, ConnectionEnd::Failed),
        }
    }
}

/// What the proxy of a run is made of before there is a session.
#[derive(Debug, Clone)]
pub(super) struct ProxyPlan {
    counts: TrafficCounts,
    upstreams: Upstreams,
}

impl ProxyPlan {
    pub(super) fn new(upstreams: Upstreams) -> Self {
        Self { counts: TrafficCounts::default(), upstreams }
    }

    /// Says in the run's log what was counted.
    pub(super) fn reports(&self) -> Arc<dyn HostReports> {
        Arc::new(self.counts.clone())
    }
}

/// The proxy of one run.
#[derive(Debug, Clone)]
pub(super) struct Proxy(Arc<ProxyState>);

#[derive(Debug)]
struct ProxyState {
    judge: HostJudge,
    plan: ProxyPlan,
    session: SessionHandle,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
}

/// A connection to a host, counted.
type FarStream = CountedStream<Box<dyn Carried>>;

/// Whatever bytes go through.
trait Carried: AsyncRead + AsyncWrite + std::fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + std::fmt::Debug + Send + Unpin> Carried for S {}

/// A host that was reached.
#[derive(Debug)]
struct Reached {
    stream: FarStream,
    /// The proxy of this machine that has to be told where a plain request goes.
    upstream: Option<Upstream>,
    /// What was checked. Nothing else is said to be the host.
    to: Destination,
}

impl Proxy {
    pub(super) fn new(
        plan: ProxyPlan,
        hosts: &[String],
        session: SessionHandle,
        tasks: TaskTracker,
    ) -> Self {
        let judge = HostJudge::new(hosts, session.clone(), tasks.clone());
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self(Arc::new(ProxyState { judge, plan, session, places, tasks }))
    }

    /// Tells figures of a long turn now and then, until the run is over.
    pub(super) async fn report(self, over: OwnTools) {
        while over.until_closed(tokio::time::sleep(REPORT_INTERVAL)).await.is_some() {
            // A session that has ended has told everything.
            let _ended = self.0.session.report().await;
        }
    }

    /// Serves connections from inside of the sandbox until the run is over.
    pub(super) async fn serve(self, listener: UnixListener, speaks: Protocol, over: OwnTools) {
        let mut attempt = 0_u32;
        while let Some(accepted) = over.until_closed(listener.accept()).await {
            let stream = match accepted {
                Ok((stream, _)) if folder::is_trusted(&stream) => stream,
                Ok(_) => continue,
                Err(error) => {
                    attempt += 1;
                    if attempt.is_power_of_two() {
                        warn!(attempt, cause = %error, "no connection of the proxy can be taken, trying again");
                    }
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let Some(Ok(place)) = over.until_closed(self.0.places.clone().acquire_owned()).await
            else {
                return;
            };
            let (proxy, over) = (self.clone(), over.clone());
            self.0.tasks.spawn(async move {
                // A tunnel goes on when its request is answered, and keeps the place.
                let place = ProxyPlace { _place: Arc::new(place), over: over.clone() };
                let carried = match speaks {
                    Protocol::Http => over.until_closed(http::serve(stream, &proxy, &place)).await,
                    Protocol::Socks => over.until_closed(socks::serve(stream, &proxy)).await,
                };
                if let Some(Err(error)) = carried {
                    debug!(cause = %error, "connection of the proxy ended");
                }
            });
        }
    }

    /// Connects to a host, if that is allowed, and counts what became of it.
    async fn connect(
        &self,
        host: &str,
        port: u16,
        wanted: Wanted,
    ) -> Result<Reached, NotConnected> {
        let to = Destination::new(host, port)?;
        let (verdict, reached) = match self.0.judge.admit(&to).await {
            Admission::Allowed(verdict) => (verdict, self.reach(&to, wanted).await),
            Admission::Refused(verdict) => (verdict, Err(NotConnected::Refused(to.clone()))),
            Admission::Asked(verdict) => (verdict, Err(NotConnected::Asked(to.clone()))),
        };
        match &reached {
            Ok(_) => self.count(&to, &verdict, ConnectionEnd::Made),
            Err(why) => {
                let (by, end) = why.cause();
                let verdict = HostVerdict { by: by.unwrap_or(verdict.by), ..verdict };
                self.count(&to, &verdict, end);
            }
        }
        reached
    }

    async fn reach(&self, to: &Destination, wanted: Wanted) -> Result<Reached, NotConnected> {
        let upstream = match reach::is_near(to) {
            true => None,
            false => self.0.plan.upstreams.to(to, wanted),
        };
        let stream: Box<dyn Carried> = match &upstream {
            None => Box::new(reach::directly(to).await?),
            Some(upstream) => {
                reach::may_pass_upstream(to).await?;
                let failed = |error| NotConnected::Upstream(to.clone(), upstream.clone(), error);
                match wanted {
                    Wanted::Tunnel => Box::new(upstream.tunnel(to).await.map_err(failed)?),
                    Wanted::Request => Box::new(upstream.open().await.map_err(failed)?),
                }
            }
        };
        let stream = CountedStream::new(stream, to, self.0.plan.counts.clone());
        Ok(Reached { stream, upstream, to: to.clone() })
    }

    fn count(&self, to: &Destination, verdict: &HostVerdict, end: ConnectionEnd) {
        if self.0.plan.counts.connection(to, verdict, end) {
            let session = self.0.session.clone();
            // The connection does not wait for the log. A session that has ended has told everything.
            self.0.tasks.spawn(async move { session.report().await });
        }
    }
}

/// The place of a connection among those that are carried at once.
#[derive(Debug, Clone)]
struct ProxyPlace {
    _place: Arc<OwnedSemaphorePermit>,
    over: OwnTools,
}

/// What a client of the proxy speaks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    Http,
    Socks,
}
