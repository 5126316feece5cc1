//! Where each call of an answer stands, and the tasks that carry them out.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use musher_core::{
    Answer, Approval, Ask, AskId, Channel, Delta, EventKind, EventScope, Executor, ItemId, Level,
    Question, ToolPhase, ToolUpdate, merged,
};
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::agent::{ModelAgent, call_id};
use super::super::inbox::{WaitBroken, Word};
use super::super::wire::{CallResult, ToolRequest};
use super::{Failed, permission_id, result};
use crate::session::{PermissionVerdict, Signal};
use crate::tools::{CallProgress, SessionEffect, ToolCall, ToolHost, ToolReply};

/// How long calls that were told to stop may take to do so.
const CALL_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Pieces of output that may wait; more are dropped, because the reply holds what counts.
const PIECES: usize = 64;

/// Where a call stands.
#[derive(Debug)]
pub(super) enum CallStage {
    /// The rules have not spoken yet.
    Undecided,
    /// A person is asked; what for is told by the ask.
    Asked(PersonAsk),
    /// It may be made, with this input.
    Ready(Json),
    Running(Instant),
    Done(CallResult),
}

/// What a person is asked.
#[derive(Debug)]
pub(super) enum PersonAsk {
    /// Whether the call may be made.
    Approval(AskId),
    /// What the call itself asks.
    Question(AskId, Vec<Question>),
}

impl PersonAsk {
    fn id(&self) -> &AskId {
        match self {
            Self::Approval(ask) | Self::Question(ask, _) => ask,
        }
    }
}

/// The calls of one answer.
#[derive(Debug)]
pub(super) struct ToolCalls {
    stages: Vec<CallStage>,
    running: JoinSet<ToolReply>,
    /// Which call a task carries out.
    tasks: HashMap<Id, usize>,
    cancel: CancellationToken,
    /// Output of calls while they run.
    sender: mpsc::Sender<(usize, String)>,
    pieces: mpsc::Receiver<(usize, String)>,
    summary: Option<String>,
}

enum Heard {
    Word(Word),
    Reply(usize, ToolReply),
    Piece(usize, String),
}

impl ToolCalls {
    pub(super) fn new(calls: usize) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES);
        Self {
            stages: (0..calls).map(|_| CallStage::Undecided).collect(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            cancel: CancellationToken::new(),
            sender,
            pieces,
            summary: None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.stages.iter().all(|stage| matches!(stage, CallStage::Done(_)))
    }

    pub(super) fn set(&mut self, at: usize, stage: CallStage) {
        if let Some(place) = self.stages.get_mut(at) {
            *place = stage;
        }
    }

    pub(super) fn finish(self) -> (Vec<CallStage>, Option<String>) {
        (self.stages, self.summary)
    }

    /// Ends what still runs. A host promises not to hang; one that does is let go.
    pub(super) async fn stop_all(&mut self) {
        self.cancel.cancel();
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(CALL_STOP_TIMEOUT, all).await.is_err() {
            self.running.shutdown().await;
        }
    }

    fn spawn(&mut self, at: usize, host: Arc<dyn ToolHost>, mut call: ToolCall) {
        let cancel = self.cancel.clone();
        let all = self.sender.clone();
        let handle = self.running.spawn(async move {
            let (sender, mut pieces) = mpsc::channel(PIECES);
            call.progress = CallProgress::to(sender);
            let mut reply = host.call(call, &cancel);
            loop {
                tokio::select! {
                    biased;
                    Some(piece) = pieces.recv() => {
                        // A piece for which there is no room is dropped.
                        let _full = all.try_send((at, piece));
                    }
                    reply = &mut reply => return reply,
                }
            }
        });
        self.tasks.insert(handle.id(), at);
        self.set(at, CallStage::Running(Instant::now()));
    }

    /// The next reply or piece of output; waits for ever when nothing runs.
    async fn next(&mut self) -> Heard {
        loop {
            tokio::select! {
                Some((at, piece)) = self.pieces.recv() => return Heard::Piece(at, piece),
                Some(done) = self.running.join_next_with_id() => {
                    let (id, reply) = match done {
                        Ok((id, reply)) => (id, reply),
                        Err(error) => {
                            let why = format!("the tool itself failed: {error}");
                            (error.id(), ToolReply::failed(why))
                        }
                    };
                    if let Some(at) = self.tasks.remove(&id) {
                        return Heard::Reply(at, reply);
                    }
                }
            }
        }
    }
}

