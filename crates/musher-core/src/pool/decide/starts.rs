//! How a person gets a run: started, resumed, retried or forked.

use super::draft::Draft;
use super::{restarts, stories, texts};
use crate::pool::{CommandReply, Fact, Pair, Refusal, Seat, Slot, Team, TextKey};
use crate::{
    AgentName, CommandId, FirstPrompt, PastRun, RunId, RunKind, RunLine, RunOptions, RunPhase,
    RunPlan, RunRef, SessionId, SlotId, StoryId,
};

/// What a start asks for.
pub(super) struct WantedStart {
    pub(super) story: StoryId,
    pub(super) agent: Option<AgentName>,
    pub(super) model: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) options: RunOptions,
}

pub(super) fn start(
    draft: &mut Draft<'_>,
    command: &CommandId,
    wanted: WantedStart,
) -> Result<CommandReply, Refusal> {
    let WantedStart { story, agent, model, prompt, options } = wanted;
    stories::takes_runs(draft.base, &story)?;
    let own = draft.base.stories.get(&story).and_then(|story| story.spec.agent.clone());
    let seat = match agent.or(own) {
        Some(agent) => seat(draft.team, &agent)?,
        None => draft.team.agents.first().ok_or(Refusal::NoAgents)?,
    };
    let model = match model {
        Some(model) => Some(texts::model(model)?),
        None => seat.model.clone(),
    };
    let prompt = prompt.map(texts::prompt).transpose()?;
    let options = texts::options(options)?;
    let pair = Pair { story, agent: seat.name.clone() };
    alone(draft, &pair)?;
    let words = if prompt.is_some() { FirstPrompt::Own } else { FirstPrompt::Story };
    let Pair { story, agent } = pair;
    let (kind, line, slot) = (RunKind::Fresh, RunLine::Main, None);
    let plan = RunPlan { story, agent, model, kind, line, words, slot };
    if let Some(options) = options {
        let run = draft.next_run();
        draft.keep_text(TextKey::Options(run), options);
    }
    Ok(queue(draft, command, plan, prompt))
}

pub(super) fn resume(
    draft: &mut Draft<'_>,
    command: &CommandId,
    past: PastRun,
    text: Option<String>,
) -> Result<CommandReply, Refusal> {
    can_follow(draft, &past)?;
    let text = text.map(texts::prompt).transpose()?;
    let of = past.run;
    let session = past.session.ok_or(Refusal::NoSession { run: of })?;
    let plan = RunPlan {
        story: past.story,
        agent: past.agent,
        model: past.model,
        kind: RunKind::Resume { of, session },
        line: RunLine::Main,
        words: own_or_continue(text.as_ref()),
        slot: past.slot,
    };
    Ok(queue(draft, command, plan, text))
}

pub(super) fn retry(
    draft: &mut Draft<'_>,
    command: &CommandId,
    past: PastRun,
) -> Result<CommandReply, Refusal> {
    can_follow(draft, &past)?;
    let words = match past.words {
        // A session that begins anew has nothing to go on with.
        FirstPrompt::Continue => FirstPrompt::Story,
        FirstPrompt::Story | FirstPrompt::Own | FirstPrompt::Of { .. } => {
            past.words.again(past.run)
        }
    };
    let plan = RunPlan {
        story: past.story,
        agent: past.agent,
        model: past.model,
        kind: RunKind::Retry { of: past.run },
        line: RunLine::Main,
        words,
        slot: past.slot,
    };
    Ok(queue(draft, command, plan, None))
}

pub(super) fn fork(
    draft: &mut Draft<'_>,
    command: &CommandId,
    run: RunRef,
    text: Option<String>,
    turn: Option<u32>,
) -> Result<CommandReply, Refusal> {
    let of = run.id();
    let (pair, model, session, from) = match run {
        RunRef::Live(run) => fork_of_live(draft, run)?,
        RunRef::Past(past) => fork_of_past(past)?,
    };
    stories::takes_runs(draft.base, &pair.story)?;
    let seat = seat(draft.team, &pair.agent)?;
    if turn.is_some() && !seat.turns {
        return Err(Refusal::NoTurns { agent: pair.agent });
    }
    if !draft.base.slots_of(&pair.story).any(|(slot, _)| slot == from) {
        return Err(Refusal::NoWorktree { run: of });
    }
    let text = text.map(texts::prompt).transpose()?;
    let plan = RunPlan {
        story: pair.story,
        agent: pair.agent,
        model,
        kind: RunKind::Fork { of, session, from, turn },
        line: RunLine::Fork,
        words: own_or_continue(text.as_ref()),
        slot: None,
    };
    Ok(queue(draft, command, plan, text))
}

