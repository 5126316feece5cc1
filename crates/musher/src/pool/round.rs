//! One round of the loop: take what waits, decide it all, commit once, and only then act and reply.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use musher_core::pool::{
    Action, CommandReply, Fact, PoolDecision, PoolInput, Refusal, RunReport, State, Team, decide,
};
use musher_core::{Actor, CommandId};

use super::PoolError;
use super::handle::{AcceptedCommand, Idempotency, PendingCommand, PoolEnd, PoolFailure};
use super::log_lines::FactLine;
use super::unsaid::{UnsaidPrompts, unsaid};
use super::waiting::Waiting;
use super::wish::{Unresolved, Wish, resolve};
use crate::journal::{DecidedStep, Journal, JournalBatch, JournalError, KeptReply};
use musher_os::fail;

/// How many inputs are committed together at most. More would make the first of them wait.
const MAX_ROUND_INPUTS: usize = 256;
/// How often a full disk is tried again.
const FULL_DISK_RETRY_DELAY: Duration = Duration::from_millis(250);
/// A round that takes longer than this is told: everybody waits for it.
const SLOW_ROUND: Duration = Duration::from_millis(500);

type Answer = oneshot::Sender<Result<AcceptedCommand, PoolError>>;

/// A wish, under which id it goes, and who has it.
#[derive(Debug, Clone)]
pub(super) struct SaidWish {
    pub(super) id: CommandId,
    pub(super) by: Actor,
    pub(super) wish: Wish,
    pub(super) idempotency: Option<Idempotency>,
}

/// Everything that can wake the loop.
#[derive(Debug)]
pub(super) enum Wake {
    Wish { said: SaidWish, answer: Answer },
    World(PoolInput),
    Team(Team),
    Look(StateQuery),
    Close,
}

impl Wake {
    /// Whether the world tells how a run ends, which makes room.
    fn is_an_end(&self) -> bool {
        match self {
            Self::World(input) => matches!(
                input,
                PoolInput::Heard { what: RunReport::Ended { .. }, .. }
                    | PoolInput::RunnerGone { .. }
                    | PoolInput::LogLost { .. }
                    | PoolInput::Finished { .. }
            ),
            Self::Wish { .. } | Self::Team(_) | Self::Look(_) | Self::Close => false,
        }
    }
}

/// A question about the state.
pub(super) struct StateQuery(pub(super) Box<dyn FnOnce(&State) + Send>);

impl std::fmt::Debug for StateQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Look")
    }
}

/// The loop and all that it owns.
pub(super) struct Rounds {
    pub(super) journal: Journal,
    pub(super) state: State,
    pub(super) team: Team,
    pub(super) now: Box<dyn Fn() -> i64 + Send>,
    pub(super) actions: Box<dyn FnMut(Vec<Action>) + Send>,
    pub(super) wakes: mpsc::Receiver<Wake>,
    pub(super) published: watch::Sender<u64>,
    pub(super) unsaid: watch::Sender<UnsaidPrompts>,
    pub(super) end: PoolEnd,
    pub(super) waiting: Waiting,
    /// What happened in the world and could not be written, because the disk was full.
    pub(super) held: Vec<Wake>,
    /// The disk has been full since then.
    pub(super) no_room: Option<NoRoom>,
}

/// A full disk, and how often it was tried.
#[derive(Debug)]
pub(super) struct NoRoom {
    since: Instant,
    attempts: u32,
}

/// What is told once the round is durable, in this order. If it never is, all of it is dropped, and whoever waits for
/// an answer learns from the silence that the loop broke.
#[derive(Default)]
struct Outcome {
    actions: Vec<Action>,
    answers: Vec<(Asker, Word)>,
    /// Whoever asked for what could not be written.
    unanswered: Vec<Asker>,
    settled: Vec<(CommandId, Result<CommandReply, Refusal>)>,
    looks: Vec<StateQuery>,
    closing: bool,
    /// What happened in the world, in case that it must be heard again.
    world: Vec<Wake>,
    /// What the log tells of the round.
    lines: Vec<FactLine>,
}

