//! The world around the pool: worktrees, runners with their logs, and what they send back.

use std::collections::BTreeMap;

use super::dice::Dice;
use crate::pool::{
    Action, Assignment, DeliveryKind, PoolInput, Refusal, RunReport, SecretPlace, Undelivered,
    UndeliveredCode,
};
use crate::{
    AskId, BranchRef, ClosedBy, CommandId, ErrorClass, ErrorInfo, LedgerEntry, Outcome, RunId,
    SessionId, SlotId, Spend, Tokens, Usd, WorktreeStart,
};

/// Everything that is not the pool.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) worktrees: BTreeMap<SlotId, BranchRef>,
    pub(super) runners: BTreeMap<RunId, Runner>,
    /// What the pool has not heard yet.
    pub(super) news: Vec<PoolInput>,
    /// What the search of a branch found, for each merge; it finds the same again.
    pub(super) searched: BTreeMap<CommandId, bool>,
    /// How many in a hundred attempts fail.
    pub(super) trouble: usize,
    /// How many in a hundred runners die as soon as they are started.
    pub(super) doom: usize,
}

/// One runner, alive or dead, and its log.
#[derive(Debug)]
pub(super) struct Runner {
    slot: SlotId,
    pub(super) alive: bool,
    pub(super) log: Vec<RunReport>,
    /// What it said to commands; a repeated one hears the same again.
    said: BTreeMap<CommandId, Result<(), Undelivered>>,
    pub(super) open: Vec<AskId>,
    /// How often an answer took effect.
    effects: BTreeMap<AskId, u32>,
    asks: u32,
    stopping: bool,
    /// Its log cannot be read any more.
    pub(super) lost: bool,
}

/// Whether an action is done with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Performed {
    Done,
    /// The answer was lost, so it is tried again.
    Again,
}

impl World {
    /// Takes an action; an error names the law that it broke.
    pub(super) fn perform(
        &mut self,
        action: &Action,
        dice: &mut Dice,
    ) -> Result<Performed, String> {
        let fails = dice.chance(self.trouble);
        match action.clone() {
            Action::Prepare { run, slot, branch, start, .. } => {
                self.prepare(run, slot, branch, start, fails, dice)?;
            }
            Action::Spawn(Assignment { run, slot, .. }) => {
                self.spawn(run, slot, fails)?;
                if dice.chance(self.doom)
                    && let Some(runner) = self.runners.get_mut(&run)
                {
                    runner.alive = false;
                }
            }
            Action::Deliver { run, command, kind } => {
                return self.deliver(run, command, &kind, fails, dice);
            }
            Action::Grant { run, command, .. } => {
                let refusal = Refusal::LocalFileUnwritten { message: "no room".into() };
                let result = if fails { Err(refusal) } else { Ok(()) };
                self.news.push(PoolInput::Granted { run, command, result });
            }
            Action::CloseLog { run } => self.close_log(run, fails)?,
            Action::Finish { run, slot, .. } => {
                self.deserted(slot, "finished")?;
                let commit = dice.chance(50).then(|| "abc".to_owned());
                self.news.push(PoolInput::Finished { run, commit, error: None });
            }
            Action::Release { slot, branch } => {
                self.deserted(slot, "released")?;
                match self.worktrees.get(&slot) {
                    Some(found) if *found != branch => {
                        return Err(format!(
                            "{slot} was released with {found} instead of {branch}"
                        ));
                    }
                    Some(_) | None => self.worktrees.remove(&slot),
                };
                self.news.push(PoolInput::Released { slot, branch });
            }
            Action::SearchSecrets { command, branch } => {
                let holds = *self.searched.entry(command.clone()).or_insert(dice.chance(30));
                let place = SecretPlace { path: "a".into(), line: 1, name: "KEY".into() };
                let found = if holds { vec![place] } else { Vec::new() };
                let result = if fails { Err("a pipe".into()) } else { Ok(found) };
                self.news.push(PoolInput::Searched { command, story: branch.story, result });
            }
            Action::Merge { command, branch } => {
                if self.searched.get(&command) == Some(&true) {
                    return Err(format!("{branch} was merged with secrets that nobody accepted"));
                }
                let result = if fails { Err("a conflict".into()) } else { Ok("def".into()) };
                self.news.push(PoolInput::Merged { command, story: branch.story, result });
            }
        }
        Ok(Performed::Done)
    }

