//! A world that does what the pool asks, in a random order that a seed decides, and people who wish for things.

use musher::pool::{RunName, Wish};
use musher_core::pool::{
    Action, Assignment, PoolInput, RESTART_ASK, Refusal, RunReport, Undelivered, UndeliveredCode,
};
use musher_core::{
    Answer, AskId, BranchRef, ClosedBy, Outcome, RunId, RunPhase, SessionChange, SlotId, Spend,
    StoryId, Tokens, Usd,
};

use crate::rig::{Rig, add, agent, seen, start};

/// A small generator of random numbers (splitmix64), the same on every machine.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    fn pick<T: Clone>(&mut self, things: &[T]) -> Option<T> {
        let n = u64::try_from(things.len()).unwrap();
        (n > 0).then(|| things[usize::try_from(self.below(n)).unwrap()].clone())
    }
}

/// The world around a pool.
#[derive(Default)]
pub(crate) struct World {
    /// What the pool wants done and was not done yet.
    todo: Vec<Action>,
    stories: u64,
    seq: u64,
}

impl World {
    /// Something happens.
    pub(crate) fn step(&mut self, rig: &mut Rig, dice: &mut Dice) {
        self.todo.extend(rig.actions());
        match dice.below(10) {
            0..=3 => self.obey(rig, dice),
            4..=6 => self.happen(rig, dice),
            _ => self.wish(rig, dice),
        }
    }

    /// A server that begins again gets its actions from the pool alone.
    pub(crate) fn forget(&mut self) {
        self.todo.clear();
    }

    /// Does one thing that the pool wants, or fails at it.
    fn obey(&mut self, rig: &Rig, dice: &mut Dice) {
        if self.todo.is_empty() {
            return;
        }
        let n = u64::try_from(self.todo.len()).unwrap();
        let action = self.todo.swap_remove(usize::try_from(dice.below(n)).unwrap());
        let fails = dice.below(8) == 0;
        let error = || musher_core::ErrorInfo::new(musher_core::ErrorClass::Internal, "bad luck");
        self.seq += 1;
        let seq = self.seq;
        rig.tell(match action {
            Action::Prepare { run, .. } if fails => {
                PoolInput::PrepareFailed { run, error: error() }
            }
            Action::Prepare { run, .. } => PoolInput::Prepared { run, head: format!("head-{seq}") },
            Action::Spawn(Assignment { run, .. }) if fails => {
                PoolInput::SpawnFailed { run, error: error() }
            }
            Action::Spawn(Assignment { run, .. }) => PoolInput::RunnerUp { run },
            Action::Deliver { run, command, .. } => {
                PoolInput::Delivered { run, command, result: delivered(dice) }
            }
            Action::Grant { run, command, .. } => {
                let unwritten = Refusal::LocalFileUnwritten { message: "no room".into() };
                let result = if fails { Err(unwritten) } else { Ok(()) };
                PoolInput::Granted { run, command, result }
            }
            Action::CloseLog { run } => {
                let what = RunReport::Ended { outcome: Outcome::Lost, error: None, session: None };
                PoolInput::Heard { run, seq, what }
            }
            Action::Finish { run, .. } => PoolInput::Finished {
                run,
                commit: (!fails).then(|| format!("commit-{seq}")),
                error: None,
            },
            Action::Release { slot, branch } => PoolInput::Released { slot, branch },
            Action::SearchSecrets { command, branch } => {
                PoolInput::Searched { command, story: branch.story, result: Ok(Vec::new()) }
            }
            Action::Merge { command, branch } => {
                let result =
                    if fails { Err("conflict".into()) } else { Ok(format!("merge-{seq}")) };
                PoolInput::Merged { command, story: branch.story, result }
            }
        });
    }

