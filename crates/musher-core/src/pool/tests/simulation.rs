//! A pool in a hostile world: people, runners, crashes and clocks in ten thousand seeded orders.

mod dice;
mod laws;
mod people;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use super::broken::BrokenRule;
use super::scene::{Scene, team};
use crate::pool::{
    Action, CommandReply, DAY_MS, PoolCommand, PoolInput, Refusal, RunReport, State, Team,
};
use crate::{CommandId, Outcome, RunId, StorySpec, Usd};
use dice::Dice;
use laws::Laws;
use people::{speaker, wish};
use world::{Performed, World};

const SEEDS: u64 = 10_000;
const STEPS: usize = 70;

/// What a test breaks on purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Broken {
    rule: Option<BrokenRule>,
    /// The server forgets what it owes when it begins again.
    forgets: bool,
}

/// The server in its world.
struct Simulation {
    dice: Dice,
    scene: Scene,
    world: World,
    laws: Laws,
    forgets: bool,
    /// How often runners are lost.
    storm: usize,
    /// Actions that have not been taken yet; they die with the server.
    pending: Vec<Action>,
    /// How far each log was read; that dies with the server too.
    tails: BTreeMap<RunId, usize>,
    sent: BTreeMap<CommandId, PoolCommand>,
    /// The last word on each command, as the journal keeps it; none while there is only an offer.
    ledger: BTreeMap<CommandId, Option<Result<CommandReply, Refusal>>>,
}

