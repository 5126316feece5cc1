//! What is said to a run: prompts, steers, interrupts and changes, and what the runner made of them.

use super::draft::Draft;
use super::{answers, starts, texts};
use crate::pool::{
    Action, CommandReply, DeliveryKind, Fact, Refusal, TextKey, Undelivered, UndeliveredCode,
};
use crate::{CommandId, Run, RunId, RunPhase, RunRef, SessionChange};

/// A prompt to a run; to one that is over, in a new run that resumes its session.
pub(super) fn prompt(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunRef,
    text: String,
) -> Result<CommandReply, Refusal> {
    match run {
        RunRef::Past(past) => starts::resume(draft, command, past, Some(text)),
        RunRef::Live(run) => {
            let text = texts::prompt(text)?;
            let (found, command) = (listener(draft, run)?, command.clone());
            draft.keep_text(TextKey::Message(command.clone()), text);
            draft.put(Fact::PromptOffered { run, command: command.clone() });
            hand_over(draft, run, found, command, DeliveryKind::Prompt);
            Ok(CommandReply::Offered)
        }
    }
}

pub(super) fn steer(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
    text: String,
) -> Result<CommandReply, Refusal> {
    let text = texts::prompt(text)?;
    let (found, command) = (listener(draft, run)?, command.clone());
    draft.keep_text(TextKey::Message(command.clone()), text);
    draft.put(Fact::SteerOffered { run, command: command.clone() });
    hand_over(draft, run, found, command, DeliveryKind::Steer);
    Ok(CommandReply::Offered)
}

/// Takes a prompt back. The runner that holds it decides whether that is still possible; one that waits here for its
/// runner to be started is simply not delivered.
pub(super) fn take_back(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
    prompt: CommandId,
) -> Result<CommandReply, Refusal> {
    let (found, command) = (listener(draft, run)?, command.clone());
    let waits_here = draft.base.deliveries.get(&prompt).is_some_and(|delivery| {
        delivery.run == run && matches!(delivery.kind, DeliveryKind::Prompt)
    });
    let unstarted = matches!(found.phase, RunPhase::Queued | RunPhase::Preparing { .. });
    if waits_here && unstarted {
        let (code, message) = (UndeliveredCode::Unfit, "it was withdrawn".to_owned());
        settled(draft, run, &prompt, Err(Undelivered { code, message }));
        return Ok(CommandReply::Done);
    }
    match found.phase {
        RunPhase::Queued | RunPhase::Preparing { .. } => return Err(Refusal::NotStarted { run }),
        RunPhase::Starting { .. }
        | RunPhase::Live { .. }
        | RunPhase::Closing { .. }
        | RunPhase::Finishing { .. } => {}
    }
    let kind = DeliveryKind::TakeBack { prompt: prompt.clone() };
    draft.put(Fact::TakeBackOffered { run, command: command.clone(), prompt });
    hand_over(draft, run, found, command, kind);
    Ok(CommandReply::Offered)
}

pub(super) fn interrupt(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
) -> Result<CommandReply, Refusal> {
    let (found, command) = (begun_listener(draft, run)?, command.clone());
    draft.put(Fact::InterruptOffered { run, command: command.clone() });
    hand_over(draft, run, found, command, DeliveryKind::Interrupt);
    Ok(CommandReply::Offered)
}

/// A change of the session. Whether its runtime can do that, the runner knows.
pub(super) fn change(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunId,
    change: SessionChange,
) -> Result<CommandReply, Refusal> {
    let change = match change {
        SessionChange::Model { model } => SessionChange::Model { model: texts::model(model)? },
        SessionChange::Mode { mode } => SessionChange::Mode { mode: texts::mode(mode)? },
    };
    let (found, command) = (begun_listener(draft, run)?, command.clone());
    draft.put(Fact::ChangeOffered { run, command: command.clone(), change: change.clone() });
    hand_over(draft, run, found, command, DeliveryKind::Change { change });
    Ok(CommandReply::Offered)
}

/// A run that listens, and whose runner was told to start.
fn begun_listener<'a>(draft: &Draft<'a>, run: RunId) -> Result<&'a Run, Refusal> {
    let found = listener(draft, run)?;
    match found.phase {
        RunPhase::Queued | RunPhase::Preparing { .. } => Err(Refusal::NotStarted { run }),
        RunPhase::Starting { .. }
        | RunPhase::Live { .. }
        | RunPhase::Closing { .. }
        | RunPhase::Finishing { .. } => Ok(found),
    }
}

/// A run that still listens, or will.
fn listener<'a>(draft: &Draft<'a>, id: RunId) -> Result<&'a Run, Refusal> {
    let run = draft.base.runs.get(&id).ok_or(Refusal::NoSuchRun { run: id })?;
    match run.phase {
        RunPhase::Closing { .. } | RunPhase::Finishing { .. } => {
            Err(Refusal::RunEnding { run: id })
        }
        RunPhase::Queued
        | RunPhase::Preparing { .. }
        | RunPhase::Starting { .. }
        | RunPhase::Live { .. } => match run.wish {
            Some(_) => Err(Refusal::RunEnding { run: id }),
            None => Ok(run),
        },
    }
}

/// Hands a command to a live run; for another it is kept until its runner is up.
pub(super) fn hand_over(
    draft: &mut Draft<'_>,
    id: RunId,
    run: &Run,
    command: CommandId,
    kind: DeliveryKind,
) {
    if matches!(run.phase, RunPhase::Live { .. }) {
        draft.act(Action::Deliver { run: id, command, kind });
    }
}

/// What the runner made of a command.
pub(super) fn delivered(
    draft: &mut Draft<'_>,
    run: RunId,
    command: &CommandId,
    result: Result<(), Undelivered>,
) {
    let Some(delivery) = draft.base.deliveries.get(command) else { return };
    if delivery.run != run {
        return;
    }
    match &delivery.kind {
        DeliveryKind::Answer { ask, .. } => answers::settled(draft, run, ask, command, result),
        DeliveryKind::Prompt
        | DeliveryKind::Steer
        | DeliveryKind::TakeBack { .. }
        | DeliveryKind::Interrupt
        | DeliveryKind::Change { .. }
        | DeliveryKind::Stop
        | DeliveryKind::Kill => settled(draft, run, command, result),
    }
}

/// The last word on a command that was no answer.
pub(super) fn settled(
    draft: &mut Draft<'_>,
    run: RunId,
    command: &CommandId,
    result: Result<(), Undelivered>,
) {
    let id = command.clone();
    match result {
        Ok(()) => {
            draft.put(Fact::CommandDelivered { run, command: id });
            draft.settle(command, Ok(CommandReply::Sent));
        }
        Err(Undelivered { code, message }) => {
            let refusal = refusal(draft, run, command, code, &message);
            draft.put(Fact::CommandUndelivered { run, command: id, code, message });
            draft.settle(command, Err(refusal));
        }
    }
}

/// What the sender of a command hears that the run did not take.
fn refusal(
    draft: &Draft<'_>,
    run: RunId,
    command: &CommandId,
    code: UndeliveredCode,
    message: &str,
) -> Refusal {
    let kind = draft.base.deliveries.get(command).map(|delivery| &delivery.kind);
    let message = message.to_owned();
    match (kind, code) {
        (Some(DeliveryKind::Change { change }), UndeliveredCode::Unfit) => {
            Refusal::Unchanged { run, change: change.clone(), message }
        }
        _ => Refusal::Undelivered { run, why: code, message },
    }
}
