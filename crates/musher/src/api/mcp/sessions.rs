//! The sessions of the older MCP generation: each token has so many, and the one that was idle for the longest makes room.
//!
//! A session that made room is unknown from then on, so its client is told 404 and initialises anew, as the protocol says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio_util::task::TaskTracker;

use crate::mcp::Caller;

/// Sessions that one token may have, and all of them together.
pub(super) const OF_ONE: usize = 64;
const OF_ALL: usize = 1000;
/// A session that says nothing for this long is forgotten; its client begins another.
const IDLE_SESSION_TIMEOUT: Duration = Duration::from_secs(60 * 60);

tokio::task_local! {
    /// Who makes the request that the library is at work on; it asks only for an id.
    pub(super) static CALLER: Caller;
}

/// The sessions that are open.
#[derive(Debug)]
pub(super) struct McpSessions {
    inner: Arc<LocalSessionManager>,
    held: Arc<Mutex<Held>>,
    /// What ends sessions that made room; nobody waits for it.
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct Held {
    turns: u64,
    by_id: HashMap<SessionId, Session>,
}

#[derive(Debug)]
struct Session {
    caller: Caller,
    /// When it was last used, among all uses.
    turn: u64,
    /// Replies that are under way.
    open: usize,
}

/// A reply of a session that is under way.
#[derive(Debug)]
pub(super) struct OpenReply {
    held: Arc<Mutex<Held>>,
    id: SessionId,
}

impl McpSessions {
    pub(super) fn new() -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE_SESSION_TIMEOUT);
        Self { inner: Arc::new(inner), held: Arc::default(), tasks: TaskTracker::new() }
    }

    /// Notes that a reply of a session begins; none if the caller has no such session.
    pub(super) fn open(&self, id: &str, caller: &Caller) -> Option<OpenReply> {
        let mut held = lock(&self.held);
        held.touch(id, caller)?.open += 1;
        Some(OpenReply { held: Arc::clone(&self.held), id: id.into() })
    }
}

impl Held {
    /// The session of a caller, which is used now.
    fn touch(&mut self, id: &str, caller: &Caller) -> Option<&mut Session> {
        self.turns += 1;
        let session = self.by_id.get_mut(id).filter(|session| session.caller == *caller)?;
        session.turn = self.turns;
        Some(session)
    }

    /// Adds a session, and gives those that make room for it.
    fn add(&mut self, id: SessionId, caller: Caller) -> Vec<SessionId> {
        self.turns += 1;
        let session = Session { caller: caller.clone(), turn: self.turns, open: 0 };
        self.by_id.insert(id, session);
        let mut counts: HashMap<&Caller, usize> = HashMap::new();
        for session in self.by_id.values() {
            *counts.entry(&session.caller).or_default() += 1;
        }
        let from = if counts.get(&caller).is_some_and(|count| *count > OF_ONE) {
            Some(caller)
        } else if self.by_id.len() > OF_ALL {
            // Whoever has the most can spare one.
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(caller, _)| caller.clone())
        } else {
            None
        };
        from.and_then(|caller| self.idlest(&caller)).into_iter().collect()
    }

    /// Takes out the session of a caller that is idle, and was so for the longest.
    fn idlest(&mut self, caller: &Caller) -> Option<SessionId> {
        let theirs = self.by_id.iter().filter(|(_, session)| session.caller == *caller);
        let idlest = theirs.min_by_key(|(_, session)| (session.open > 0, session.turn));
        let id = idlest.map(|(id, _)| id.clone())?;
        self.by_id.remove(&id);
        Some(id)
    }
}

impl Drop for OpenReply {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        held.turns += 1;
        let turn = held.turns;
        if let Some(session) = held.by_id.get_mut(&self.id) {
            session.open -= 1;
            session.turn = turn;
        }
    }
}

impl SessionManager for McpSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.inner.create_session().await?;
        let caller = CALLER.try_with(Clone::clone).unwrap_or_default();
        for gone in lock(&self.held).add(id.clone(), caller) {
            let inner = Arc::clone(&self.inner);
            // A session whose client does not read ends when that client leaves.
            self.tasks.spawn(async move { inner.close_session(&gone).await });
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let caller = CALLER.try_with(Clone::clone).unwrap_or_default();
        let held = lock(&self.held).touch(id, &caller).is_some();
        Ok(held && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        lock(&self.held).by_id.remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