impl Simulation {
    fn new(seed: u64, broken: Broken) -> Self {
        let mut dice = Dice::new(seed);
        let mut scene = Scene::with_story();
        scene.add_story().unwrap();
        let mut limit = || 1 + dice.below(3) as u32;
        let limits = &mut scene.team.limits;
        (limits.runs, limits.runs_per_agent, limits.runs_per_story) = (limit(), limit(), limit());
        set_money(&mut scene.team, &mut dice);
        scene.broken = broken.rule;
        let storm = if dice.chance(30) { 20 } else { 2 };
        Self {
            dice,
            scene,
            world: World { trouble: 8, doom: if storm > 2 { 60 } else { 0 }, ..World::default() },
            laws: Laws::default(),
            forgets: broken.forgets,
            storm,
            pending: Vec::new(),
            tails: BTreeMap::new(),
            sent: BTreeMap::new(),
            ledger: BTreeMap::new(),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        for step in 0..STEPS {
            self.step().map_err(|broken| format!("step {step}: {broken}"))?;
        }
        self.come_to_rest()
    }

    fn step(&mut self) -> Result<(), String> {
        self.scene.now += self.dice.below(8_000) as i64;
        let runners = || self.world.runners.values();
        let alive = runners().any(|runner| runner.alive);
        let (acts, hears) = (!self.pending.is_empty(), !self.world.news.is_empty());
        let dead = self.scene.state.runs.keys().any(|run| self.is_dead(*run));
        // What can happen now, and how often it does.
        let weights = [
            if self.storm > 2 { 5 } else { 12 },
            if acts { 30 } else { 0 },
            if hears { 30 } else { 0 },
            if alive { 12 } else { 0 },
            if alive || dead { 12 } else { 0 },
            if alive { self.storm } else { 0 },
            if dead { 10 + self.storm } else { 0 },
            2,
            1,
            if self.storm > 2 { 15 } else { 2 },
            2,
        ];
        match self.dice.weighed(&weights) {
            0 => self.person(),
            1 => self.several(Self::perform),
            2 => self.several(Self::news),
            3 => self.work(),
            4 => self.read(),
            5 => self.lose_a_runner(),
            6 => self.look_after_runners(),
            7 => self.crash(),
            8 => self.set_the_clock(),
            10 => self.change_the_cap(),
            _ => self.rush(),
        }
    }

    /// A person raises, lowers, sets or lifts the cap.
    fn change_the_cap(&mut self) -> Result<(), String> {
        set_money(&mut self.scene.team, &mut self.dice);
        self.put(PoolInput::Begun).map(drop)
    }

    /// For a moment everything goes quickly.
    fn rush(&mut self) -> Result<(), String> {
        for _ in 0..2 {
            for _ in 0..self.pending.len() {
                self.perform()?;
            }
            for _ in 0..self.world.news.len() {
                self.news()?;
            }
        }
        self.look_after_runners()?;
        self.read()
    }

    fn several(&mut self, what: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        for _ in 0..=self.dice.below(3) {
            what(self)?;
        }
        Ok(())
    }

    fn set_the_clock(&mut self) -> Result<(), String> {
        let hours = self.dice.below(3) as i64 - 1;
        // Now and then a day passes.
        let days = i64::from(self.dice.chance(20));
        self.scene.now += hours * 3_600_000 + days * DAY_MS;
        Ok(())
    }

    /// Gives the pool an input, holds it to the laws, and keeps what is to be done.
    fn put(&mut self, input: PoolInput) -> Result<Option<Result<CommandReply, Refusal>>, String> {
        let told = input.clone();
        let decision = self.scene.put(input);
        self.laws
            .judge(&decision, &self.scene.state, &self.scene.team, self.scene.now)
            .map_err(|broken| format!("{broken} (after {told:?})"))?;
        for (command, result) in decision.settled {
            match self.ledger.insert(command.clone(), Some(result)) {
                Some(None) => {}
                other => return Err(format!("{command} was settled when it was {other:?}")),
            }
        }
        self.pending.extend(decision.actions);
        Ok(decision.reply)
    }

    fn person(&mut self) -> Result<(), String> {
        let known: Vec<CommandId> = self.sent.keys().cloned().collect();
        if self.dice.chance(12)
            && let Some(id) = self.dice.pick(&known)
        {
            return self.send(id);
        }
        let Some(command) = wish(&self.scene, &self.world, &mut self.dice) else {
            return Ok(());
        };
        // Two people have the same thought at the same moment.
        let times = if self.dice.chance(20) { 2 } else { 1 };
        for _ in 0..times {
            let id = CommandId::parse(&format!("p{}", self.sent.len())).unwrap();
            self.sent.insert(id.clone(), command.clone());
            self.send(id)?;
        }
        Ok(())
    }

    /// Sends a command, perhaps again; the journal answers for those that have had their last word.
    fn send(&mut self, id: CommandId) -> Result<(), String> {
        let offered = match self.ledger.get(&id) {
            Some(Some(_)) => return Ok(()),
            Some(None) => true,
            None => false,
        };
        let command = self.sent[&id].clone();
        let facts = self.scene.facts.len();
        let reply =
            self.put(PoolInput::Command { id: id.clone(), by: speaker(&command), command })?;
        let Some(reply) = reply else { return Err(format!("{id} got no reply")) };
        if offered && (reply != Ok(CommandReply::Offered) || self.scene.facts.len() != facts) {
            return Err(format!("{id} was repeated and did something: {reply:?}"));
        }
        let last_word = (reply != Ok(CommandReply::Offered)).then_some(reply);
        self.ledger.insert(id, last_word);
        Ok(())
    }

    fn perform(&mut self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let action = self.pending.remove(self.dice.below(self.pending.len()));
        match self.world.perform(&action, &mut self.dice)? {
            Performed::Done => {}
            Performed::Again => self.pending.push(action),
        }
        Ok(())
    }

    fn news(&mut self) -> Result<(), String> {
        if self.world.news.is_empty() {
            return Ok(());
        }
        let input = self.world.news.remove(self.dice.below(self.world.news.len()));
        if self.world.trouble > 0 && self.dice.chance(10) {
            self.world.news.push(input.clone());
        }
        self.put(input).map(drop)
    }

    /// Every runner does something.
    fn work(&mut self) -> Result<(), String> {
        for (run, runner) in &mut self.world.runners {
            if runner.alive {
                runner.act(*run, &mut self.dice);
            }
        }
        Ok(())
    }

    fn lose_a_runner(&mut self) -> Result<(), String> {
        let alive = self.alive();
        if let Some(run) = self.dice.pick(&alive)
            && let Some(runner) = self.world.runners.get_mut(&run)
        {
            runner.alive = false;
        }
        Ok(())
    }

    fn alive(&self) -> Vec<RunId> {
        let alive = self.world.runners.iter().filter(|(_, runner)| runner.alive);
        alive.map(|(run, _)| *run).collect()
    }

    /// Reads what is new in every log, and some of what is not.
    fn read(&mut self) -> Result<(), String> {
        let runs: Vec<RunId> = self.scene.state.runs.keys().copied().collect();
        for run in runs {
            let Some(runner) = self.world.runners.get(&run).filter(|runner| !runner.lost) else {
                continue;
            };
            let from = self.tails.get(&run).copied().unwrap_or_default();
            let upto = from + self.dice.below(runner.log.len().saturating_sub(from) + 1);
            let from = from.saturating_sub(usize::from(self.dice.chance(15)));
            let lines = runner.log[from..upto].to_vec();
            for (place, what) in (from..upto).zip(lines) {
                self.put(PoolInput::Heard { run, seq: place as u64 + 1, what })?;
            }
            self.tails.insert(run, upto);
        }
        Ok(())
    }

    /// Notices runners that are gone.
    fn look_after_runners(&mut self) -> Result<(), String> {
        let runs: Vec<RunId> = self.scene.state.runs.keys().copied().collect();
        for run in runs {
            if self.is_dead(run) {
                self.put(PoolInput::RunnerGone { run })?;
            }
        }
        Ok(())
    }

    fn is_dead(&self, run: RunId) -> bool {
        self.world.runners.get(&run).is_some_and(|runner| !runner.alive)
    }

    /// The server dies and begins again, perhaps with another project file.
    fn crash(&mut self) -> Result<(), String> {
        self.pending.clear();
        self.world.news.clear();
        for tail in self.tails.values_mut() {
            *tail = self.dice.below(*tail + 1);
        }
        self.scene.state = self.folded()?;
        if self.dice.chance(30) {
            let names: &[&str] = if self.dice.chance(50) { &["ada"] } else { &["ada", "bob"] };
            self.scene.team.agents = team(names).agents;
            set_money(&mut self.scene.team, &mut self.dice);
        }
        if !self.forgets {
            self.pending = self.scene.state.owed();
        }
        self.put(PoolInput::Begun).map(drop)
    }

    /// The state that the facts make, which must be the state that is.
    fn folded(&self) -> Result<State, String> {
        let mut folded = State::default();
        for fact in &self.scene.facts {
            folded.apply(fact);
        }
        match folded == self.scene.state {
            true => Ok(folded),
            false => Err("the facts do not make the state that is".into()),
        }
    }

    /// The world behaves from now on, and everything must come to an end.
    fn come_to_rest(&mut self) -> Result<(), String> {
        (self.world.trouble, self.world.doom) = (0, 0);
        self.scene.team.agents = team(&["ada", "bob"]).agents;
        // Whoever waits for money waits for somebody to raise the cap.
        self.scene.team.limits.day_usd = None;
        self.put(PoolInput::Begun)?;
        self.free_every_story()?;
        for _ in 0..200 {
            while !self.pending.is_empty() {
                self.perform()?;
            }
            while !self.world.news.is_empty() {
                self.news()?;
            }
            for run in self.alive() {
                if let Some(runner) = self.world.runners.get_mut(&run) {
                    runner.end(Outcome::Completed, crate::ClosedBy::TurnEnd);
                }
            }
            let before = self.scene.facts.len();
            for _ in 0..4 {
                self.read()?;
            }
            self.look_after_runners()?;
            let moved = self.scene.facts.len() != before;
            if !moved && self.pending.is_empty() && self.scene.state.runs.is_empty() {
                break;
            }
        }
        self.judge_rest()
    }

    /// Whoever waits for another story, or for money of its own, waits for somebody to change that.
    fn free_every_story(&mut self) -> Result<(), String> {
        let stories: Vec<_> = self.scene.state.stories.keys().cloned().collect();
        for story in stories {
            let spec = StorySpec::default().into();
            let command =
                PoolCommand::EditStory { story, title: None, text: None, context: None, spec };
            let id = CommandId::parse(&format!("free{}", self.sent.len())).unwrap();
            self.sent.insert(id.clone(), command);
            self.send(id)?;
        }
        Ok(())
    }

    fn judge_rest(&self) -> Result<(), String> {
        self.folded()?;
        let worktrees: BTreeSet<_> = self.world.worktrees.keys().copied().collect();
        let mut usage = BTreeMap::new();
        for (run, runner) in self.world.runners.iter().filter(|(_, runner)| !runner.lost) {
            let reports = runner.log.iter().filter(|what| matches!(what, RunReport::Usage { .. }));
            usage.insert(*run, reports.count());
        }
        self.laws.at_rest(&self.scene.state, &worktrees, &usage)?;
        self.taken_is_delivered()?;
        match self.ledger.iter().find(|(_, word)| word.is_none()) {
            Some((id, _)) => Err(format!("{id} was offered and never settled")),
            None => Ok(()),
        }
    }

    /// Nobody is told that a run did not take what is in its log.
    fn taken_is_delivered(&self) -> Result<(), String> {
        let read = self.world.runners.iter().filter(|(_, runner)| !runner.lost);
        for (run, what) in read.flat_map(|(run, runner)| runner.log.iter().map(move |w| (run, w))) {
            if let RunReport::Taken { command } = what
                && let Some(Some(Err(refusal))) = self.ledger.get(command)
            {
                return Err(format!("{run} had taken {command}, and yet: {refusal}"));
            }
        }
        Ok(())
    }
}

/// A cap for the day, and what each agent may spend; either may be absent.
fn set_money(team: &mut Team, dice: &mut Dice) {
    let mut amount = |most: usize| {
        let some = dice.chance(50);
        let dollars = 1 + dice.below(most);
        some.then(|| Usd::from_dollars(dollars as f64))
    };
    team.limits.day_usd = amount(12);
    for seat in &mut team.agents {
        seat.budget = amount(4);
    }
}

fn simulate(seed: u64, broken: Broken) -> Result<(), String> {
    Simulation::new(seed, broken).run()
}

fn all_hold(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(broken) = simulate(seed, Broken::default()) {
            panic!("seed {seed}: {broken}");
        }
    }
}

