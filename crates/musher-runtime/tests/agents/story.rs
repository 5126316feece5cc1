//! A session as a test sees it: what it has said so far, and what must hold of every session.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use musher_runtime::core::{
    Ask, AskId, ClosedBy, Delta, Event, EventKind, SessionEnded, TaskPhase, ToolPhase, TurnEnded,
};
use musher_runtime::{MARK, Runtime, Session, SessionHandle, SessionOutput, SessionSpec};
use musher_testkit::proc;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;
use uuid::Uuid;

/// Nothing in these tests takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running session and all it has said.
pub(crate) struct Story {
    session: Session,
    pub(crate) handle: SessionHandle,
    pub(crate) events: Vec<Event>,
    pub(crate) deltas: Vec<Delta>,
    mark: String,
}

impl Story {
    /// Starts a session whose processes can be found by a mark of our own.
    pub(crate) fn begin(runtime: &dyn Runtime, mut spec: SessionSpec) -> Self {
        let mark = Uuid::new_v4().simple().to_string();
        spec.environment = spec.environment.set(MARK, &mark);
        let session = runtime.start(spec);
        let handle = session.handle();
        let mark = format!("{MARK}={mark}");
        Self { session, handle, events: Vec::new(), deltas: Vec::new(), mark }
    }

    async fn hear(&mut self) -> Option<()> {
        let heard = timeout(PATIENCE, self.session.next()).await;
        match heard.unwrap_or_else(|_| panic!("nothing more was said after:\n{}", self.text()))? {
            SessionOutput::Event(event) => self.events.push(event),
            SessionOutput::Delta(delta) => self.deltas.push(delta),
        }
        Some(())
    }

    /// Listens to one more thing that is said.
    pub(crate) async fn listen(&mut self) {
        self.hear().await.expect("the session has ended");
    }

    /// Listens until an event is what is looked for; those already heard count.
    pub(crate) async fn until<T>(&mut self, find: impl Fn(&EventKind) -> Option<T>) -> T {
        let mut from = 0;
        loop {
            if let Some(found) = self.events[from..].iter().find_map(|event| find(&event.kind)) {
                return found;
            }
            from = self.events.len();
            if self.hear().await.is_none() {
                panic!("the session ended before it said that:\n{}", self.text());
            }
        }
    }

    /// Listens until `count` pieces of text have come.
    pub(crate) async fn until_deltas(&mut self, count: usize) {
        while self.deltas.len() < count {
            self.hear().await.expect("the session ended before it said so much");
        }
    }

    pub(crate) async fn until_ask(&mut self) -> (AskId, Ask) {
        let closed = self.closed_asks();
        self.until(|kind| match kind {
            EventKind::AskOpened { ask, body, .. } if !closed.contains_key(ask) => {
                Some((ask.clone(), body.clone()))
            }
            _ => None,
        })
        .await
    }

    pub(crate) async fn until_tool(&mut self, phase: ToolPhase) {
        self.until(|kind| matches!(kind, EventKind::Tool(t) if t.phase == phase).then_some(()))
            .await;
    }