    fn prepare(
        &mut self,
        run: RunId,
        slot: SlotId,
        branch: BranchRef,
        start: WorktreeStart,
        fails: bool,
        dice: &mut Dice,
    ) -> Result<(), String> {
        self.deserted(slot, "prepared")?;
        let there = self.worktrees.get(&slot);
        match start {
            WorktreeStart::Fresh | WorktreeStart::Snapshot { .. } => {
                if let Some(found) = there.filter(|found| **found != branch) {
                    return Err(format!("{slot} still had the work of {found}"));
                }
            }
            WorktreeStart::Keep => {
                if there != Some(&branch) {
                    return Err(format!("{slot} was to keep {branch}, but had {there:?}"));
                }
            }
        }
        if let WorktreeStart::Snapshot { of } = start
            && !self.worktrees.contains_key(&of)
        {
            return Err(format!("{slot} was to be a copy of {of}, which is not there"));
        }
        // A failure may leave something half made.
        if !fails || dice.chance(50) {
            self.worktrees.insert(slot, branch);
        }
        self.news.push(match fails {
            true => PoolInput::PrepareFailed { run, error: broken() },
            false => PoolInput::Prepared { run, head: "abc".into() },
        });
        Ok(())
    }

    fn spawn(&mut self, run: RunId, slot: SlotId, fails: bool) -> Result<(), String> {
        match self.runners.get(&run) {
            Some(runner) if runner.alive => self.news.push(PoolInput::RunnerUp { run }),
            Some(runner) if !runner.has_ended() => self.news.push(PoolInput::RunnerGone { run }),
            // Its log tells the rest.
            Some(_) => {}
            None if fails => self.news.push(PoolInput::SpawnFailed { run, error: broken() }),
            None => {
                self.deserted(slot, "given to a second runner")?;
                if !self.worktrees.contains_key(&slot) {
                    return Err(format!("{run} was started in {slot}, which is not there"));
                }
                self.runners.insert(run, Runner::new(slot));
                self.news.push(PoolInput::RunnerUp { run });
            }
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        run: RunId,
        command: CommandId,
        kind: &DeliveryKind,
        fails: bool,
        dice: &mut Dice,
    ) -> Result<Performed, String> {
        let Some(runner) = self.runners.get_mut(&run) else {
            return Err(format!("{command} was delivered to {run}, which has no runner"));
        };
        if !runner.alive {
            return Ok(Performed::Done);
        }
        let result = match runner.said.get(&command) {
            Some(said) => said.clone(),
            None => runner.obey(&command, kind, fails)?,
        };
        runner.said.insert(command.clone(), result.clone());
        // The acknowledgement may be lost.
        if self.trouble > 0 && dice.chance(25) {
            return Ok(Performed::Again);
        }
        self.news.push(PoolInput::Delivered { run, command, result });
        Ok(Performed::Done)
    }

    fn close_log(&mut self, run: RunId, fails: bool) -> Result<(), String> {
        let Some(runner) = self.runners.get_mut(&run) else {
            return Err(format!("{run} has no log to close"));
        };
        if runner.alive {
            return Err(format!("the log of {run} was closed while its runner wrote it"));
        }
        runner.lost |= fails;
        if runner.lost {
            self.news.push(PoolInput::LogLost { run, error: broken() });
            return Ok(());
        }
        if !runner.has_ended() {
            runner.end(Outcome::Lost, ClosedBy::ProcessEnd);
        }
        Ok(())
    }

    /// No live runner may be in a worktree that is being changed.
    fn deserted(&self, slot: SlotId, what: &str) -> Result<(), String> {
        match self.runners.iter().find(|(_, runner)| runner.alive && runner.slot == slot) {
            Some((run, _)) => Err(format!("{slot} was {what} while {run} was alive in it")),
            None => Ok(()),
        }
    }
}

impl Runner {
    fn new(slot: SlotId) -> Self {
        Self {
            slot,
            alive: true,
            log: Vec::new(),
            said: BTreeMap::new(),
            open: Vec::new(),
            effects: BTreeMap::new(),
            asks: 0,
            stopping: false,
            lost: false,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.log.last(), Some(RunReport::Ended { .. }))
    }