    /// Something is read in the log of a live run, or its runner dies.
    fn happen(&mut self, rig: &Rig, dice: &mut Dice) {
        let state = rig.state();
        let live = |(id, run): (&RunId, &musher_core::Run)| match run.phase {
            RunPhase::Live { .. } => Some(*id),
            _ => None,
        };
        let runs: Vec<RunId> = state.runs.iter().filter_map(live).collect();
        let Some(run) = dice.pick(&runs) else { return };
        let asks: Vec<AskId> = state.runs[&run].asks.keys().cloned().collect();
        self.seq += 1;
        let n = dice.below(3);
        let what = match dice.below(12) {
            0..=1 => RunReport::Session { session: format!("session-{n}").into() },
            2 => RunReport::SetupDone,
            3..=5 => {
                RunReport::AskOpened { ask: format!("ask-{}", self.seq).into(), settled: n == 0 }
            }
            6 => match dice.pick(&asks) {
                Some(ask) => RunReport::AskClosed { ask, by: ClosedBy::Deadline, command: None },
                None => return,
            },
            7..=9 => RunReport::Usage {
                model: dice.pick(&[None, Some("m".into())]).flatten(),
                entry: spend(dice).into(),
            },
            10 => {
                let outcome = dice.pick(&[Outcome::Completed, Outcome::Failed]).unwrap();
                RunReport::Ended { outcome, error: None, session: None }
            }
            _ => return rig.tell(PoolInput::RunnerGone { run }),
        };
        rig.hear(run, self.seq, what);
    }

    /// A person wishes for something; it may well be refused.
    fn wish(&mut self, rig: &mut Rig, dice: &mut Dice) {
        let state = rig.state();
        let stories: Vec<StoryId> = state.stories.keys().cloned().collect();
        let Some(subject) = dice.pick(&stories) else {
            self.stories += 1;
            rig.wish(add(&format!("story-{}", self.stories))).unwrap();
            return;
        };
        let name = dice.pick(&["ann", "bob"]).unwrap();
        let run = match dice.below(2) {
            0 => RunName::Id(RunId::minted(1 + dice.below(state.last_run + 1))),
            _ => RunName::Latest { story: subject.clone(), agent: Some(agent(name)) },
        };
        let text = Some("go on".to_owned());
        let wish = match dice.below(20) {
            0..=1 => {
                self.stories += 1;
                add(&format!("story-{}", self.stories))
            }
            2 => Wish::EditStory {
                story: subject,
                title: Some("New".into()),
                text: None,
                context: None,
                spec: Default::default(),
            },
            3 => Wish::FinishStory { story: subject },
            4 => Wish::ReopenStory { story: subject },
            5 => Wish::ArchiveStory { story: subject },
            6 => Wish::MergeStory { story: subject, branch: None, with_secrets: false },
            7..=10 => start(&subject, name),
            11 => Wish::Prompt { run, text: "more".into() },
            12 => Wish::Steer { run, text: "left".into() },
            13 => Wish::Stop { run },
            14 => Wish::Kill { run },
            15 if dice.below(2) == 0 => Wish::Interrupt { run },
            15 => Wish::Change { run, change: SessionChange::Mode { mode: "plan".into() } },
            16 => Wish::Resume { run, text },
            17 => Wish::Retry { run },
            18 => Wish::Fork { run, text, turn: None },
            _ => {
                let open = state
                    .runs
                    .iter()
                    .flat_map(|(id, run)| run.asks.keys().map(|ask| (*id, ask.clone())));
                let parked = state.parked.keys().map(|run| (*run, AskId::from(RESTART_ASK)));
                let asks: Vec<_> = open.chain(parked).collect();
                let Some((run, ask)) = dice.pick(&asks) else { return };
                let answer = Answer::Allow { input: None };
                Wish::Answer { run: RunName::Id(run), ask, answer, seen: seen() }
            }
        };
        // A refusal is as good as a reply here.
        drop(rig.wish(wish));
        if dice.below(30) == 0 {
            let branch = BranchRef::plain(StoryId::minted(1), 1);
            rig.tell(PoolInput::Released { slot: SlotId(1), branch });
        }
    }
}

fn delivered(dice: &mut Dice) -> Result<(), Undelivered> {
    let code = match dice.below(8) {
        0 => UndeliveredCode::Unfit,
        1 => UndeliveredCode::AskClosed,
        2 => UndeliveredCode::Failed,
        _ => return Ok(()),
    };
    Err(Undelivered { code, message: "no".into() })
}

fn spend(dice: &mut Dice) -> Spend {
    let tokens = Tokens { input: dice.below(1000), output: dice.below(100), ..Tokens::default() };
    let cost_usd = (dice.below(5) > 0).then(|| Usd::from_dollars(0.001));
    Spend::costing(tokens, cost_usd)
}
