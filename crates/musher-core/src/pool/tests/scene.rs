//! A pool for tests: one state, one team, and a short way to say what happens to it.

use super::broken::{BrokenRule, decide_broken};
use crate::pool::{
    CommandReply, Fact, PoolCommand, PoolDecision, PoolInput, PoolLimits, Refusal, RunReport, Seat,
    State, Team, decide,
};
use crate::{
    Actor, AgentName, BranchRef, CommandId, Outcome, PastRun, RunId, SessionId, ShownAsk, SlotId,
    StoryId,
};

/// A pool with its past.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) team: Team,
    pub(super) state: State,
    pub(super) facts: Vec<Fact>,
    /// What the journal would know of the runs that ended.
    pub(super) past: std::collections::BTreeMap<RunId, PastRun>,
    pub(super) now: i64,
    pub(super) broken: Option<BrokenRule>,
    commands: u64,
}

impl Scene {
    /// A team of two, without stories.
    pub(super) fn new() -> Self {
        Self {
            team: team(&["ada", "bob"]),
            state: State::default(),
            facts: Vec::new(),
            past: std::collections::BTreeMap::new(),
            now: 1_000_000,
            broken: None,
            commands: 0,
        }
    }

    /// A team of two with the open story `s1`.
    pub(super) fn with_story() -> Self {
        let mut scene = Self::new();
        scene.add_story().unwrap();
        scene
    }

    /// Decides, and folds what was decided.
    pub(super) fn put(&mut self, input: PoolInput) -> PoolDecision {
        let decision = match self.broken {
            None => decide(&self.state, &self.team, input, self.now),
            Some(rule) => decide_broken(&self.state, &self.team, input, self.now, rule),
        };
        for fact in &decision.facts {
            if let Fact::RunEnded { run, outcome, .. } = fact
                && let Some(found) = self.state.runs.get(run)
            {
                self.past.insert(*run, found.past(*run, *outcome));
            }
            self.state.apply(fact);
            self.facts.push(fact.clone());
        }
        decision
    }

    /// Sends a command under a new id.
    pub(super) fn tell(&mut self, command: PoolCommand) -> PoolDecision {
        self.commands += 1;
        let id = CommandId::parse(&format!("c{}", self.commands)).unwrap();
        self.put(PoolInput::Command { id, by: Actor::POOL, command })
    }

    pub(super) fn reply(&mut self, command: PoolCommand) -> Result<CommandReply, Refusal> {
        self.tell(command).reply.unwrap()
    }

    /// The id of the last command.
    pub(super) fn last_command(&self) -> CommandId {
        CommandId::parse(&format!("c{}", self.commands)).unwrap()
    }

    pub(super) fn add_story(&mut self) -> Result<CommandReply, Refusal> {
        let (title, text) = ("Paint the door".into(), "Red.".into());
        let (context, spec) = Default::default();
        self.reply(PoolCommand::AddStory { id: None, title, text, context, spec })
    }

    pub(super) fn hear(&mut self, run: RunId, seq: u64, what: RunReport) -> PoolDecision {
        self.put(PoolInput::Heard { run, seq, what })
    }

    /// Starts a run of an agent on a story; it is as far as the limits let it be.
    pub(super) fn start(&mut self, story: &str, agent: &str) -> RunId {
        let command = start(story, agent);
        match self.reply(command) {
            Ok(CommandReply::Run(run)) => run,
            other => panic!("{other:?}"),
        }
    }

    /// Takes a run from its place to life.
    pub(super) fn go_live(&mut self, run: RunId) {
        self.put(PoolInput::Prepared { run, head: "abc".into() });
        self.put(PoolInput::RunnerUp { run });
    }

    pub(super) fn live(&mut self, story: &str, agent: &str) -> RunId {
        let run = self.start(story, agent);
        self.go_live(run);
        run
    }

    /// Lets a live run name its session.
    pub(super) fn name_session(&mut self, run: RunId, seq: u64, session: &str) -> PoolDecision {
        self.hear(run, seq, RunReport::Session { session: SessionId::new(session) })
    }

    /// Ends a run that has a log, and finishes it.
    pub(super) fn end(&mut self, run: RunId, outcome: Outcome) -> PoolDecision {
        self.hear(run, u64::from(u32::MAX), ended(outcome));
        self.put(PoolInput::Finished { run, commit: None, error: None })
    }

    /// Loses a live run, and finishes it.
    pub(super) fn lose(&mut self, run: RunId) -> PoolDecision {
        self.put(PoolInput::RunnerGone { run });
        self.end(run, Outcome::Lost)
    }

    /// Empties a slot of the first branch of a story.
    pub(super) fn released(&mut self, slot: u32, of: &str) -> PoolDecision {
        let branch = BranchRef::plain(story(of), 1);
        self.put(PoolInput::Released { slot: SlotId(slot), branch })
    }

    /// What the journal knows of a run that is over.
    pub(super) fn past(&self, run: RunId) -> PastRun {
        self.past.get(&run).cloned().unwrap()
    }
}

/// An ask that was looked at before it was answered.
pub(super) fn seen() -> ShownAsk {
    ShownAsk { shown: Some("digest".into()), logged: Some("digest".into()) }
}

pub(super) fn team(names: &[&str]) -> Team {
    let seat = |name: &&str| Seat { name: agent(name), model: None, budget: None, turns: true };
    let limits = PoolLimits { runs: 8, runs_per_agent: 4, runs_per_story: 4, day_usd: None };
    Team { agents: names.iter().map(seat).collect(), limits }
}

pub(super) fn story(id: &str) -> StoryId {
    StoryId::parse(id).unwrap()
}

pub(super) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

pub(super) fn run(n: u64) -> RunId {
    RunId::minted(n)
}

pub(super) fn start(on: &str, by: &str) -> PoolCommand {
    PoolCommand::StartRun {
        story: story(on),
        agent: Some(agent(by)),
        model: None,
        prompt: None,
        options: Default::default(),
    }
}

pub(super) fn ended(outcome: Outcome) -> RunReport {
    RunReport::Ended { outcome, error: None, session: None }
}
