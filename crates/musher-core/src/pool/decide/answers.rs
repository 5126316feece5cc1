//! Answers to asks. The runner alone decides whether one counts; the pool offers at most one at a time.

use super::draft::Draft;
use super::{restarts, talk, texts};
use crate::pool::{
    CommandReply, Delivery, DeliveryKind, Fact, GrantStep, RESTART_ASK, Refusal, TextKey,
    Undelivered, UndeliveredCode,
};
use crate::{Answer, AskId, AskState, ClosedBy, CommandId, Run, RunId, RunPhase, Sender, ShownAsk};

/// An answer as it came, with what its sender had seen.
pub(super) struct GivenAnswer {
    pub(super) answer: Answer,
    pub(super) seen: ShownAsk,
    pub(super) from: Option<Sender>,
}

pub(super) fn answer(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
    ask: &AskId,
    given: &GivenAnswer,
) -> Result<CommandReply, Refusal> {
    if ask.as_str() == RESTART_ASK
        && let Some(parked) = draft.base.parked.get(&run)
    {
        return restarts::answer(draft, command, run, parked, given);
    }
    let found = draft.base.runs.get(&run).ok_or(Refusal::NoSuchRun { run })?;
    can_be_answered(draft, run, found, ask)?;
    was_shown(run, ask, given)?;
    let bad = || Refusal::BadText { what: "answer".into(), why: "cannot be written down".into() };
    let json = serde_json::to_string(&given.answer).map_err(|_| bad())?;
    let json = texts::text("answer", json)?;
    let command = command.clone();
    draft.keep_text(TextKey::Answer(command.clone()), json);
    let grants = given.answer.saves_a_rule();
    draft.put(Fact::AnswerOffered {
        run,
        ask: ask.clone(),
        command: command.clone(),
        from: given.from.clone(),
        grant: grants.then_some(GrantStep::Wanted),
    });
    if grants {
        if let Some(grant) = draft.base.grant(run, &command) {
            draft.act(grant);
        }
        return Ok(CommandReply::Offered);
    }
    let kind = DeliveryKind::Answer { ask: ask.clone(), who: given.from.as_ref().map(Sender::who) };
    talk::hand_over(draft, run, found, command, kind);
    Ok(CommandReply::Offered)
}

/// Nobody answers what was not in front of them. What won is told before this.
pub(super) fn was_shown(run: RunId, ask: &AskId, given: &GivenAnswer) -> Result<(), Refusal> {
    match given.seen.is_this() {
        true => Ok(()),
        false => Err(Refusal::AskNotShown { run, ask: ask.clone() }),
    }
}

fn can_be_answered(draft: &Draft<'_>, id: RunId, run: &Run, ask: &AskId) -> Result<(), Refusal> {
    let ending = match run.phase {
        RunPhase::Closing { .. } | RunPhase::Finishing { .. } => true,
        RunPhase::Queued
        | RunPhase::Preparing { .. }
        | RunPhase::Starting { .. }
        | RunPhase::Live { .. } => false,
    };
    let (run, asked) = (id, ask.clone());
    // What won is told first; that the run is ending is no news to an ask that is closed.
    match run_ask(draft, id, ask) {
        None | Some(AskState::Open) if ending => Err(Refusal::RunEnding { run }),
        None => Err(Refusal::NoSuchAsk { run, ask: asked }),
        Some(AskState::Open) => Ok(()),
        Some(AskState::Offered { .. } | AskState::Closed { by: ClosedBy::Person }) => {
            Err(Refusal::AlreadyAnswered { run, ask: asked })
        }
        Some(AskState::Closed { by }) => Err(Refusal::AskClosed { run, ask: asked, by: *by }),
    }
}

fn run_ask<'a>(draft: &Draft<'a>, run: RunId, ask: &AskId) -> Option<&'a AskState> {
    draft.base.runs.get(&run)?.asks.get(ask)
}

/// The rule of an answer was saved, so the run may have the answer. One that could not be saved is not given: the person
/// was to grant it for later runs too.
pub(super) fn granted(
    draft: &mut Draft<'_>,
    run: RunId,
    command: &CommandId,
    result: Result<(), Refusal>,
) {
    let (ask, kind) = match draft.base.deliveries.get(command) {
        Some(Delivery { run: of, kind, grants: true, .. }) if *of == run => match kind {
            DeliveryKind::Answer { ask, .. } => (ask.clone(), kind.clone()),
            DeliveryKind::Prompt
            | DeliveryKind::Steer
            | DeliveryKind::TakeBack { .. }
            | DeliveryKind::Interrupt
            | DeliveryKind::Change { .. }
            | DeliveryKind::Stop
            | DeliveryKind::Kill => return,
        },
        Some(_) | None => return,
    };
    let Some(found) = draft.base.runs.get(&run) else { return };
    let command = command.clone();
    match result {
        Ok(()) => {
            let grant = Some(GrantStep::Saved);
            draft.put(Fact::AnswerOffered {
                run,
                ask,
                command: command.clone(),
                from: None,
                grant,
            });
            talk::hand_over(draft, run, found, command, kind);
        }
        Err(refusal) => {
            let (code, message) = (UndeliveredCode::Failed, refusal.to_string());
            draft.settle(&command, Err(refusal));
            draft.put(Fact::AnswerRefused { run, ask, command, code, message });
        }
    }
}

/// The last word on an answer.
pub(super) fn settled(
    draft: &mut Draft<'_>,
    run: RunId,
    ask: &AskId,
    command: &CommandId,
    result: Result<(), Undelivered>,
) {
    let (id, asked) = (command.clone(), ask.clone());
    match result {
        Ok(()) => {
            draft.put(Fact::AskAnswered { run, ask: asked, command: id });
            draft.settle(command, Ok(CommandReply::Sent));
        }
        Err(Undelivered { code, message }) => {
            let refusal = match (code, run_ask(draft, run, ask)) {
                (UndeliveredCode::AskClosed, Some(AskState::Closed { by })) => {
                    Refusal::AskClosed { run, ask: asked.clone(), by: *by }
                }
                _ => Refusal::Undelivered { run, why: code, message: message.clone() },
            };
            draft.put(Fact::AnswerRefused { run, ask: asked, command: id, code, message });
            draft.settle(command, Err(refusal));
        }
    }
}

/// The log says that an ask was closed, and by what.
pub(super) fn closed(
    draft: &mut Draft<'_>,
    run: RunId,
    seq: u64,
    ask: AskId,
    by: ClosedBy,
    command: Option<&CommandId>,
) {
    match run_ask(draft, run, &ask) {
        None | Some(AskState::Closed { .. }) => return,
        Some(AskState::Open) => {}
        Some(AskState::Offered { command: offered }) => {
            let waits = draft.base.deliveries.contains_key(offered);
            if waits && command == Some(offered) {
                // The runner's own word on it was lost.
                settled(draft, run, &ask, offered, Ok(()));
            } else if waits && (command.is_some() || by != ClosedBy::Person) {
                let refusal = Refusal::AskClosed { run, ask: ask.clone(), by };
                draft.put(Fact::AnswerRefused {
                    run,
                    ask: ask.clone(),
                    command: offered.clone(),
                    code: UndeliveredCode::AskClosed,
                    message: refusal.to_string(),
                });
                draft.settle(offered, Err(refusal));
            }
        }
    }
    draft.put(Fact::AskClosed { run, seq, ask, by });
}
