//! What the host says and asks in the agent's name: its own tools speak through here.

use std::collections::HashMap;

use musher_core::{Answer, Ask, AskId, ClosedBy, EventKind, EventScope, Level};
use tokio::sync::oneshot;

use super::super::port::BackendOrder;
use super::super::{CommandError, HostAnswer, HostAsk, Remark};
use super::Driver;

/// Asks of the host that may be open at once; an agent that asks more has lost its way.
const OPEN: usize = 64;
/// The longest text of a remark; a story of one's own does not belong in the record.
const MAX_REMARK_BYTES: usize = 64 * 1024;
/// The longest plan.
const ENTRIES: usize = 512;

/// The asks that the host itself has open, and where their answers go.
#[derive(Debug, Default)]
pub(super) struct Hosted {
    open: HashMap<AskId, oneshot::Sender<HostAnswer>>,
    asked: u64,
}

impl Hosted {
    /// Who waits for the answer, if it is the host.
    pub(super) fn take(&mut self, ask: &AskId) -> Option<oneshot::Sender<HostAnswer>> {
        self.open.remove(ask)
    }

    /// Somebody else of ours waits for the answer to an ask.
    pub(super) fn await_answer(&mut self, ask: AskId, asker: oneshot::Sender<HostAnswer>) {
        self.open.insert(ask, asker);
    }

    /// No answer will come; those who wait for it are told.
    pub(super) fn forget(&mut self, ask: &AskId) {
        self.open.remove(ask);
    }
}

impl Driver {
    /// Takes an ask of the host's own. One whose asker is gone already is taken back.
    pub(super) fn asked_by_host(
        &mut self,
        body: Ask,
        reply: oneshot::Sender<Result<HostAsk, CommandError>>,
    ) {
        let asked = self.ask_for_host(body);
        let ask = asked.as_ref().ok().map(|asked| asked.ask.clone());
        if reply.send(asked).is_err()
            && let Some(ask) = ask
        {
            self.withdraw(ask);
        }
    }

    /// Opens an ask of the host's own, which goes the way of every other.
    fn ask_for_host(&mut self, body: Ask) -> Result<HostAsk, CommandError> {
        if !self.state.is_open() {
            return Err(CommandError::Ended);
        }
        if self.turns.open.is_none() {
            return Err(CommandError::NoTurn);
        }
        if self.hosted.open.len() >= OPEN {
            return Err(CommandError::Busy);
        }
        self.hosted.asked += 1;
        let ask = AskId::new(format!("host-{}", self.hosted.asked));
        let (asker, answer) = oneshot::channel();
        self.hosted.open.insert(ask.clone(), asker);
        self.asked(ask.clone(), body, EventScope::Main, None);
        Ok(HostAsk { ask, answer })
    }

    /// The host does not want to know any more.
    pub(super) fn withdraw(&mut self, ask: AskId) {
        let own = self.hosted.take(&ask).is_some();
        if own && self.asks.close(&ask, ClosedBy::Agent) {
            self.unanswered(ask, ClosedBy::Agent);
        }
    }

    pub(super) fn answer_host(&mut self, asker: oneshot::Sender<HostAnswer>, answer: HostAnswer) {
        // No vendor's protocol carries this denial, so the turn is ended here.
        if matches!(answer.answer, Answer::DenyAndInterrupt { .. }) && self.turns.open.is_some() {
            let _unable = self.order(BackendOrder::Interrupt);
        }
        self.outbound.answer(asker, answer, self.seq);
    }

    /// Puts into the record what the host itself has to report.
    pub(super) fn report(&mut self) {
        let Some(reports) = self.spec.reports.clone() else { return };
        for kind in reports.take() {
            self.emit(kind);
        }
    }

    /// Puts a remark into the record.
    pub(super) fn remarked(&mut self, remark: Remark) -> Result<(), CommandError> {
        if !self.state.is_open() {
            return Err(CommandError::Ended);
        }
        let kind = match remark {
            Remark::Plan(entries) => {
                let long = entries.iter().any(|entry| entry.text.len() > MAX_REMARK_BYTES);
                if long || entries.len() > ENTRIES {
                    let why =
                        format!("a plan has at most {ENTRIES} entries of {MAX_REMARK_BYTES} bytes");
                    return Err(CommandError::BadPrompt(why));
                }
                EventKind::Plan { entries }
            }
            Remark::Progress(text) => notice("progress", text)?,
            Remark::Summary(text) => notice("summary", text)?,
        };
        self.clocks.heard();
        self.emit(kind);
        Ok(())
    }
}

fn notice(code: &str, text: String) -> Result<EventKind, CommandError> {
    if text.trim().is_empty() || text.len() > MAX_REMARK_BYTES {
        let why = format!("say something, in at most {MAX_REMARK_BYTES} bytes");
        return Err(CommandError::BadPrompt(why));
    }
    Ok(EventKind::Notice { level: Level::Info, code: Some(code.into()), text })
}
