//! The asks of an agent that wait for their answer, however its protocol words them.

use std::collections::HashMap;

use musher_core::{Ask, AskId, EventScope};

use super::AgentFrame;
use crate::peer::{Dialect, Id, Peer};
use crate::session::Signal;

/// By ask, the request that it answers, and in which shape `S` the answer is expected.
#[derive(Debug)]
pub(crate) struct AgentAsks<S>(HashMap<AskId, (Id, S)>);

impl<S> Default for AgentAsks<S> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<S> AgentAsks<S> {
    /// Tells an ask, and keeps what is needed to answer it.
    pub(crate) fn open(
        &mut self,
        frame: &mut AgentFrame<'_>,
        scope: EventScope,
        (ask, request): (AskId, Id),
        (body, shape): (Ask, S),
    ) {
        self.0.insert(ask.clone(), (request, shape));
        frame.signal(Signal::AskOpened { ask, body, scope, raw: Some(frame.raw) });
    }

    /// The request that an ask answers; nothing if the agent has taken it back.
    pub(crate) fn take(&mut self, ask: &AskId) -> Option<(Id, S)> {
        self.0.remove(ask)
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (AskId, (Id, S))> {
        self.0.drain()
    }

    /// The agent takes a request back, or tells that it is settled.
    pub(crate) fn withdraw<D: Dialect, T>(
        &mut self,
        frame: &mut AgentFrame<'_>,
        peer: &mut Peer<D, T>,
        ask: AskId,
    ) {
        match self.0.remove(&ask) {
            Some((request, _)) => {
                peer.withdrawn(&request);
                frame.signal(Signal::AskWithdrawn { ask });
            }
            None => frame.signal(Signal::Alive),
        }
    }

    /// Nobody waits for any answer any more.
    pub(crate) fn withdraw_all<D: Dialect, T>(
        &mut self,
        frame: &mut AgentFrame<'_>,
        peer: &mut Peer<D, T>,
    ) {
        for (ask, (request, _)) in self.0.drain() {
            peer.withdrawn(&request);
            frame.signal(Signal::AskWithdrawn { ask });
        }
    }
}
