//! How the doors and the pool hear of what runs do: that a log has grown, what is in flight, what a run waits for.
//!
//! Nothing of a run is kept here. Whoever wants its events reads its log from a number; the bus only says when.

use std::collections::HashMap;
use std::future::pending;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use musher_core::{ContextWindow, PromptId, RunId};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{broadcast, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::runner::RunLogs;
use musher_log::{HeadFile, Wakes, WatchId};

/// Logs that the kernel does not watch for us are looked at this often, and what nobody wants any more is let go.
const LOG_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Lines in flight that a slow reader may be behind; it waits for the event then.
const DELTAS: usize = 256;

/// The one place where wake-ups meet those who wait.
#[derive(Debug, Clone)]
pub struct Bus {
    shared: Arc<Shared>,
    _listening: Arc<AbortOnDropHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    logs: RunLogs,
    topics: Mutex<Topics>,
}

#[derive(Debug)]
struct Topics {
    by_run: HashMap<RunId, Topic>,
    by_watch: HashMap<WatchId, RunId>,
    /// Absent when the system gives us none; then everything is looked at once a second.
    wakes: Option<Wakes>,
}

#[derive(Debug)]
struct Topic {
    folder: PathBuf,
    grown: watch::Sender<u64>,
    synced: watch::Sender<u64>,
    head: HeadFile,
    /// How far the log was on the disk when it was last looked at, and in which life of its run.
    on_disk: Option<(u32, u64)>,
    deltas: broadcast::Sender<Arc<str>>,
    /// Whether anybody wants text in flight.
    wanted: watch::Sender<bool>,
    note: Option<String>,
    queued: Vec<QueuedPrompt>,
    status: SessionStatus,
    watch: Option<WatchId>,
}

/// How the session of a run stands, as its log tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionStatus {
    /// The model that is in use, once the runtime has told it.
    pub model: Option<String>,
    /// The agent's own permission mode, once the runtime has told it.
    pub mode: Option<String>,
    /// Whether a turn is under way.
    pub in_turn: bool,
    /// How much of the model's window is used, if the runtime tells it.
    pub context: Option<ContextWindow>,
}

/// A prompt that waits for the end of the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    pub id: PromptId,
    pub text: String,
    /// Unix milliseconds.
    pub at: i64,
}

impl Bus {
    /// A bus for the runs in this folder, with a task that waits for the kernel's word. It ends with the bus.
    pub fn start(runs: PathBuf) -> Self {
        let wakes = Wakes::new().inspect_err(|error| {
            tracing::warn!(cause = %error, "files cannot be watched; run logs are looked at once a second");
        });
        let wakes = wakes.ok();
        let descriptor =
            wakes.as_ref().and_then(|wakes| rustix::io::dup(wakes).ok()).and_then(registered);
        let topics = Topics { by_run: HashMap::new(), by_watch: HashMap::new(), wakes };
        let shared = Arc::new(Shared { logs: RunLogs::new(runs), topics: Mutex::new(topics) });
        // Those who wait are tasks too: a thread of its own would be one more to wake before them.
        let listening = TaskTracker::new().spawn(listen(descriptor, shared.clone()));
        Self { shared, _listening: Arc::new(AbortOnDropHandle::new(listening)) }
    }

    /// The folder of a run.
    pub fn folder(&self, run: RunId) -> PathBuf {
        self.shared.logs.folder(run)
    }

    /// The logs of all runs.
    pub fn logs(&self) -> &RunLogs {
        &self.shared.logs
    }

    /// Changes whenever the run's log has grown. Look at the log after subscribing, not before.
    pub fn wakes(&self, run: RunId) -> watch::Receiver<u64> {
        let folder = self.folder(run);
        let mut topics = self.topics();
        topics.topic(run, &folder).grown.subscribe()
    }

    /// Changes only when more of the run's log is on the disk: whoever wants no more than that is not woken, and wakes
    /// nobody, for each event.
    pub fn syncs(&self, run: RunId) -> watch::Receiver<u64> {
        let folder = self.folder(run);
        let mut topics = self.topics();
        topics.topic(run, &folder).synced.subscribe()
    }

    /// Text in flight of a run, as JSON. Who is too slow misses some.
    pub fn deltas(&self, run: RunId) -> broadcast::Receiver<Arc<str>> {
        let folder = self.folder(run);
        let mut topics = self.topics();
        let topic = topics.topic(run, &folder);
        topic.wanted.send_replace(true);
        topic.deltas.subscribe()
    }