    /// Waits until a tool of the session has started its sleepers.
    pub(crate) async fn until_sleeping(&self) {
        let sleeps = |pid: &i32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name == "sleep\n")
        };
        let started = async {
            while !self.processes().iter().any(sleeps) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, started).await.expect("nothing ever slept");
    }

    pub(crate) async fn until_turns_ended(&mut self, count: usize) {
        while self.turns().len() < count {
            self.hear().await.expect("the session ended before so many turns had");
        }
    }

    /// Listens to the end and checks nothing.
    pub(crate) async fn drain(mut self) {
        while self.hear().await.is_some() {}
    }

    /// Every word of every event and every delta.
    pub(crate) fn said(&self) -> String {
        let mut said = serde_json::to_string(&self.events).unwrap();
        self.deltas.iter().for_each(|delta| said.push_str(&delta.text));
        said
    }

    /// Listens to the end and checks what must hold of every session.
    pub(crate) async fn end(mut self) -> Ended {
        while self.hear().await.is_some() {}
        self.check();
        let EventKind::SessionEnded(end) = &self.events[self.events.len() - 1].kind else {
            panic!("the last event is not the end");
        };
        Ended { end: (**end).clone(), story: self }
    }

    pub(crate) fn turns(&self) -> Vec<&TurnEnded> {
        self.events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::TurnEnded(ended) => Some(&**ended),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn closed_asks(&self) -> BTreeMap<AskId, ClosedBy> {
        self.events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::AskClosed { ask, by, .. } => Some((ask.clone(), *by)),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn tools(&self, phase: ToolPhase) -> usize {
        let is = |event: &&Event| matches!(&event.kind, EventKind::Tool(t) if t.phase == phase);
        self.events.iter().filter(is).count()
    }

    /// Everything that was said, for a test that failed.
    pub(crate) fn text(&self) -> String {
        let line = |event: &Event| {
            let mut line = serde_json::to_string(event).unwrap();
            let cut = line.floor_char_boundary(line.len().min(300));
            line.truncate(cut);
            line
        };
        self.events.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn mark(&self) -> String {
        self.mark.clone()
    }

    pub(crate) fn processes(&self) -> Vec<i32> {
        proc::marked(&self.mark)
    }

    /// What must hold of every session, whatever happened in it.
    fn check(&self) {
        let text = self.text();
        for (index, event) in self.events.iter().enumerate() {
            assert_eq!(event.seq, index as u64 + 1, "numbers have no gaps:\n{text}");
        }
        let ends = |event: &&Event| matches!(event.kind, EventKind::SessionEnded(_));
        assert_eq!(self.events.iter().filter(ends).count(), 1, "one end:\n{text}");
        let mut turn_open = false;
        let mut asks: BTreeSet<&AskId> = BTreeSet::new();
        let mut calls = BTreeSet::new();
        let mut tasks = BTreeSet::new();
        for event in &self.events {
            match &event.kind {
                EventKind::TurnStarted { .. } => {
                    assert!(!turn_open, "a turn started inside a turn:\n{text}");
                    turn_open = true;
                }
                EventKind::TurnEnded(_) => {
                    assert!(turn_open, "a turn ended that had not started:\n{text}");
                    assert!(asks.is_empty(), "asks outlived their turn:\n{text}");
                    turn_open = false;
                }
                EventKind::AskOpened { ask, .. } => assert!(asks.insert(ask), "{ask} opened twice"),
                EventKind::AskClosed { ask, .. } => {
                    assert!(asks.remove(ask), "{ask} was closed but not open:\n{text}");
                }
                EventKind::Tool(t) => match t.phase {
                    ToolPhase::Proposed => assert!(calls.insert(&t.call), "{} twice", t.call),
                    phase if phase.is_final() => {
                        calls.remove(&t.call);
                    }
                    _ => {}
                },
                EventKind::Task(t) => match t.phase {
                    TaskPhase::Started => {
                        tasks.insert(&t.task);
                    }
                    TaskPhase::Progress => {}
                    TaskPhase::Completed | TaskPhase::Failed | TaskPhase::Stopped => {
                        tasks.remove(&t.task);
                    }
                },
                _ => {}
            }
        }
        assert!(!turn_open, "a turn was left open:\n{text}");
        assert!(asks.is_empty(), "asks were left open:\n{text}");
        assert!(calls.is_empty(), "calls were left without a result:\n{text}");
        assert!(tasks.is_empty(), "tasks were left without an end:\n{text}");
        assert_eq!(self.processes(), Vec::<i32>::new(), "processes were left behind:\n{text}");
    }
}

/// Ends what a test has left behind on purpose.
pub(crate) fn kill_all(pids: Vec<i32>) {
    for pid in pids {
        // One may have ended with another.
        let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

/// A session that is over.
pub(crate) struct Ended {
    pub(crate) end: SessionEnded,
    pub(crate) story: Story,
}

impl Ended {
    /// The last answer.
    pub(crate) fn response(&self) -> &str {
        let turns = self.story.turns();
        turns.last().and_then(|turn| turn.final_text.as_deref()).unwrap_or_default()
    }
}

impl std::ops::Deref for Ended {
    type Target = Story;

    fn deref(&self) -> &Story {
        &self.story
    }
}
