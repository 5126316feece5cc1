//! A run of the agent under the real driver, and what must hold of each.

use std::time::Duration;

use musher_runtime::claude_code::ClaudeCode;
use musher_runtime::core::{Ask, AskId, ItemBody, SessionEnded, SessionId, TurnEnded};
use musher_runtime::{
    Environment, Event, EventKind, ResumeFrom, Runtime as _, Session, SessionHandle, SessionOutput,
    SessionSpec,
};
use musher_testkit::programs;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(20);

/// A folder to work in and the agent's home.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) work: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap(), work: TempDir::new().unwrap() }
    }

    pub(crate) fn spec(&self, prompt: &str) -> SessionSpec {
        let environment = Environment::from_vars([]).set("WORKER_HOME", self.home.path());
        let mut spec = SessionSpec::new(prompt, self.work.path(), environment);
        spec.program = Some(programs::worker_agent().unwrap());
        spec
    }

    pub(crate) fn run(&self, prompt: &str) -> Run {
        Run::begin(self.spec(prompt))
    }

    pub(crate) fn resume(&self, session: &SessionId, prompt: &str) -> SessionSpec {
        let mut spec = self.spec(prompt);
        spec.resume = Some(ResumeFrom::of(session.clone()));
        spec
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        crate::lines(self.home.path(), "effects")
    }
}

/// A session under way and all it has said.
pub(crate) struct Run {
    session: Session,
    pub(crate) handle: SessionHandle,
    pub(crate) events: Vec<Event>,
    pub(crate) pieces: String,
}

impl Run {
    pub(crate) fn begin(spec: SessionSpec) -> Self {
        let session = ClaudeCode::default().start(spec);
        let handle = session.handle();
        Self { session, handle, events: Vec::new(), pieces: String::new() }
    }

    async fn hear(&mut self) -> Option<()> {
        let heard = tokio::time::timeout(PATIENCE, self.session.next()).await;
        match heard.unwrap_or_else(|_| panic!("nothing more after {:#?}", self.events))? {
            SessionOutput::Event(event) => self.events.push(event),
            SessionOutput::Delta(delta) => self.pieces.push_str(&delta.text),
        }
        Some(())
    }

    /// Listens until an event is what is looked for; those already heard count.
    pub(crate) async fn until<T>(&mut self, find: impl Fn(&EventKind) -> Option<T>) -> T {
        let mut from = 0;
        loop {
            if let Some(found) = self.events[from..].iter().find_map(|event| find(&event.kind)) {
                return found;
            }
            from = self.events.len();
            self.hear().await.unwrap_or_else(|| panic!("it ended with {:#?}", self.events));
        }
    }

    pub(crate) async fn until_text(&mut self, text: &str) {
        self.until(|kind| (text_of(kind)? == text).then_some(())).await;
    }

    pub(crate) async fn until_ask(&mut self) -> (AskId, Ask) {
        self.until(|kind| match kind {
            EventKind::AskOpened { ask, body, .. } => Some((ask.clone(), body.clone())),
            _ => None,
        })
        .await
    }

    /// Listens to the end. The events have no gaps, and nothing came that was not understood.
    pub(crate) async fn end(mut self) -> Ended {
        let ended = self.end_whatever_came().await;
        let strange = |event: &&Event| {
            matches!(event.kind, EventKind::Unparsed { .. } | EventKind::Native { .. })
        };
        let strange = ended.events.iter().filter(strange).collect::<Vec<_>>();
        assert!(strange.is_empty(), "{strange:#?}");
        ended
    }

    pub(crate) async fn end_whatever_came(&mut self) -> Ended {
        while self.hear().await.is_some() {}
        let events = std::mem::take(&mut self.events);
        for (index, event) in events.iter().enumerate() {
            assert_eq!(event.seq, index as u64 + 1);
        }
        let EventKind::SessionEnded(end) = &events[events.len() - 1].kind else {
            panic!("the last event is not the end");
        };
        let pieces = std::mem::take(&mut self.pieces);
        Ended { end: (**end).clone(), events, pieces }
    }
}

/// A session that is over.
pub(crate) struct Ended {
    pub(crate) end: SessionEnded,
    pub(crate) events: Vec<Event>,
    pub(crate) pieces: String,
}

impl Ended {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.events.iter().filter_map(|event| text_of(&event.kind)).collect()
    }

    pub(crate) fn turns<'a>(&'a self) -> Vec<&'a TurnEnded> {
        let turn = |kind: &'a EventKind| match kind {
            EventKind::TurnEnded(ended) => Some(&**ended),
            _ => None,
        };
        self.events.iter().filter_map(|event| turn(&event.kind)).collect()
    }

    pub(crate) fn session(&self) -> SessionId {
        self.end.session.clone().unwrap()
    }
}

fn text_of(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(text),
        _ => None,
    }
}