impl ModelAgent {
    /// Starts every call that may be made now: calls that are safe beside others run together, others alone and in
    /// the order in which the model wanted them.
    pub(super) fn start_what_may(&mut self, calls: &[ToolRequest], desk: &mut ToolCalls) {
        let mut earlier_parallel = true;
        let mut earlier_done = true;
        for (at, call) in calls.iter().enumerate() {
            let parallel = self.tool(&call.name).is_none_or(|tool| tool.parallel);
            let may = if parallel { earlier_parallel } else { earlier_done };
            let Some(stage) = desk.stages.get_mut(at) else { return };
            let done = matches!(stage, CallStage::Done(_));
            if let (true, CallStage::Ready(input)) = (may, &mut *stage) {
                let input = input.take();
                let made = ToolCall::new(call_id(&call.id), call.name.clone(), input);
                desk.spawn(at, self.tools.clone(), made);
            }
            earlier_done &= done;
            earlier_parallel &= done || parallel;
        }
    }

    /// Takes in one thing that happens to the calls.
    pub(super) async fn hear(
        &mut self,
        calls: &[ToolRequest],
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let heard = tokio::select! {
            biased;
            word = self.inbox.word() => Heard::Word(word?),
            heard = desk.next() => heard,
        };
        match heard {
            Heard::Word(Word::Verdict { request, verdict }) => {
                let found =
                    calls.iter().enumerate().find(|(at, call)| permission_id(*at, call) == request);
                match found {
                    Some((at, call)) => self.judged(at, call, verdict, desk).await,
                    None => Ok(()),
                }
            }
            Heard::Word(Word::Answer { ask, answer }) => {
                let waits = |stage: &CallStage| matches!(stage, CallStage::Asked(asked) if *asked.id() == ask);
                match desk.stages.iter().position(waits).map(|at| (at, calls.get(at))) {
                    Some((at, Some(call))) => self.answered(at, call, answer, desk).await,
                    Some((_, None)) | None => Ok(()),
                }
            }
            Heard::Reply(at, reply) => {
                // What a call printed is told before its end.
                let mut pieces = Vec::new();
                while let Ok((at, text)) = desk.pieces.try_recv() {
                    pieces.extend(calls.get(at).map(|call| piece(call, text)));
                }
                self.outbox.send(pieces, None).await?;
                match calls.get(at) {
                    Some(call) => self.replied(at, call, reply, desk).await,
                    None => Ok(()),
                }
            }
            Heard::Piece(at, text) => match calls.get(at) {
                Some(call) => self.outbox.send(vec![piece(call, text)], None).await,
                None => Ok(()),
            },
        }
    }

    async fn judged(
        &mut self,
        at: usize,
        call: &ToolRequest,
        verdict: PermissionVerdict,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let Some(tool) = self.tool(&call.name).cloned() else { return Ok(()) };
        let input = call.input.object();
        match verdict {
            PermissionVerdict::Deny { reason } => return self.deny(at, call, reason, desk).await,
            PermissionVerdict::Allow => return self.allow(at, call, input, desk).await,
            PermissionVerdict::NoOpinion if self.mode.allows(tool.kind) => {
                return self.allow(at, call, input, desk).await;
            }
            PermissionVerdict::Ask | PermissionVerdict::NoOpinion => {}
        }
        let ask = AskId::new(self.mint("ask"));
        let body = Ask::Approval(Box::new(Approval {
            tool: call.name.clone(),
            tool_kind: tool.kind,
            call: Some(call_id(&call.id)),
            subject: tool.subject_of(&input).map(str::to_owned),
            subject_field: tool.subject_field().map(str::to_owned),
            edits: self.tools.edits(&call.name, &input),
            input,
            reason: None,
            always: Vec::new(),
            human_only: false,
            shortened: None,
            as_is: false,
        }));
        desk.set(at, CallStage::Asked(PersonAsk::Approval(ask.clone())));
        self.open(ask, body).await
    }

