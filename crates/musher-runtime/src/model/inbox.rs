//! What the driver orders while the agent is busy, and how the agent tells the driver what happens.

use std::collections::VecDeque;
use std::pin::pin;

use musher_core::{Answer, AskId, ErrorInfo, EventKind};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::PromptImage;
use crate::process::Weight;
use crate::session::{BackendOrder, FrameBatch, PermissionVerdict, Port, Signal};

/// Why something did not come to its end.
#[derive(Debug)]
pub(super) enum WaitBroken {
    Interrupted,
    Failed(ErrorInfo),
    /// The model declined.
    Refused(ErrorInfo),
    OutOfTurns(ErrorInfo),
    /// The session is being ended.
    Ending,
}

/// What the agent may be waiting for.
#[derive(Debug)]
pub(super) enum Word {
    Verdict { request: String, verdict: PermissionVerdict },
    Answer { ask: AskId, answer: Answer },
}

/// What is to change from the next model call on.
#[derive(Debug)]
pub(super) enum SettingChange {
    Model(String),
    Mode(String),
    /// Something was said into the turn.
    Steer(String),
}

/// What the agent is to work on.
#[derive(Debug)]
pub(super) struct GivenPrompt {
    pub(super) text: String,
    pub(super) images: Vec<PromptImage>,
}

/// The orders of the driver.
#[derive(Debug)]
pub(super) struct Inbox {
    orders: mpsc::Receiver<BackendOrder>,
    end: CancellationToken,
    kill: CancellationToken,
    /// Prompts that came before their turn; `None` says that no more will.
    prompts: VecDeque<Option<GivenPrompt>>,
    pub(super) changes: Vec<SettingChange>,
}

/// The way to the driver.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    signals: mpsc::Sender<FrameBatch>,
    end: CancellationToken,
    kill: CancellationToken,
}

/// Both ends of a port.
pub(super) fn open(port: Port) -> (Inbox, Outbox) {
    let Port { orders, signals, end, kill } = port;
    let outbox = Outbox { signals, end: end.clone(), kill: kill.clone() };
    (Inbox { orders, end, kill, prompts: VecDeque::new(), changes: Vec::new() }, outbox)
}

impl Inbox {
    /// The next prompt; `None` when the session is over.
    pub(super) async fn prompt(&mut self) -> Option<GivenPrompt> {
        loop {
            if let Some(prompt) = self.prompts.pop_front() {
                return prompt;
            }
            match self.order().await {
                // There is no turn to interrupt, and nobody waits for a word.
                Ok(_) | Err(WaitBroken::Interrupted) => {}
                Err(_) => return None,
            }
        }
    }

    /// The next word that the agent may be waiting for.
    pub(super) async fn word(&mut self) -> Result<Word, WaitBroken> {
        loop {
            if let Some(word) = self.order().await? {
                return Ok(word);
            }
        }
    }

    /// Does something unless an order breaks it off; other orders are kept for later.
    pub(super) async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, WaitBroken> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                order = self.order() => {
                    // A word that nobody waits for any more.
                    let _late = order?;
                }
                done = &mut work => return Ok(done),
            }
        }
    }

    /// Takes in what was ordered already, without waiting for more.
    pub(super) fn take_in(&mut self) -> Result<(), WaitBroken> {
        while let Ok(order) = self.orders.try_recv() {
            // A word that nobody waits for any more.
            let _late = self.sort(order)?;
        }
        Ok(())
    }

    async fn order(&mut self) -> Result<Option<Word>, WaitBroken> {
        let order = tokio::select! {
            biased;
            () = self.kill.cancelled() => return Err(WaitBroken::Ending),
            () = self.end.cancelled() => return Err(WaitBroken::Ending),
            order = self.orders.recv() => order.ok_or(WaitBroken::Ending)?,
        };
        self.sort(order)
    }

    fn sort(&mut self, order: BackendOrder) -> Result<Option<Word>, WaitBroken> {
        match order {
            BackendOrder::Prompt { text, images, .. } => {
                self.prompts.push_back(Some(GivenPrompt { text, images }));
            }
            BackendOrder::Close => self.prompts.push_back(None),
            BackendOrder::Steer { text, .. } => self.changes.push(SettingChange::Steer(text)),
            BackendOrder::SetModel { model } => self.changes.push(SettingChange::Model(model)),
            BackendOrder::SetMode { mode } => self.changes.push(SettingChange::Mode(mode)),
            BackendOrder::Interrupt => return Err(WaitBroken::Interrupted),
            BackendOrder::Answer { ask, answer } => return Ok(Some(Word::Answer { ask, answer })),
            BackendOrder::Permission { request, verdict } => {
                return Ok(Some(Word::Verdict { request, verdict }));
            }
        }
        Ok(None)
    }
}

impl Outbox {
    pub(super) async fn event(&self, kind: EventKind) -> Result<(), WaitBroken> {
        self.send(vec![Signal::event(kind)], None).await
    }

    /// Tells the driver. A host that does not listen makes the agent wait, but not past the end.
    pub(super) async fn send(
        &self,
        signals: Vec<Signal>,
        weight: Option<Weight>,
    ) -> Result<(), WaitBroken> {
        if signals.is_empty() {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.kill.cancelled() => Err(WaitBroken::Ending),
            () = self.end.cancelled() => Err(WaitBroken::Ending),
            sent = self.signals.send(FrameBatch { weight, ..signals.into() }) => {
                sent.map_err(|_| WaitBroken::Ending)
            }
        }
    }

    /// Tells the driver also when the session is being ended: it listens until we are gone.
    pub(super) async fn last_word(&self, kind: EventKind) {
        let batch = FrameBatch::from(vec![Signal::event(kind)]);
        let Err(mpsc::error::TrySendError::Full(batch)) = self.signals.try_send(batch) else {
            return;
        };
        tokio::select! {
            biased;
            () = self.kill.cancelled() => {}
            // A driver that is gone counts nothing.
            _gone = self.signals.send(batch) => {}
        }
    }

    /// Waits for something unless the session is ended meanwhile.
    pub(super) async fn unless_ended<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, WaitBroken> {
        tokio::select! {
            biased;
            () = self.kill.cancelled() => Err(WaitBroken::Ending),
            () = self.end.cancelled() => Err(WaitBroken::Ending),
            done = work => Ok(done),
        }
    }
}