    /// Tells whether anybody wants the text in flight of a run.
    pub fn wanted(&self, run: RunId) -> watch::Receiver<bool> {
        let folder = self.folder(run);
        self.topics().topic(run, &folder).wanted.subscribe()
    }

    /// Passes on text in flight.
    pub fn pass_on(&self, run: RunId, line: Arc<str>) {
        if let Some(topic) = self.topics().by_run.get(&run) {
            // Nobody wants it just now.
            let _nobody = topic.deltas.send(line);
        }
    }

    /// What a run waits for outside of itself.
    pub fn note(&self, run: RunId) -> Option<String> {
        self.topics().by_run.get(&run).and_then(|topic| topic.note.clone())
    }

    pub fn set_note(&self, run: RunId, note: Option<String>) {
        let folder = self.folder(run);
        self.topics().topic(run, &folder).note = note;
    }

    /// The prompts that wait in a run for the end of its turn.
    pub fn queued(&self, run: RunId) -> Vec<QueuedPrompt> {
        self.topics().by_run.get(&run).map(|topic| topic.queued.clone()).unwrap_or_default()
    }

    pub fn set_queued(&self, run: RunId, queued: Vec<QueuedPrompt>) {
        let folder = self.folder(run);
        self.topics().topic(run, &folder).queued = queued;
    }

    /// How the session of a live run stands.
    pub fn status(&self, run: RunId) -> SessionStatus {
        self.topics().by_run.get(&run).map(|topic| topic.status.clone()).unwrap_or_default()
    }

    pub fn set_status(&self, run: RunId, status: SessionStatus) {
        let folder = self.folder(run);
        self.topics().topic(run, &folder).status = status;
    }

    fn topics(&self) -> MutexGuard<'_, Topics> {
        self.shared.topics()
    }
}

impl Shared {
    fn topics(&self) -> MutexGuard<'_, Topics> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Topics {
    fn topic(&mut self, run: RunId, folder: &Path) -> &mut Topic {
        let Self { by_run, by_watch, wakes } = self;
        by_run.entry(run).or_insert_with(|| {
            // A log that cannot be watched is looked at once a second instead.
            let watch = wakes.as_mut().and_then(|wakes| wakes.watch(folder).ok());
            by_watch.extend(watch.map(|id| (id, run)));
            Topic {
                folder: folder.to_owned(),
                grown: watch::channel(0).0,
                synced: watch::channel(0).0,
                head: HeadFile::default(),
                on_disk: None,
                deltas: broadcast::channel(DELTAS).0,
                wanted: watch::channel(false).0,
                note: None,
                queued: Vec::new(),
                status: SessionStatus::default(),
                watch,
            }
        })
    }

    /// Wakes those whose logs have grown.
    fn grown(&mut self) {
        let mut changed = Vec::new();
        let polled = self.wakes.as_mut().map(|wakes| wakes.poll(&mut changed));
        if matches!(polled, Some(Err(_))) {
            changed.extend(self.by_watch.keys());
        }
        for run in changed.iter().filter_map(|id| self.by_watch.get(id)) {
            if let Some(topic) = self.by_run.get_mut(run) {
                topic.has_grown();
            }
        }
    }

    /// Wakes those whose logs nobody watches, and lets go of what nobody waits for.
    fn sweep(&mut self, logs: &RunLogs) {
        let Self { by_run, by_watch, wakes } = self;
        by_run.retain(|run, topic| {
            if topic.deltas.receiver_count() == 0 {
                topic.wanted.send_if_modified(|wanted| std::mem::replace(wanted, false));
            }
            if topic.watch.is_none() {
                // Its folder may have come since.
                let folder = logs.folder(*run);
                topic.watch = wakes.as_mut().and_then(|wakes| wakes.watch(&folder).ok());
                by_watch.extend(topic.watch.map(|id| (id, *run)));
                topic.has_grown();
            }
            let waited_for = topic.grown.receiver_count()
                + topic.synced.receiver_count()
                + topic.deltas.receiver_count()
                + topic.wanted.receiver_count();
            if waited_for > 0 {
                return true;
            }
            if let (Some(id), Some(wakes)) = (topic.watch, wakes.as_mut()) {
                wakes.unwatch(id);
                by_watch.remove(&id);
            }
            false
        });
    }
}

