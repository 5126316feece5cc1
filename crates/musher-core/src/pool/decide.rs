//! The one decider: from the state and one input to facts and actions, without doing anything.

mod answers;
mod draft;
mod ending;
mod heard;
mod phases;
mod places;
mod restarts;
mod spec;
mod starts;
mod stories;
mod talk;
mod texts;

use crate::pool::{CommandReply, PoolCommand, PoolDecision, PoolInput, Refusal, State, Team};
use crate::{Actor, CommandId, Sender};
use answers::GivenAnswer;
use draft::Draft;

/// What follows from an input. It is total: whatever comes in whatever state, something sensible follows.
pub fn decide(state: &State, team: &Team, input: PoolInput, now: i64) -> PoolDecision {
    let mut draft = Draft::new(state, team, now);
    let mut reply = None;
    match input {
        PoolInput::Begun => draft.look_again(),
        PoolInput::Command { id, by, command } => {
            reply = Some(obey(&mut draft, &id, &by, command));
        }
        PoolInput::Prepared { run, head } => phases::prepared(&mut draft, run, head),
        PoolInput::PrepareFailed { run, error } => phases::prepare_failed(&mut draft, run, error),
        PoolInput::RunnerUp { run } => phases::runner_up(&mut draft, run),
        PoolInput::SpawnFailed { run, error } => phases::spawn_failed(&mut draft, run, error),
        PoolInput::RunnerGone { run } => phases::runner_gone(&mut draft, run),
        PoolInput::LogLost { run, error } => phases::log_lost(&mut draft, run, error),
        PoolInput::Heard { run, seq, what } => heard::heard(&mut draft, run, seq, what),
        PoolInput::Delivered { run, command, result } => {
            talk::delivered(&mut draft, run, &command, result);
        }
        PoolInput::Granted { run, command, result } => {
            answers::granted(&mut draft, run, &command, result);
        }
        PoolInput::Finished { run, commit, error } => {
            phases::finished(&mut draft, run, commit, error);
        }
        PoolInput::Released { slot, branch } => phases::released(&mut draft, slot, &branch),
        PoolInput::Searched { command, story, result } => {
            stories::searched(&mut draft, &command, &story, result);
        }
        PoolInput::Merged { command, story, result } => {
            stories::merged(&mut draft, &command, &story, result);
        }
    }
    places::promote(&mut draft);
    draft.decision(reply)
}

/// Does what a command wants, or refuses it before anything has changed.
fn obey(
    draft: &mut Draft<'_>,
    id: &CommandId,
    by: &Actor,
    command: PoolCommand,
) -> Result<CommandReply, Refusal> {
    if draft.base.deliveries.contains_key(id) || draft.base.merges.contains_key(id) {
        return Ok(CommandReply::Offered);
    }
    match command {
        PoolCommand::AddStory { id, title, text, context, spec } => {
            stories::add(draft, id, &title, text, &context, spec)
        }
        PoolCommand::PutStories { stories } => stories::put(draft, stories),
        PoolCommand::EditStory { story, title, text, context, spec } => {
            stories::edit(draft, story, title, text, context, spec)
        }
        PoolCommand::FinishStory { story } => stories::finish(draft, story),
        PoolCommand::ReopenStory { story } => stories::reopen(draft, story),
        PoolCommand::ArchiveStory { story } => stories::archive(draft, story),
        PoolCommand::MergeStory { story, branch, with_secrets } => {
            stories::merge(draft, id, story, branch, with_secrets)
        }
        PoolCommand::StartRun { story, agent, model, prompt, options } => {
            starts::start(draft, id, starts::WantedStart { story, agent, model, prompt, options })
        }
        PoolCommand::Prompt { run, text } => talk::prompt(draft, id, run, text),
        PoolCommand::Steer { run, text } => talk::steer(draft, id, run, text),
        PoolCommand::TakeBack { run, prompt } => talk::take_back(draft, id, run, prompt),
        PoolCommand::Interrupt { run } => talk::interrupt(draft, id, run),
        PoolCommand::Change { run, change } => talk::change(draft, id, run, change),
        PoolCommand::Stop { run } => ending::stop(draft, id, run),
        PoolCommand::Kill { run } => ending::kill(draft, id, run),
        PoolCommand::Answer { run, ask, answer, seen } => {
            let from = Sender::of(by);
            answers::answer(draft, id, run, &ask, &GivenAnswer { answer, seen, from })
        }
        PoolCommand::Resume { past, text } => starts::resume(draft, id, past, text),
        PoolCommand::Retry { past } => starts::retry(draft, id, past),
        PoolCommand::Fork { run, text, turn } => starts::fork(draft, id, run, text, turn),
    }
}
