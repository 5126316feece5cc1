//! What all actors share: the server that runs now, what was acknowledged, and what is counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use musher_client::api::ApiReceipt;
use musher_client::{ApiProblem, Client, ClientError};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::sync::watch;

use super::broken::{Broken, Promise};
use super::damage::Damage;
use super::dice::Dice;
use super::inspect::Seen;
use super::ledger::Ledger;
use crate::setup::Setup;
use crate::stage::left::Left;
use crate::stage::place::Place;

/// Nothing takes longer, except what is broken. A loaded machine is slow, not broken.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
const AGAIN: Duration = Duration::from_millis(50);
/// The file that is there when a run has ended, and all its processes with it.
pub(super) const OUTCOME: &str = "outcome.json";
/// What agents are told beside their work: where they write down what they heard and did.
const AGENT: &str = "env = { WORKER_HOME = '@HOME@', WORKER_CALLS = '1' }\n";

/// How far the soak is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Working,
    /// Nothing new is begun.
    Settling,
    Over,
}

/// The server that runs now, as a client needs it.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) client: Client,
    pub(super) address: String,
    pub(super) token: String,
    pub(super) pid: u32,
    /// Which server it is, counted from 1.
    pub(super) life: u64,
}

/// What became of a command.
#[derive(Debug)]
pub(super) enum Told {
    Yes(ApiReceipt),
    No(ApiProblem),
    /// Nobody answered, so that nobody knows.
    Away,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) began: Instant,
    /// How long the work goes on.
    pub(super) time: Duration,
    pub(super) damage: Option<Damage>,
    pub(super) worker_home: PathBuf,
    pub(super) server_log: PathBuf,
    top: PathBuf,
    /// The musher of every second server, if it is not the one of the first.
    other_build: Option<PathBuf>,
    place: Mutex<Option<Place>>,
    door: watch::Sender<Door>,
    phase: watch::Sender<Phase>,
    ledger: Mutex<Ledger>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    memory: Mutex<Seen>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(super) fn open(
        setup: &Setup,
        seed: u64,
        time: Duration,
        damage: Option<Damage>,
        other_build: Option<PathBuf>,
    ) -> anyhow::Result<Arc<Self>> {
        let place = Place::open_with(setup, AGENT)?;
        let door = door(&place, 1);
        Ok(Arc::new(Self {
            seed,
            began: Instant::now(),
            time,
            damage,
            worker_home: place.worker_home(),
            server_log: place.server_log(),
            top: place.top().to_owned(),
            other_build,
            place: Mutex::new(Some(place)),
            door: watch::Sender::new(door),
            phase: watch::Sender::new(Phase::Working),
            ledger: Mutex::default(),
            counts: Mutex::default(),
            memory: Mutex::default(),
        }))
    }

    pub(super) fn dice(&self, actor: &str, number: u64) -> Dice {
        Dice::of(self.seed, actor, number)
    }

    pub(super) fn door(&self) -> Door {
        self.door.borrow().clone()
    }

    pub(super) fn runs(&self) -> PathBuf {
        self.top.join("state/runs")
    }

    pub(super) fn folder(&self, run: &str) -> PathBuf {
        self.runs().join(run)
    }

    /// Whether a run has begun and not ended.
    pub(super) fn lives(&self, run: &str) -> bool {
        let folder = self.folder(run);
        folder.exists() && !folder.join(OUTCOME).exists()
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        held(&self.ledger)
    }

    pub(super) fn count(&self, what: &'static str) {
        *held(&self.counts).entry(what).or_default() += 1;
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        held(&self.counts).clone()
    }

    /// Adds to what was seen of memory.
    pub(super) fn saw(&self, now: Seen) {
        let mut seen = held(&self.memory);
        seen.warm = seen.warm.max(now.warm);
        seen.late = seen.late.max(now.late);
        seen.runner = seen.runner.max(now.runner);
    }

    pub(super) fn seen(&self) -> Seen {
        *held(&self.memory)
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits, but not beyond the time in which there is work; tells whether there still is.
    pub(super) async fn works_after(&self, wait: Duration) -> bool {
        self.is_before(Phase::Settling, wait).await
    }

    /// Waits, but not beyond the end; tells whether it has not come.
    pub(super) async fn goes_on_after(&self, wait: Duration) -> bool {
        self.is_before(Phase::Over, wait).await
    }

    async fn is_before(&self, end: Phase, wait: Duration) -> bool {
        let ended = |phase: &Phase| match end {
            Phase::Working | Phase::Settling => *phase != Phase::Working,
            Phase::Over => *phase == Phase::Over,
        };
        let mut phase = self.phase.subscribe();
        tokio::time::timeout(wait, phase.wait_for(ended)).await.is_err()
    }

    /// Sends a command once.
    pub(super) async fn tell(&self, path: &[&str], body: &Json) -> anyhow::Result<Told> {
        let client = self.door().client;
        match client.post(path, body).await.and_then(|reply| reply.read()) {
            Ok(receipt) => Ok(Told::Yes(receipt)),
            Err(ClientError::Refused(problem)) if problem.status == 500 => {
                Err(Broken::error(Promise::Server, format!("POST {path:?} {body}: {problem:?}")))
            }
            Err(error) if error.passes() => Ok(Told::Away),
            Err(ClientError::Refused(problem)) => Ok(Told::No(*problem)),
            Err(error) => Err(Broken::error(Promise::Server, format!("POST {path:?}: {error}"))),
        }
    }

    /// Reads something, however often the server dies meanwhile; nothing if there is no such thing.
    pub(super) async fn look<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> anyhow::Result<Option<T>> {
        let began = Instant::now();
        loop {
            let client = self.door().client;
            let seen = match client.read(path, query).await {
                Ok(found) => return Ok(Some(found)),
                Err(ClientError::Refused(problem)) if problem.status == 404 => return Ok(None),
                Err(error) if error.passes() && began.elapsed() < PATIENCE => None,
                Err(error) => Some(format!("GET {path:?} {query:?}: {error}")),
            };
            match seen {
                Some(seen) => return Err(Broken::error(Promise::Server, seen)),
                None => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    pub(super) fn kill_server(&self) -> anyhow::Result<()> {
        match held(&self.place).as_mut() {
            Some(place) => place.kill_server(),
            None => Ok(()),
        }
    }

    /// Starts the server again and tells everybody where it is. This blocks.
    pub(super) fn serve_again(&self) -> anyhow::Result<()> {
        let mut place = held(&self.place);
        let Some(place) = place.as_mut() else { return Ok(()) };
        let life = self.door.borrow().life + 1;
        let served = match self.other_build.as_deref().filter(|_| life.is_multiple_of(2)) {
            Some(other) => {
                self.count("servers of the other build");
                place.serve_again_as(other)
            }
            None => place.serve_again(),
        };
        served.map_err(|error| {
            Broken::error(Promise::Server, format!("it did not start again: {error:#}"))
        })?;
        self.door.send_replace(door(place, life));
        Ok(())
    }

    /// Ends the server as a person does. This blocks.
    pub(super) fn end_server(&self) -> anyhow::Result<()> {
        let mut place = held(&self.place);
        let Some(place) = place.as_mut() else { return Ok(()) };
        let status = place.end_server()?;
        match status.success() {
            true => Ok(()),
            false => Err(Broken::error(Promise::Server, format!("it ended with {status}"))),
        }
    }

    /// The processes of this place that still live, the server aside.
    pub(super) fn left(&self) -> anyhow::Result<Vec<Left>> {
        match held(&self.place).as_ref() {
            Some(place) => place.left(),
            None => Ok(Vec::new()),
        }
    }

    /// Ends whatever is left. It is well that nothing is, but that is checked before.
    pub(super) fn close(&self) {
        drop(held(&self.place).take());
    }

    /// Leaves repository, state and logs where they are; tells where that is.
    pub(super) fn keep(&self) -> &Path {
        if let Some(place) = held(&self.place).as_mut() {
            place.keep();
        }
        &self.top
    }
}

fn door(place: &Place, life: u64) -> Door {
    Door {
        client: place.client().clone(),
        address: place.address.clone(),
        token: place.token.clone(),
        pid: place.pid(),
        life,
    }
}