    async fn open(&self, ask: AskId, body: Ask) -> Result<(), WaitBroken> {
        let opened = Signal::AskOpened { ask, body, scope: EventScope::Main, raw: None };
        self.outbox.send(vec![opened], None).await
    }

    async fn allow(
        &mut self,
        at: usize,
        call: &ToolRequest,
        input: Json,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        desk.set(at, CallStage::Ready(input));
        let running = ToolUpdate {
            by: Executor::Host,
            ..ToolUpdate::phase(call_id(&call.id), ToolPhase::Running)
        };
        self.update(running).await
    }

    async fn deny(
        &mut self,
        at: usize,
        call: &ToolRequest,
        reason: String,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        self.denied(&call.name);
        let update = ToolUpdate {
            reason: Some(reason.clone()),
            by: Executor::Host,
            ..ToolUpdate::phase(call_id(&call.id), ToolPhase::Denied)
        };
        let told = format!("This was not allowed: {reason}");
        desk.set(at, CallStage::Done(result(call, told, Failed::Yes)));
        self.update(update).await
    }

    async fn answered(
        &mut self,
        at: usize,
        call: &ToolRequest,
        answer: Answer,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let Some(CallStage::Asked(asked)) = desk.stages.get(at) else { return Ok(()) };
        if let PersonAsk::Question(_, questions) = asked {
            let reply = ToolReply::answered(questions, &answer);
            if let Answer::DenyAndInterrupt { .. } = answer {
                return Err(WaitBroken::Interrupted);
            }
            return self.settle(at, call, reply, None, desk).await;
        }
        match answer {
            Answer::Allow { input } => {
                let input = merged(&call.input.object(), input.as_ref());
                self.allow(at, call, input, desk).await
            }
            Answer::AllowAlways { .. } | Answer::Replies { .. } | Answer::Form { .. } => {
                self.allow(at, call, call.input.object(), desk).await
            }
            Answer::Deny { reason } => self.deny(at, call, reason, desk).await,
            Answer::DenyAndInterrupt { reason } => {
                self.deny(at, call, reason, desk).await?;
                Err(WaitBroken::Interrupted)
            }
        }
    }

    async fn replied(
        &mut self,
        at: usize,
        call: &ToolRequest,
        reply: ToolReply,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let began = match desk.stages.get(at) {
            Some(CallStage::Running(began)) => Some(*began),
            _ => None,
        };
        match &reply.effect {
            SessionEffect::None => {}
            SessionEffect::Plan(entries) => {
                self.outbox.event(EventKind::Plan { entries: entries.clone() }).await?;
            }
            SessionEffect::Progress { text } => {
                self.notice(Level::Info, "progress", text.clone()).await?;
            }
            SessionEffect::Finish { summary } => desk.summary = Some(summary.clone()),
            SessionEffect::Question(questions) => {
                let ask = AskId::new(self.mint("ask"));
                let asked = PersonAsk::Question(ask.clone(), questions.clone());
                let body = Ask::Question { questions: questions.clone() };
                desk.set(at, CallStage::Asked(asked));
                return self.open(ask, body).await;
            }
        }
        self.settle(at, call, reply, began, desk).await
    }

    /// A call is over.
    async fn settle(
        &mut self,
        at: usize,
        call: &ToolRequest,
        reply: ToolReply,
        began: Option<Instant>,
        desk: &mut ToolCalls,
    ) -> Result<(), WaitBroken> {
        let elapsed = began.and_then(|began| u64::try_from(began.elapsed().as_millis()).ok());
        let update = ToolUpdate {
            output: Some(reply.output()),
            elapsed_ms: elapsed,
            by: Executor::Host,
            ..ToolUpdate::phase(call_id(&call.id), reply.phase())
        };
        let failed = if reply.is_failed() { Failed::Yes } else { Failed::No };
        desk.set(at, CallStage::Done(result(call, reply.text, failed)));
        self.update(update).await
    }
}

/// Output of a call while it runs.
fn piece(call: &ToolRequest, text: String) -> Signal {
    let (item, channel) = (ItemId::new(call.id.clone()), Channel::ToolOutput);
    Signal::Delta(Delta { item, channel, text, scope: EventScope::Main })
}
