//! The one decider: from the state and one input to facts and actions, without doing anything.

mod answers;
mod draft;
mod ending;
mod flow;
mod heard;
mod places;
mod restarts;
mod starts;
mod stories;
mod talk;
mod texts;

use crate::CommandId;
use crate::pool::{Command, Decision, Input, Refusal, Reply, State, Team};
use answers::Given;
use draft::Draft;

#[cfg(test)]
pub(super) use draft::Rule;

/// What follows from an input. It is total: whatever comes in whatever state, something sensible follows.
pub fn decide(state: &State, team: &Team, input: Input, now: i64) -> Decision {
    conclude(Draft::new(state, team, now), input)
}

/// The same with one rule broken, so that tests can show that they would notice.
#[cfg(test)]
pub(super) fn decide_with(
    state: &State,
    team: &Team,
    input: Input,
    now: i64,
    broken: Option<Rule>,
) -> Decision {
    let mut draft = Draft::new(state, team, now);
    draft.broken = broken;
    conclude(draft, input)
}

fn conclude(mut draft: Draft<'_>, input: Input) -> Decision {
    let mut reply = None;
    match input {
        Input::Begun => draft.look_again(),
        Input::Command { id, command } => reply = Some(obey(&mut draft, &id, command)),
        Input::Prepared { run, head } => flow::prepared(&mut draft, run, head),
        Input::PrepareFailed { run, error } => flow::prepare_failed(&mut draft, run, error),
        Input::RunnerUp { run } => flow::runner_up(&mut draft, run),
        Input::SpawnFailed { run, error } => flow::spawn_failed(&mut draft, run, error),
        Input::RunnerGone { run } => flow::runner_gone(&mut draft, run),
        Input::LogLost { run, error } => flow::log_lost(&mut draft, run, error),
        Input::Heard { run, seq, what } => heard::heard(&mut draft, run, seq, what),
        Input::Delivered { run, command, result } => {
            talk::delivered(&mut draft, run, &command, result);
        }
        Input::Finished { run, commit, error } => flow::finished(&mut draft, run, commit, error),
        Input::Released { slot, branch } => flow::released(&mut draft, slot, &branch),
        Input::Searched { command, story, result } => {
            stories::searched(&mut draft, &command, &story, result);
        }
        Input::Merged { command, story, result } => {
            stories::merged(&mut draft, &command, &story, result);
        }
    }
    places::promote(&mut draft);
    draft.decision(reply)
}

/// Does what a command wants, or refuses it before anything has changed.
fn obey(draft: &mut Draft<'_>, id: &CommandId, command: Command) -> Result<Reply, Refusal> {
    if draft.base.deliveries.contains_key(id) || draft.base.merges.contains_key(id) {
        return Ok(Reply::Offered);
    }
    match command {
        Command::AddStory { id, title, text } => stories::add(draft, id, &title, text),
        Command::EditStory { story, title, text } => stories::edit(draft, story, title, text),
        Command::FinishStory { story } => stories::finish(draft, story),
        Command::ReopenStory { story } => stories::reopen(draft, story),
        Command::ArchiveStory { story } => stories::archive(draft, story),
        Command::MergeStory { story, branch, with_secrets } => {
            stories::merge(draft, id, story, branch, with_secrets)
        }
        Command::StartRun { story, agent, model, prompt } => {
            starts::start(draft, id, starts::Wanted { story, agent, model, prompt })
        }
        Command::Prompt { run, text } => talk::prompt(draft, id, run, text),
        Command::Steer { run, text } => talk::steer(draft, id, run, text),
        Command::TakeBack { run, prompt } => talk::take_back(draft, id, run, prompt),
        Command::Interrupt { run } => talk::interrupt(draft, id, run),
        Command::Stop { run } => ending::stop(draft, id, run),
        Command::Kill { run } => ending::kill(draft, id, run),
        Command::Answer { run, ask, answer, seen, from } => {
            answers::answer(draft, id, run, &ask, &Given { answer, seen, from })
        }
        Command::Resume { past, text } => starts::resume(draft, id, past, text),
        Command::Retry { past } => starts::retry(draft, id, past),
        Command::Fork { run, text, turn } => starts::fork(draft, id, run, text, turn),
    }
}
