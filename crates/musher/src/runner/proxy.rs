//! The one way out of a sandbox with a network of its own: a proxy that lets through what is allowed and asks about the rest.

mod http;
mod socks;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_core::{Answer, Approval, Ask, ToolKind};
use musher_runtime::{HostAsk, SessionHandle};
use musher_sandbox::{BadHost, Destination, HostRule, is_public};
use serde_json::json;
use tokio::net::{TcpStream, UnixListener, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::folder;
use super::tools::OwnTools;

/// How long a connection is held while a person thinks; most programs wait a little longer than that.
const ASK_HOLD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a host may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a program may take to say where it wants to go.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// So many connections of one run are carried at once.
const MAX_CONNECTIONS: usize = 256;
/// So many hosts are remembered. An agent that names more is answered without being asked about.
const MAX_KNOWN_HOSTS: usize = 1000;
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(33);

/// Why a connection is not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotConnected {
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
}

/// What is known of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Allowed,
    Refused,
    /// A person was asked and has not answered.
    Asked,
}

/// The proxy of one run.
#[derive(Debug, Clone)]
pub(super) struct Proxy(Arc<ProxyState>);

#[derive(Debug)]
struct ProxyState {
    rules: Vec<HostRule>,
    session: SessionHandle,
    known: Mutex<HashMap<Destination, Known>>,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Proxy {
    /// A rule that cannot be read allows nothing; the project file was checked before.
    pub(super) fn new(hosts: &[String], session: SessionHandle, tasks: TaskTracker) -> Self {
        let read = |host: &String| match host.parse::<HostRule>() {
            Ok(rule) => Some(rule),
            Err(error) => {
                warn!(cause = %error, "rule about a host cannot be read and allows nothing");
                None
            }
        };
        Self(Arc::new(ProxyState {
            rules: hosts.iter().filter_map(read).collect(),
            session,
            known: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            tasks,
        }))
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

    /// Connects to a host, if that is allowed.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, NotConnected> {
        let to = Destination::new(host, port)?;
        self.admit(&to).await?;
        let addresses: Vec<SocketAddr> = match &to {
            Destination::Address(address) => vec![*address],
            Destination::Name(name, port) => {
                let found = timeout(CONNECT_TIMEOUT, lookup_host((name.as_str(), *port))).await;
                let found = found.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
                let found = found.map_err(|error| NotConnected::Unreachable(to.clone(), error))?;
                found.filter(|address| is_public(address.ip())).collect()
            }
        };
        if addresses.is_empty() {
            return Err(NotConnected::Inward(to));
        }
        // What was checked is what is connected to: the name is not looked up again.
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(&*addresses)).await;
        let connected = connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
        connected.map_err(|error| NotConnected::Unreachable(to, error))
    }

    async fn admit(&self, to: &Destination) -> Result<(), NotConnected> {
        if self.0.rules.iter().any(|rule| rule.allows(to)) {
            return Ok(());
        }
        // An address has no name that a person could judge.
        let Destination::Name(..) = to else { return Err(NotConnected::Refused(to.clone())) };
        let known = {
            let mut all = self.known();
            match all.get(to) {
                Some(known) => Some(*known),
                None if all.len() >= MAX_KNOWN_HOSTS => Some(Known::Refused),
                None => {
                    all.insert(to.clone(), Known::Asked);
                    None
                }
            }
        };
        match known {
            Some(Known::Allowed) => Ok(()),
            Some(Known::Refused) => Err(NotConnected::Refused(to.clone())),
            Some(Known::Asked) => Err(NotConnected::Asked(to.clone())),
            None => self.ask(to).await,
        }
    }

    /// Asks about a host, once at a time. The ask stays open when the connection is not held any longer, and is not the client's: it stays
    /// when the client leaves.
    async fn ask(&self, to: &Destination) -> Result<(), NotConnected> {
        let (proxy, host) = (self.clone(), to.clone());
        let settled = self.0.tasks.spawn(async move { proxy.judged(host).await });
        match timeout(ASK_HOLD_TIMEOUT, settled).await {
            Ok(Ok(Some(Known::Allowed))) => Ok(()),
            Ok(_) => Err(NotConnected::Refused(to.clone())),
            Err(_) => Err(NotConnected::Asked(to.clone())),
        }
    }

    /// What a person or a rule says of a host. Where nobody could be asked, or the ask was closed with its turn, nothing is known, and
    /// the next connection asks again.
    async fn judged(&self, host: Destination) -> Option<Known> {
        let answer = match self.0.session.ask(question(&host)).await {
            Ok(HostAsk { answer, .. }) => answer.await.ok(),
            Err(error) => {
                debug!(host = %host, cause = %error, "nobody can be asked about a host now");
                None
            }
        };
        let known = answer.map(|answer| match answer {
            Answer::Allow { .. } | Answer::AllowAlways { .. } => Known::Allowed,
            Answer::Deny { .. }
            | Answer::DenyAndInterrupt { .. }
            | Answer::Replies { .. }
            | Answer::Form { .. } => Known::Refused,
        });
        info!(host = %host, ?known, "a new host was judged");
        match known {
            Some(known) => _ = self.known().insert(host, known),
            None => _ = self.known().remove(&host),
        }
        known
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Destination, Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The ask about a new host. Rules about `fetch` hold for it, and "always" saves one.
fn question(to: &Destination) -> Ask {
    let url = to.url();
    Ask::Approval(Box::new(Approval {
        tool: "connect".into(),
        tool_kind: ToolKind::Fetch,
        call: None,
        subject: Some(url.clone()),
        subject_field: Some("url".into()),
        input: json!({ "url": url }),
        edits: Vec::new(),
        reason: Some("a program in the sandbox wants to speak to a new host".into()),
        always: Vec::new(),
        human_only: false,
        shortened: None,
        as_is: true,
    }))
}