type Source = (Pair, Option<String>, SessionId, SlotId);

fn fork_of_live(draft: &Draft<'_>, id: RunId) -> Result<Source, Refusal> {
    let run = draft.base.runs.get(&id).ok_or(Refusal::NoSuchRun { run: id })?;
    let slot = match run.phase {
        RunPhase::Queued | RunPhase::Preparing { .. } => {
            return Err(Refusal::NotStarted { run: id });
        }
        RunPhase::Starting { slot }
        | RunPhase::Live { slot }
        | RunPhase::Closing { slot }
        | RunPhase::Finishing { slot, .. } => slot,
    };
    let session = run.conversation().ok_or(Refusal::NoSession { run: id })?;
    Ok((Pair::of(&run.plan), run.plan.model.clone(), session, slot))
}

fn fork_of_past(past: PastRun) -> Result<Source, Refusal> {
    let PastRun { run, story, agent, model, session, slot, .. } = past;
    let session = session.ok_or(Refusal::NoSession { run })?;
    let slot = slot.ok_or(Refusal::NoWorktree { run })?;
    Ok((Pair { story, agent }, model, session, slot))
}

/// The seat of an agent that is still on the team.
pub(super) fn seat<'a>(team: &'a Team, agent: &AgentName) -> Result<&'a Seat, Refusal> {
    team.seat(agent).ok_or_else(|| {
        let known = team.agents.iter().map(|seat| seat.name.clone()).collect();
        Refusal::NoSuchAgent { agent: agent.clone(), known }
    })
}

/// That an agent has no run on a story, forks aside.
pub(super) fn alone(draft: &Draft<'_>, pair: &Pair) -> Result<(), Refusal> {
    match draft.base.main_run(pair) {
        Some(run) => {
            let Pair { story, agent } = pair.clone();
            Err(Refusal::AlreadyRunning { run, story, agent })
        }
        None => Ok(()),
    }
}

/// That a new run may go on with the work of an old one.
fn can_follow(draft: &Draft<'_>, past: &PastRun) -> Result<(), Refusal> {
    stories::takes_runs(draft.base, &past.story)?;
    seat(draft.team, &past.agent)?;
    let pair = Pair { story: past.story.clone(), agent: past.agent.clone() };
    alone(draft, &pair)?;
    match draft.base.runs.contains_key(&past.run) {
        // Somebody took it for over too early.
        true => {
            let Pair { story, agent } = pair;
            Err(Refusal::AlreadyRunning { run: past.run, story, agent })
        }
        false => Ok(()),
    }
}

fn own_or_continue(text: Option<&String>) -> FirstPrompt {
    if text.is_some() { FirstPrompt::Own } else { FirstPrompt::Continue }
}

/// Queues what a person wanted. The person has spoken, so the pool no longer asks about what it had parked.
fn queue(
    draft: &mut Draft<'_>,
    command: &CommandId,
    plan: RunPlan,
    prompt: Option<String>,
) -> CommandReply {
    match plan.line {
        RunLine::Main => {
            let pair = Pair::of(&plan);
            restarts::unpark(draft, |parked| *parked == pair);
        }
        RunLine::Fork => {}
    }
    let run = draft.next_run();
    if let Some(prompt) = prompt {
        draft.keep_text(TextKey::Prompt(run), prompt);
    }
    let at = draft.now;
    draft.put(Fact::RunQueued { run, plan, command: Some(command.clone()), at, nonce: None });
    CommandReply::Run(run)
}

/// Whether a story holds a slot, and the run that is in it.
pub(super) fn holder<'a>(slot: Option<&'a Slot>, story: &StoryId) -> Option<&'a Option<RunId>> {
    match slot {
        Some(Slot::Held { branch, busy, .. }) if branch.story == *story => Some(busy),
        Some(Slot::Held { .. } | Slot::Free | Slot::Leaving { .. }) | None => None,
    }
}
