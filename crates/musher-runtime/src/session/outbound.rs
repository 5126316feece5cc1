//! Orders on their way to the backend; what a person said waits until the host has made it durable.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot, watch};

use super::port::BackendOrder;
use super::{CommandError, HostAnswer};

/// The way to the backend.
#[derive(Debug)]
pub(super) struct Outbound {
    orders: mpsc::Sender<BackendOrder>,
    durable: Option<watch::Receiver<u64>>,
    /// What waits, each with the number that must be durable first. It keeps its order.
    held: VecDeque<(u64, Held)>,
}

/// What waits until it may go.
#[derive(Debug)]
enum Held {
    Order(BackendOrder),
    /// An answer for the host, which asked itself.
    Answer(oneshot::Sender<HostAnswer>, HostAnswer),
}

impl Outbound {
    pub(super) fn new(durable: Option<watch::Receiver<u64>>) -> Self {
        Self { orders: mpsc::channel(1).0, durable, held: VecDeque::new() }
    }

    /// Speaks to a new backend from now on.
    pub(super) fn connect(&mut self, orders: mpsc::Sender<BackendOrder>) {
        self.orders = orders;
        self.held.clear();
    }

    /// Sends an order, or holds it until everything up to `seq` is durable.
    pub(super) fn send(&mut self, order: BackendOrder, seq: u64) -> Result<(), CommandError> {
        self.has_room()?;
        let after = match &order {
            BackendOrder::Prompt { .. }
            | BackendOrder::Steer { .. }
            | BackendOrder::Answer { .. } => seq,
            BackendOrder::Permission { .. }
            | BackendOrder::Interrupt
            | BackendOrder::SetModel { .. }
            | BackendOrder::SetMode { .. }
            | BackendOrder::Close => 0,
        };
        if self.held.is_empty() && self.covers(after) {
            return self.orders.try_send(order).map_err(|_| CommandError::Busy);
        }
        self.held.push_back((after, Held::Order(order)));
        Ok(())
    }

    /// Gives the host the answer to what it asked itself, once everything up to `seq` is durable.
    pub(super) fn answer(&mut self, to: oneshot::Sender<HostAnswer>, answer: HostAnswer, seq: u64) {
        match self.held.is_empty() && self.covers(seq) {
            true => self.go(Held::Answer(to, answer)),
            false => self.held.push_back((seq, Held::Answer(to, answer))),
        }
    }

    /// Whether one more order can be taken.
    pub(super) fn has_room(&self) -> Result<(), CommandError> {
        if self.orders.is_closed() {
            Err(CommandError::Ended)
        } else if self.held.len() >= self.orders.capacity() {
            Err(CommandError::Busy)
        } else {
            Ok(())
        }
    }

    /// Sends what has become durable, as soon as something has; waits for ever when nothing is held.
    pub(super) async fn released(&mut self) {
        let Some((after, _)) = self.held.front() else { return std::future::pending().await };
        if let Some(durable) = &mut self.durable {
            // A host that is gone makes nothing durable any more, and its agent is about to end.
            if durable.wait_for(|number| number >= after).await.is_err() {
                return std::future::pending().await;
            }
        }
        while let Some((after, _)) = self.held.front()
            && self.covers(*after)
        {
            let Some((_, held)) = self.held.pop_front() else { break };
            self.go(held);
        }
    }

    fn go(&self, held: Held) {
        match held {
            Held::Order(order) => {
                // The room was looked for when the order was taken; a backend that is gone tells why by its end.
                let _ended = self.orders.try_send(order);
            }
            Held::Answer(to, answer) => {
                // An error means that the sender has gone.
                let _gone = to.send(answer);
            }
        }
    }

    fn covers(&self, seq: u64) -> bool {
        self.durable.as_ref().is_none_or(|durable| *durable.borrow() >= seq)
    }
}