/// Who waits for a reply.
struct Asker {
    answer: Answer,
    /// What was wished, if it must be heard again on a full disk.
    ending: Option<SaidWish>,
}

impl Asker {
    fn again(self) -> Result<Wake, Answer> {
        let Self { answer, ending } = self;
        match ending {
            Some(said) => Ok(Wake::Wish { said, answer }),
            None => Err(answer),
        }
    }
}

/// What the sender of a command will hear.
enum Word {
    Last(Result<CommandReply, PoolError>),
    /// The last word on this command is still to come.
    Wait(CommandId),
}

impl Rounds {
    /// Runs until it is closed, or until everybody who could send something is gone, or until the journal fails.
    pub(super) fn run(mut self) {
        let guard = PanicGuard(PoolFailure::clone(&self.end.broken));
        let owed = self.state.owed();
        self.act(owed);
        let mut wakes = vec![Wake::World(PoolInput::Begun)];
        loop {
            match self.round(wakes) {
                Ok(Flow::On) => {}
                Ok(Flow::End) => break,
                Err(error) => {
                    tracing::error!(cause = %error, "journal could not be written; the server ends");
                    let _told_before = self.end.broken.set(error.to_string());
                    break;
                }
            }
            wakes = std::mem::take(&mut self.held);
            match wakes.is_empty() {
                true => match self.wakes.blocking_recv() {
                    Some(wake) => wakes.push(wake),
                    None => break,
                },
                // The next server hears all of it again.
                false if self.wakes.is_closed() => break,
                false => std::thread::sleep(FULL_DISK_RETRY_DELAY),
            }
            // When very much is held, whoever sends more has to wait.
            while wakes.len() < MAX_ROUND_INPUTS
                && let Ok(wake) = self.wakes.try_recv()
            {
                wakes.push(wake);
            }
        }
        drop(guard);
    }

    /// Decides all that came, one arm for each kind of message, commits it at once, and tells of it.
    fn round(&mut self, wakes: Vec<Wake>) -> Result<Flow, JournalError> {
        let mut outcome = Outcome::default();
        let (began, inputs) = (Instant::now(), wakes.len());
        let mut wakes = wakes.into_iter();
        let mut decide_all = || -> Result<u64, JournalError> {
            let mut batch = self.journal.batch()?;
            let (state, team) = (&mut self.state, &mut self.team);
            let mut decider = Decider { state, team, outcome: &mut outcome };
            for wake in wakes.by_ref() {
                let now = (self.now)();
                match wake {
                    Wake::Wish { said, answer } => {
                        let ending = said.wish.ends_a_run().then(|| said.clone());
                        let asker = Asker { answer, ending };
                        match decider.wish(said, now, &mut batch) {
                            Ok(word) => decider.outcome.answers.push((asker, word)),
                            Err(error) => {
                                decider.outcome.unanswered.push(asker);
                                return Err(error);
                            }
                        }
                    }
                    Wake::World(input) => {
                        decider.outcome.world.push(Wake::World(input.clone()));
                        decider.decide(input, None, now, &mut batch)?;
                    }
                    Wake::Team(team) => {
                        decider.outcome.world.push(Wake::Team(team.clone()));
                        *decider.team = team;
                        decider.decide(PoolInput::Begun, None, now, &mut batch)?;
                    }
                    Wake::Look(look) => decider.outcome.looks.push(look),
                    Wake::Close => decider.outcome.closing = true,
                }
            }
            batch.commit(&self.state)
        };
        let decided = decide_all();
        let took = began.elapsed();
        if took > SLOW_ROUND {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(ms, inputs, "journal is slow");
        }
        match decided {
            Ok(last) => Ok(self.tell(outcome, last)),
            Err(error @ JournalError::NoRoom { .. }) => self.put_off(outcome, wakes, &error),
            Err(error) => Err(error),
        }
    }

