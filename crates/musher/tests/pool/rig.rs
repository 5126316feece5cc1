//! A pool over a journal in a folder of its own, with a clock that stands still and a record of every action.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use musher::journal::Journal;
use musher::pool::{AcceptedCommand, Idempotency, Pool, PoolError, PoolHandle, RunName, Wish};
use musher_core::pool::{
    Action, CommandReply, PoolInput, PoolLimits, RunReport, Seat, State, Team,
};
use musher_core::{Actor, AgentName, CommandId, Outcome, RunId, ShownAsk, StoryId, Via, Who};
use tempfile::TempDir;

pub(crate) const NOON: i64 = 1_700_000_000_000;

/// Whoever gives the commands of these tests.
pub(crate) fn owner() -> Actor {
    Actor { who: Who::Owner, via: Via::Cli }
}

/// A folder with a journal in it.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("journal.db-wal")
    }

    pub(crate) fn open(&self) -> Journal {
        Journal::open(&self.journal(), NOON).unwrap()
    }

    /// What the facts in the file fold to.
    pub(crate) fn folded(&self) -> State {
        self.open().load().unwrap().0
    }

    pub(crate) fn begin(&self) -> Rig {
        Rig::begin(&self.journal())
    }

    /// A way into the file beside the journal's own.
    pub(crate) fn back_door(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.journal()).unwrap()
    }
}

/// A running pool.
pub(crate) struct Rig {
    pub(crate) handle: PoolHandle,
    pub(crate) clock: Arc<AtomicI64>,
    actions: Arc<Mutex<Vec<Action>>>,
    thread: JoinHandle<()>,
    runtime: tokio::runtime::Runtime,
}

impl Rig {
    pub(crate) fn begin(journal: &Path) -> Self {
        let clock = Arc::new(AtomicI64::new(NOON));
        let actions = Arc::new(Mutex::new(Vec::new()));
        let (time, record) = (Arc::clone(&clock), Arc::clone(&actions));
        let (handle, thread) = Pool::start(
            Journal::open(journal, NOON).unwrap(),
            team(&["ann", "bob"]),
            move || time.load(Ordering::SeqCst),
            move |actions| record.lock().unwrap().extend(actions),
        )
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { handle, clock, actions, thread, runtime }
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// A command id that was never given before, by an earlier rig neither.
    fn next_command(&self) -> CommandId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        command(&format!("c{}", LAST.fetch_add(1, Ordering::SeqCst)))
    }

    pub(crate) fn wish(&mut self, wish: Wish) -> Result<AcceptedCommand, PoolError> {
        let id = self.next_command();
        self.wait(self.handle.command(wish, id, owner(), None))
    }

    pub(crate) fn wish_with_key(
        &mut self,
        wish: Wish,
        key: &str,
        request_hash: &str,
    ) -> Result<AcceptedCommand, PoolError> {
        let id = self.next_command();
        let (key, request_hash) = (key.to_owned(), request_hash.to_owned());
        self.wait(self.handle.command(wish, id, owner(), Some(Idempotency { key, request_hash })))
    }

    /// The reply to a wish that has its last word at once.
    pub(crate) fn reply(&mut self, wish: Wish) -> Result<CommandReply, PoolError> {
        self.wish(wish).map(|accepted| match accepted {
            AcceptedCommand::Final(reply) => reply,
            AcceptedCommand::Pending(pending) => panic!("{pending:?} is still to be settled"),
        })
    }

    pub(crate) fn tell(&self, input: PoolInput) {
        self.wait(self.handle.tell(input)).unwrap();
    }

    pub(crate) fn hear(&self, run: RunId, seq: u64, what: RunReport) {
        self.tell(PoolInput::Heard { run, seq, what });
    }

    /// The state, after everything that was sent before.
    pub(crate) fn state(&self) -> State {
        self.wait(self.handle.inspect(State::clone)).unwrap()
    }

    /// Every action since this was last asked.
    pub(crate) fn actions(&self) -> Vec<Action> {
        std::mem::take(&mut self.actions.lock().unwrap())
    }

    pub(crate) fn add_story(&mut self, id: &str) -> StoryId {
        let wish = add(id);
        assert_eq!(self.reply(wish), Ok(CommandReply::Story(story(id))));
        story(id)
    }

    pub(crate) fn start_run(&mut self, story: &StoryId, agent: &str) -> RunId {
        match self.reply(start(story, agent)) {
            Ok(CommandReply::Run(run)) => run,
            other => panic!("no run was queued: {other:?}"),
        }
    }

    /// A run whose runner is up.
    pub(crate) fn live_run(&mut self, story: &StoryId, agent: &str) -> RunId {
        let run = self.start_run(story, agent);
        self.tell(PoolInput::Prepared { run, head: "abc".into() });
        self.tell(PoolInput::RunnerUp { run });
        run
    }

    pub(crate) fn end_run(&self, run: RunId, seq: u64, outcome: Outcome) {
        self.hear(run, seq, RunReport::Ended { outcome, error: None, session: None });
        self.tell(PoolInput::Finished { run, commit: None, error: None });
    }

    /// Ends the loop as a server that is told to end, and waits for it.
    pub(crate) fn end(self) -> State {
        let state = self.state();
        self.wait(self.handle.close());
        self.thread.join().unwrap();
        state
    }

    /// Waits for a loop that ends by itself.
    pub(crate) fn ended(self) -> Vec<Action> {
        self.thread.join().unwrap();
        std::mem::take(&mut self.actions.lock().unwrap())
    }
}

pub(crate) fn team(agents: &[&str]) -> Team {
    let seat = |name: &&str| Seat { name: agent(name), model: None, budget: None, turns: true };
    let limits = PoolLimits { runs: 8, runs_per_agent: 8, runs_per_story: 8, day_usd: None };
    Team { agents: agents.iter().map(seat).collect(), limits }
}

pub(crate) fn story(id: &str) -> StoryId {
    StoryId::parse(id).unwrap()
}

/// An ask that was looked at before it was answered.
pub(crate) fn seen() -> ShownAsk {
    ShownAsk { shown: Some("digest".into()), logged: Some("digest".into()) }
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

pub(crate) fn command(id: &str) -> CommandId {
    CommandId::parse(id).unwrap()
}

pub(crate) fn add(id: &str) -> Wish {
    Wish::AddStory {
        id: Some(story(id)),
        title: format!("Title of {id}"),
        text: "Text.".into(),
        context: Default::default(),
        spec: Default::default(),
    }
}

pub(crate) fn start(story: &StoryId, name: &str) -> Wish {
    let agent = Some(agent(name));
    Wish::StartRun {
        story: story.clone(),
        agent,
        model: None,
        prompt: None,
        options: Default::default(),
    }
}

pub(crate) fn prompt(run: RunId, text: &str) -> Wish {
    Wish::Prompt { run: RunName::Id(run), text: text.into() }
}