impl Topic {
    /// Wakes those who wait for events, and those who wait for the disk if it has more of them.
    fn has_grown(&mut self) {
        if self.synced.receiver_count() > 0 {
            let head = self.head.read(&self.folder).ok().flatten();
            let on_disk = head.map(|head| (head.epoch, head.synced));
            // Without a head nobody knows, so whoever waits must look himself.
            if on_disk.is_none() || on_disk != self.on_disk {
                self.on_disk = on_disk;
                self.synced.send_modify(|count| *count += 1);
            }
        }
        self.grown.send_modify(|count| *count += 1);
    }
}

async fn listen(descriptor: Option<AsyncFd<OwnedFd>>, shared: Arc<Shared>) {
    let mut sweep = interval(LOG_POLL_INTERVAL);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = sweep.tick() => {
                let mut topics = shared.topics();
                topics.grown();
                topics.sweep(&shared.logs);
            }
            () = readable(descriptor.as_ref()) => shared.topics().grown(),
        }
    }
}

#[expect(
    deprecated,
    reason = "what succeeds it is unsafe because of types that may lose their descriptor; this one owns it"
)]
fn registered(descriptor: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE).ok()
}

/// Waits for the kernel's word; for ever, if it gives none.
async fn readable(descriptor: Option<&AsyncFd<OwnedFd>>) {
    let Some(descriptor) = descriptor else { return pending().await };
    match descriptor.readable().await {
        // All of it is read next, and what comes after that is told anew.
        Ok(mut ready) => ready.clear_ready(),
        Err(_) => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use musher_core::{Event, EventKind, EventScope, Level};

    use super::*;
    use musher_log::{Lock, Writer};

    #[tokio::test]
    async fn whoever_waits_for_a_log_is_woken_when_it_grows_and_forgotten_when_he_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::minted(1);
        std::fs::create_dir(folder.path().join("r1")).unwrap();
        let bus = Bus::start(folder.path().to_owned());
        let mut wakes = bus.wakes(run);
        for _ in 0..3 {
            std::fs::write(folder.path().join("r1/head"), "x").unwrap();
            tokio::time::timeout(Duration::from_secs(10), wakes.changed()).await.unwrap().unwrap();
        }
        drop(wakes);
        let began = Instant::now();
        while !bus.topics().by_run.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn whoever_waits_for_the_disk_is_woken_by_a_sync_and_not_by_an_event() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::minted(1);
        let dir = folder.path().join("r1");
        std::fs::create_dir(&dir).unwrap();
        let mut writer = Writer::create(Lock::take(&dir).unwrap(), "r1").unwrap();
        let bus = Bus::start(folder.path().to_owned());
        let (mut wakes, mut syncs) = (bus.wakes(run), bus.syncs(run));
        let patient = Duration::from_secs(10);
        for seq in 1..=3 {
            let kind = EventKind::Notice { level: Level::Info, code: None, text: "x".to_owned() };
            let scope = EventScope::Main;
            writer.append(&[Event { seq, at: 0, kind, turn: None, scope, raw: None }]).unwrap();
            tokio::time::timeout(patient, wakes.changed()).await.unwrap().unwrap();
            if seq == 1 {
                // How far the log was before anybody looked is not known.
                syncs.borrow_and_update();
            }
            assert!(!syncs.has_changed().unwrap(), "event {seq} was not synced");
        }
        writer.sync().unwrap();
        tokio::time::timeout(patient, syncs.changed()).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_run_whose_folder_comes_later_is_watched_as_soon_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::minted(1);
        let bus = Bus::start(folder.path().to_owned());
        let _wakes = bus.wakes(run);
        std::fs::create_dir(folder.path().join("r1")).unwrap();
        let began = Instant::now();
        while bus.topics().by_watch.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "it is only ever looked at");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn text_in_flight_is_wanted_only_while_somebody_listens() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::minted(1);
        let bus = Bus::start(folder.path().to_owned());
        let mut wanted = bus.wanted(run);
        assert!(!*wanted.borrow());
        let mut deltas = bus.deltas(run);
        assert!(*wanted.borrow_and_update());
        bus.pass_on(run, "hello".into());
        assert_eq!(&*deltas.recv().await.unwrap(), "hello");
        drop(deltas);
        tokio::time::timeout(Duration::from_secs(10), wanted.changed()).await.unwrap().unwrap();
        assert!(!*wanted.borrow());
    }
}