    /// The disk is full, so the round never was: wishes are refused, and what happened in the world is heard again. The
    /// end of a run makes room, so it is written in the room that was kept for it.
    fn put_off(
        &mut self,
        outcome: Outcome,
        unheard: impl Iterator<Item = Wake>,
        error: &JournalError,
    ) -> Result<Flow, JournalError> {
        (self.state, _) = self.journal.load()?;
        let full =
            self.no_room.get_or_insert_with(|| NoRoom { since: Instant::now(), attempts: 0 });
        full.attempts += 1;
        // The first tries are told one by one, and then ever fewer of them.
        if full.attempts.is_power_of_two() {
            let attempt = full.attempts;
            tracing::warn!(attempt, cause = %error, "journal has no room, trying again");
        }
        let Outcome { answers, unanswered, mut looks, mut closing, mut world, .. } = outcome;
        let askers = answers.into_iter().map(|(asker, _)| asker).chain(unanswered);
        let (mut wishes, mut refused) = (Vec::new(), Vec::new());
        for asker in askers {
            match asker.again() {
                Ok(wish) => wishes.push(wish),
                Err(answer) => refused.push(answer),
            }
        }
        for wake in unheard {
            match wake {
                Wake::Wish { ref said, .. } if said.wish.ends_a_run() => wishes.push(wake),
                Wake::Wish { answer, .. } => refused.push(answer),
                Wake::World(_) | Wake::Team(_) => world.push(wake),
                Wake::Look(look) => looks.push(look),
                Wake::Close => closing = true,
            }
        }
        for StateQuery(look) in looks {
            look(&self.state);
        }
        let refuse = |answer: Answer| {
            // The sender may have left.
            let _left = answer.send(Err(PoolError::NoRoom { why: error.to_string() }));
        };
        refused.into_iter().for_each(refuse);
        let pressing = !wishes.is_empty() || world.iter().any(Wake::is_an_end);
        if pressing && self.journal.give_way() {
            let again = world.into_iter().chain(wishes).chain(closing.then_some(Wake::Close));
            // What was kept for it is no sign that the disk has room.
            let full = self.no_room.take();
            let flow = self.round(again.collect());
            self.no_room = full;
            return flow;
        }
        for wish in wishes {
            if let Wake::Wish { answer, .. } = wish {
                refuse(answer);
            }
        }
        self.held = world;
        Ok(if closing { Flow::End } else { Flow::On })
    }

    /// Everything is durable: now it may be done and told.
    fn tell(&mut self, outcome: Outcome, last: u64) -> Flow {
        let Outcome { actions, answers, settled, looks, closing, lines, .. } = outcome;
        if last != *self.published.borrow()
            && let Some(NoRoom { since, attempts }) = self.no_room.take()
        {
            let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(ms, attempts, "journal has room again");
        }
        if !answers.is_empty() {
            fail::point("after_commit");
        }
        self.journal.keep_room();
        let unsaid = unsaid(&self.state);
        self.unsaid.send_if_modified(|told| {
            let is_news = **told != unsaid;
            if is_news {
                *told = Arc::new(unsaid);
            }
            is_news
        });
        // Whoever hears a reply must find its facts published.
        self.published.send_if_modified(|published| std::mem::replace(published, last) != last);
        self.act(actions);
        lines.iter().for_each(FactLine::log);
        for (Asker { answer, .. }, word) in answers {
            let result = match word {
                Word::Last(result) => result.map(AcceptedCommand::Final),
                Word::Wait(command) => {
                    let last_word = self.waiting.add(&command);
                    let end = self.end.clone();
                    Ok(AcceptedCommand::Pending(PendingCommand { command, last_word, end }))
                }
            };
            // The sender may have left.
            let _left = answer.send(result);
        }
        for (command, word) in settled {
            for waiter in self.waiting.take(&command) {
                // A waiter that left does not want to know.
                let _left = waiter.send(word.clone().map_err(PoolError::Refused));
            }
        }
        for StateQuery(look) in looks {
            look(&self.state);
        }
        if closing { Flow::End } else { Flow::On }
    }

