//! A folder for one run, and the runner in it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use musher::runner::launch;
use musher::runner::link::Link;
use musher::runner::spec::{RunBounds, RunSpec, VERSION};
use musher_core::{Event, RunId, SessionEnded};
use musher_log::{Lock, LogRead, LogReader, lines};
use tempfile::TempDir;

/// Nothing here takes longer, except what is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Rig {
    folder: TempDir,
    pub(crate) spec: RunSpec,
}

impl Rig {
    /// A run of a script.
    pub(crate) fn script(steps: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("r1")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let program = folder.path().join("script.toml");
        std::fs::write(&program, steps).unwrap();
        let spec = RunSpec {
            version: VERSION,
            run: RunId::minted(1),
            journal: None,
            nonce: None,
            story: "s1".parse().unwrap(),
            title: "A story".into(),
            text: "What is wanted.".into(),
            agent: "tester".parse().unwrap(),
            mark: uuid::Uuid::new_v4().simple().to_string(),
            group: None,
            runtime: "script".into(),
            preset: None,
            prompt: "go".into(),
            pending: Vec::new(),
            cwd: folder.path().join("work"),
            model: None,
            model_options: Default::default(),
            system_prompt: None,
            rules: Default::default(),
            files: Default::default(),
            protected: None,
            permission_mode: None,
            bounds: RunBounds::default(),
            resume: None,
            program: Some(program),
            args: vec![],
            env: Default::default(),
            setup: vec![],
            sandbox: None,
        };
        Self { folder, spec }
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("r1")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn write_spec(&self) {
        let text = serde_json::to_vec(&self.spec).unwrap();
        std::fs::write(self.run().join("spec.json"), text).unwrap();
    }

    /// Starts the runner as the server does.
    pub(crate) fn launch(&self) {
        self.write_spec();
        launch::launch(launch::RUNNER_START_TIMEOUT, program(), &self.run(), &[]).unwrap();
    }

    pub(crate) async fn link(&self) -> Link {
        Link::open(&self.run()).await.unwrap()
    }

    /// Every event that is in the log.
    pub(crate) fn events(&self) -> Vec<Event> {
        events(&self.run())
    }

    /// Waits until an event is there.
    pub(crate) async fn until(&self, found: impl Fn(&Event) -> bool) -> Event {
        let began = Instant::now();
        loop {
            if let Some(event) = self.events().into_iter().find(|event| found(event)) {
                return event;
            }
            assert!(began.elapsed() < PATIENCE, "it never came: {:#?}", self.events());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the runner is gone.
    pub(crate) async fn until_free(&self) {
        let began = Instant::now();
        while Lock::is_held(&self.run()).unwrap() {
            assert!(began.elapsed() < PATIENCE, "the runner never left: {:#?}", self.events());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn outcome(&self) -> Option<SessionEnded> {
        musher_log::outcome::read(&self.run()).unwrap()
    }

    /// What the run's processes carry.
    pub(crate) fn mark(&self) -> String {
        format!("{}={}", musher_runtime::MARK, self.spec.mark)
    }
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_musher"))
}

pub(crate) fn events(folder: &Path) -> Vec<Event> {
    let Ok(mut reader) = LogReader::open(folder, None) else { return Vec::new() };
    let mut buffer = Vec::new();
    let mut events = Vec::new();
    loop {
        buffer.clear();
        match reader.read(&mut buffer, 1 << 20).unwrap() {
            LogRead::Lines(batch) => {
                let parse = |line| serde_json::from_slice::<Event>(line).unwrap();
                events.extend(lines(&buffer[batch.lines]).map(parse));
            }
            LogRead::End => return events,
            LogRead::Reset { .. } => {}
        }
    }
}