#[test]
fn the_laws_hold_in_ten_thousand_orders_first_half() {
    all_hold(0..SEEDS / 2);
}

#[test]
fn the_laws_hold_in_ten_thousand_orders_second_half() {
    all_hold(SEEDS / 2..SEEDS);
}

#[test]
fn the_orders_reach_every_kind_of_fact_and_many_refusals() {
    let mut facts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refusals: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..500 {
        let mut simulation = Simulation::new(seed, Broken::default());
        simulation.run().unwrap();
        for fact in &simulation.scene.facts {
            *facts.entry(fact.name()).or_default() += 1;
        }
        for word in simulation.ledger.values().flatten() {
            if let Err(refusal) = word {
                *refusals.entry(refusal.code()).or_default() += 1;
            }
        }
    }
    println!("{facts:?}\n{refusals:?}");
    assert!(refusals.len() >= 17, "{refusals:?}");
    assert_eq!(facts.len(), super::records::KINDS, "{facts:?}");
}

#[test]
fn a_broken_rule_is_noticed() {
    let rules = [
        BrokenRule::OneRun,
        BrokenRule::Places,
        BrokenRule::OneRunPerSlot,
        BrokenRule::OneAnswer,
        BrokenRule::ShownOnly,
        BrokenRule::OneHearing,
        BrokenRule::LiveOnly,
        BrokenRule::RestartBound,
        BrokenRule::WishHeeded,
        BrokenRule::EndSettles,
        BrokenRule::TakenCounts,
        BrokenRule::StopBeforeStart,
        BrokenRule::QueueMoves,
        BrokenRule::StoryBusy,
        BrokenRule::NothingLeft,
        BrokenRule::DayCap,
        BrokenRule::UnknownHeld,
        BrokenRule::SecretsRefused,
        BrokenRule::AfterHeeded,
        BrokenRule::CycleRefused,
        BrokenRule::StoryBudget,
    ];
    let mut all: Vec<Broken> = rules.map(|rule| Broken { rule: Some(rule), forgets: false }).into();
    all.push(Broken { rule: None, forgets: true });
    for broken in all {
        let noticed = (0..500).find_map(|seed| Some((seed, simulate(seed, broken).err()?)));
        let Some((seed, how)) = noticed else { panic!("{broken:?} was never noticed") };
        println!("{broken:?} was noticed with seed {seed}: {how}");
    }
}