    fn act(&mut self, actions: Vec<Action>) {
        if !actions.is_empty() {
            (self.actions)(actions);
        }
    }
}

/// Whether another round follows.
enum Flow {
    On,
    End,
}

/// Says that the loop broke if a bug made it panic, because then nobody else would.
struct PanicGuard(PoolFailure);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _told_before = self.0.set("a bug stopped the pool; restart the server".into());
        }
    }
}

/// Decides the inputs of one round, one after another.
struct Decider<'a> {
    state: &'a mut State,
    team: &'a mut Team,
    outcome: &'a mut Outcome,
}

impl Decider<'_> {
    fn wish(
        &mut self,
        SaidWish { id, by, wish, idempotency }: SaidWish,
        now: i64,
        batch: &mut JournalBatch<'_>,
    ) -> Result<Word, JournalError> {
        if let Some(Idempotency { key, request_hash }) = &idempotency
            && let Some(kept) = batch.kept(key, now)?
        {
            return Ok(match kept.request_hash == *request_hash {
                true => self.again(kept.command, kept.reply),
                false => Word::Last(Err(PoolError::KeyReused { key: key.clone() })),
            });
        }
        let keep = idempotency.map(|idempotency| (idempotency, id.clone()));
        let command = match resolve(wish, self.state, batch) {
            Ok(command) => command,
            Err(Unresolved::Refused(refusal)) => {
                let kept = kept(keep, &Err(refusal.clone()));
                batch.write(&DecidedStep { at: now, kept, ..DecidedStep::default() })?;
                return Ok(Word::Last(Err(refusal.into())));
            }
            Err(Unresolved::NoRun { story, agent }) => {
                return Ok(Word::Last(Err(PoolError::NoRun { story, agent })));
            }
            Err(Unresolved::Journal(error)) => return Err(error),
        };
        let input = PoolInput::Command { id: id.clone(), by, command };
        let reply = self.decide(input, keep, now, batch)?;
        // Every command is replied to.
        Ok(self.again(id, reply.unwrap_or(Ok(CommandReply::Done))))
    }

    /// What was replied to a command, or that its last word is still to come.
    fn again(&self, command: CommandId, reply: Result<CommandReply, Refusal>) -> Word {
        let under_way = self.state.deliveries.contains_key(&command)
            || self.state.merges.contains_key(&command);
        match reply {
            Ok(CommandReply::Offered) if under_way => Word::Wait(command),
            reply => Word::Last(reply.map_err(PoolError::Refused)),
        }
    }

    fn decide(
        &mut self,
        input: PoolInput,
        keep: Option<(Idempotency, CommandId)>,
        now: i64,
        batch: &mut JournalBatch<'_>,
    ) -> Result<Option<Result<CommandReply, Refusal>>, JournalError> {
        let by = Some(input.by());
        let PoolDecision { mut facts, actions, texts, reply, settled } =
            decide(self.state, self.team, input, now);
        facts.iter_mut().for_each(tell_apart);
        for fact in &facts {
            self.outcome.lines.extend(FactLine::of(fact, self.state));
            self.state.apply(fact);
        }
        let kept = reply.as_ref().and_then(|reply| kept(keep, reply));
        let step = DecidedStep { at: now, by, facts, texts, kept, settled };
        batch.write(&step)?;
        self.outcome.actions.extend(actions);
        self.outcome.settled.extend(step.settled);
        Ok(reply)
    }
}

/// Gives a run what no other has. To decide is to compute, and randomness is of the world.
fn tell_apart(fact: &mut Fact) {
    if let Fact::RunQueued { nonce, .. } = fact {
        nonce.get_or_insert_with(|| Uuid::new_v4().simple().to_string());
    }
}

/// The reply to a command that came with a key.
fn kept(
    keep: Option<(Idempotency, CommandId)>,
    reply: &Result<CommandReply, Refusal>,
) -> Option<KeptReply> {
    let (Idempotency { key, request_hash }, command) = keep?;
    Some(KeptReply { key, request_hash, command, reply: reply.clone() })
}
