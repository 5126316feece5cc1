//! The people around the pool: they want anything, at any time, twice.

use super::dice::Dice;
use super::laws::UNSEEN;
use super::world::World;
use crate::pool::tests::scene::{Scene, agent, story};
use crate::pool::{PoolCommand, RESTART_ASK, WholeStory};
use crate::{
    Actor, Answer, AskDigest, AskId, CommandId, PastRun, Priority, RunId, RunRef, SessionChange,
    ShownAsk, StoryId, StorySpecChange, Usd, Via, Who,
};

/// Something that a person might want now.
pub(super) fn wish(scene: &Scene, world: &World, dice: &mut Dice) -> Option<PoolCommand> {
    let stories: Vec<StoryId> = scene.state.stories.keys().cloned().collect();
    let runs: Vec<RunId> = scene.state.runs.keys().copied().collect();
    let over: Vec<PastRun> = scene
        .past
        .values()
        .filter(|past| !scene.state.runs.contains_key(&past.run))
        .cloned()
        .collect();
    let text = || "Go on.".to_owned();
    // Nobody can work on nothing, and what waits for a person is looked at first.
    if stories.is_empty() {
        return Some(PoolCommand::AddStory {
            id: None,
            title: text(),
            text: text(),
            context: Default::default(),
            spec: Default::default(),
        });
    }
    if dice.chance(40)
        && let Some(command) = answer(scene, world, dice)
    {
        return Some(command);
    }
    if dice.chance(10) {
        return Some(PoolCommand::EditStory {
            story: dice.pick(&stories)?,
            title: None,
            text: dice.chance(30).then(text),
            context: None,
            spec: other_spec(&stories, dice),
        });
    }
    if runs.is_empty() && dice.chance(20) {
        return Some(merge(dice.pick(&stories)?, None, dice));
    }
    if runs.is_empty() && dice.chance(60) {
        return start(&stories, dice);
    }
    let command = match dice.below(100) {
        0 => PoolCommand::AddStory {
            id: None,
            title: text(),
            text: text(),
            context: Default::default(),
            spec: Default::default(),
        },
        1..3 => {
            let (context, spec) = (Default::default(), other_spec(&stories, dice));
            let spec = spec.of(&Default::default());
            let (own, known) = (story(&format!("own-{}", dice.below(3))), dice.pick(&stories)?);
            let id = dice.pick(&[own, known])?;
            let story = WholeStory { id, title: text(), text: text(), context, spec };
            PoolCommand::PutStories { stories: vec![story] }
        }
        3 => PoolCommand::FinishStory { story: dice.pick(&stories)? },
        4..8 => PoolCommand::ReopenStory { story: dice.pick(&stories)? },
        8..10 => PoolCommand::ArchiveStory { story: dice.pick(&stories)? },
        10..16 => {
            let branch = dice.chance(50).then_some(1);
            merge(dice.pick(&stories)?, branch, dice)
        }
        16..50 => return start(&stories, dice),
        50..61 => {
            let run = match dice.pick(&over).filter(|_| dice.chance(30)) {
                Some(past) => RunRef::Past(past),
                None => RunRef::Live(dice.pick(&runs)?),
            };
            PoolCommand::Prompt { run, text: text() }
        }
        61..64 => PoolCommand::Steer { run: dice.pick(&runs)?, text: text() },
        64 => PoolCommand::Interrupt { run: dice.pick(&runs)? },
        65 => {
            let change = SessionChange::Mode { mode: "plan".into() };
            PoolCommand::Change { run: dice.pick(&runs)?, change }
        }
        66 => {
            let offered: Vec<CommandId> = scene.state.deliveries.keys().cloned().collect();
            let prompt = dice.pick(&offered)?;
            PoolCommand::TakeBack { run: dice.pick(&runs)?, prompt }
        }
        67..72 => PoolCommand::Stop { run: dice.pick(&runs)? },
        72..74 => PoolCommand::Kill { run: dice.pick(&runs)? },
        74..81 => {
            let text = dice.chance(50).then(text);
            PoolCommand::Resume { past: dice.pick(&over)?, text }
        }
        81..86 => PoolCommand::Retry { past: dice.pick(&over)? },
        _ => {
            let run = match dice.pick(&over).filter(|_| dice.chance(40)) {
                Some(past) => RunRef::Past(past),
                None => RunRef::Live(dice.pick(&runs)?),
            };
            PoolCommand::Fork { run, text: None, turn: None }
        }
    };
    Some(command)
}

/// Some other wishes about a story: which come before it, how urgent it is, what it may cost.
fn other_spec(stories: &[StoryId], dice: &mut Dice) -> StorySpecChange {
    let after = (0..dice.below(3)).filter_map(|_| dice.pick(stories)).collect();
    let priority = Priority::try_from(dice.below(5) as u8).ok();
    let dollars = 1 + dice.below(4);
    let budget =
        dice.chance(50).then(|| dice.chance(80).then(|| Usd::from_dollars(dollars as f64)));
    let after = dice.chance(60).then_some(after);
    StorySpecChange { after, priority, budget, ..StorySpecChange::default() }
}

fn start(stories: &[StoryId], dice: &mut Dice) -> Option<PoolCommand> {
    Some(PoolCommand::StartRun {
        story: dice.pick(stories)?,
        agent: dice.pick(&[Some(agent("ada")), Some(agent("bob")), None])?,
        model: None,
        prompt: dice.chance(50).then(|| "Go on.".to_owned()),
        options: Default::default(),
    })
}

/// An answer to something that is open, or was.
fn answer(scene: &Scene, world: &World, dice: &mut Dice) -> Option<PoolCommand> {
    let mut asks: Vec<(RunId, AskId)> = Vec::new();
    for (run, runner) in &world.runners {
        asks.extend(runner.open.iter().map(|ask| (*run, ask.clone())));
    }
    for (run, found) in &scene.state.runs {
        asks.extend(found.asks.keys().map(|ask| (*run, ask.clone())));
    }
    asks.extend(scene.state.parked.keys().map(|run| (*run, AskId::new(RESTART_ASK))));
    let (run, ask) = dice.pick(&asks)?;
    let answer = match dice.chance(70) {
        true if dice.chance(20) => Answer::always("execute".parse().ok()),
        true => Answer::Allow { input: None },
        false => Answer::Deny { reason: "no".into() },
    };
    // Some answer what they saw elsewhere, or without a look; the law knows them by their token.
    let logged = AskDigest::new(format!("{run} {ask}"));
    let shown = match dice.chance(80) {
        true => Some(logged.clone()),
        false => dice.chance(50).then(|| AskDigest::new("another")),
    };
    let seen = ShownAsk { shown, logged: Some(logged) };
    Some(PoolCommand::Answer { run, ask, answer, seen })
}

/// Who gives a command.
pub(super) fn speaker(command: &PoolCommand) -> Actor {
    let unseen = matches!(command, PoolCommand::Answer { seen, .. } if !seen.is_this());
    let token = if unseen { UNSEEN } else { "looked" };
    Actor { who: Who::Program { token: token.into() }, via: Via::Api }
}

fn merge(story: StoryId, branch: Option<u32>, dice: &mut Dice) -> PoolCommand {
    PoolCommand::MergeStory { story, branch, with_secrets: dice.chance(20) }
}