    fn obey(
        &mut self,
        command: &CommandId,
        kind: &DeliveryKind,
        fails: bool,
    ) -> Result<Result<(), Undelivered>, String> {
        let refused = |code| Ok(Err(Undelivered { code, message: "no".into() }));
        match kind {
            DeliveryKind::Answer { ask, .. } => {
                let Some(place) = self.open.iter().position(|open| open == ask) else {
                    return refused(UndeliveredCode::AskClosed);
                };
                if fails {
                    return refused(UndeliveredCode::Unfit);
                }
                self.open.remove(place);
                let (ask, command) = (ask.clone(), Some(command.clone()));
                let effects = self.effects.entry(ask.clone()).or_default();
                *effects += 1;
                if *effects > 1 {
                    return Err(format!("an answer to {ask} took effect twice"));
                }
                self.log.push(RunReport::AskClosed { ask, by: ClosedBy::Person, command });
            }
            DeliveryKind::Stop | DeliveryKind::Kill => self.stopping = true,
            DeliveryKind::Prompt | DeliveryKind::Steer => {
                self.log.push(RunReport::Taken { command: command.clone() });
            }
            // Whether the agent has heard it by then is up to the runner.
            DeliveryKind::TakeBack { .. } | DeliveryKind::Change { .. } if fails => {
                return refused(UndeliveredCode::Unfit);
            }
            DeliveryKind::TakeBack { .. }
            | DeliveryKind::Interrupt
            | DeliveryKind::Change { .. } => {}
        }
        Ok(Ok(()))
    }

    /// Writes something into the log.
    pub(super) fn act(&mut self, run: RunId, dice: &mut Dice) {
        if self.log.is_empty() {
            let session = SessionId::new(format!("session of {run}"));
            self.log.push(RunReport::Session { session });
            return;
        }
        match dice.below(12) {
            _ if self.stopping => self.end(Outcome::Stopped, ClosedBy::TurnEnd),
            0 => self.log.push(RunReport::SetupDone),
            1..=5 => {
                self.asks += 1;
                let ask = AskId::new(format!("a{}", self.asks));
                let settled = dice.chance(20);
                self.log.push(RunReport::AskOpened { ask: ask.clone(), settled });
                match settled {
                    true => {
                        let (by, command) = (ClosedBy::Rule, None);
                        self.log.push(RunReport::AskClosed { ask, by, command });
                    }
                    false => self.open.push(ask),
                }
            }
            6 => {
                if let Some(ask) = self.open.pop() {
                    let (by, command) = (ClosedBy::Deadline, None);
                    self.log.push(RunReport::AskClosed { ask, by, command });
                }
            }
            7..=9 => {
                // Some models tell no cost.
                let cents = dice.below(250) as f64;
                let cost_usd = dice.chance(80).then(|| Usd::from_dollars(cents / 100.0));
                let spend = Spend::costing(Tokens::default(), cost_usd);
                let (cut, settles) = (dice.chance(50), dice.chance(10));
                let entry = LedgerEntry { cut, settles, ..spend.into() };
                self.log.push(RunReport::Usage { model: None, entry });
            }
            10 if dice.chance(50) => self.end(Outcome::Failed, ClosedBy::TurnEnd),
            11 if dice.chance(50) => self.end(Outcome::Completed, ClosedBy::TurnEnd),
            _ => {}
        }
    }

    /// Writes the end and is gone.
    pub(super) fn end(&mut self, outcome: Outcome, by: ClosedBy) {
        for ask in self.open.drain(..) {
            self.log.push(RunReport::AskClosed { ask, by, command: None });
        }
        self.log.push(RunReport::Ended { outcome, error: None, session: None });
        self.alive = false;
    }
}

fn broken() -> ErrorInfo {
    ErrorInfo::new(ErrorClass::Internal, "broken")
}
