//! A runner alone in a folder, without a server, that hosts an agent which prints a corpus.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use musher::runner::launch;
use musher::runner::spec::{FilesSpec, RunBounds, RunSpec, VERSION};
use musher_core::{RunId, ToolRules};
use musher_log::{LogHead, LogRead, LogReader, lines};
use tempfile::TempDir;

use super::cores::on_one_core;
use super::left::left_below;
use super::place::script;
use super::processor::Processor;
use crate::setup::Setup;
use crate::stand_in::feed::LAST;

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_micros(500);
/// So much of the end of a log holds its last event.
const TAIL: usize = 512;

/// A runner and its run. All of it is gone when this is dropped.
#[derive(Debug)]
pub struct Alone {
    top: TempDir,
    pid: u32,
}

/// What a runner took to take in a corpus.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// From the first byte of the agent's output to its last event in the log.
    pub wall: Duration,
    /// What the runner itself used of a processor meanwhile.
    pub processor: Duration,
    pub events: u64,
    pub unparsed: u64,
}

impl Alone {
    /// Starts a runner on one core. Its agent waits on another one for the word to begin.
    pub fn start(setup: &Setup, corpus: &Path) -> anyhow::Result<Self> {
        let top = TempDir::new_in(&setup.folder)?;
        let run = top.path().join("run");
        std::fs::create_dir(&run)?;
        let agent = agent_that_feeds(setup, corpus, top.path())?;
        let spec = spec(top.path(), agent)?;
        std::fs::write(run.join("spec.json"), serde_json::to_vec(&spec)?)?;
        let (musher, folder) = (setup.programs.musher.clone(), run.clone());
        let patience = launch::RUNNER_START_TIMEOUT;
        on_one_core(move || Ok(launch::launch(patience, &musher, &folder, &[])?))?;
        let name = format!("runner {}", run.display());
        let mut left = left_below(top.path())?;
        left.retain(|left| left.line.ends_with(&name));
        let pid = left.first().context("the runner is not there")?.pid;
        Ok(Self { top, pid })
    }

    /// Lets the agent print, and waits until its last line is in the log.
    pub async fn take_in(&self) -> anyhow::Result<Took> {
        let before = Processor::of(self.pid)?;
        let began = let_go(self.top.path()).await?;
        until(|| has_last(&self.run()), "the last line never came").await?;
        let wall = Duration::from_nanos(monotonic().saturating_sub(began));
        let processor = Processor::used_since(before, self.pid)?;
        let (events, unparsed) = self.count()?;
        Ok(Took { wall, processor, events, unparsed })
    }

    fn run(&self) -> PathBuf {
        self.top.path().join("run")
    }

    /// How many events there are, and how many of them are lines that nobody understood.
    fn count(&self) -> anyhow::Result<(u64, u64)> {
        let mut reader = LogReader::open(&self.run(), None)?;
        let (mut events, mut unparsed, mut buffer) = (0, 0, Vec::new());
        loop {
            buffer.clear();
            match reader.read(&mut buffer, 1 << 20)? {
                LogRead::Lines(batch) => {
                    for line in lines(&buffer[batch.lines]) {
                        events += 1;
                        let kind = musher_log::line_kind(line);
                        unparsed += u64::from(kind == Some("unparsed"));
                    }
                }
                LogRead::End => return Ok((events, unparsed)),
                LogRead::Reset { .. } => {}
            }
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        for left in left_below(self.top.path()).unwrap_or_default() {
            let pid = i32::try_from(left.pid).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                // Whatever is dead already is as good.
                let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        launch::reap();
    }
}

/// Writes an agent program that prints a corpus when it is let go.
pub fn agent_that_feeds(setup: &Setup, corpus: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let line = format!(
        "exec '{}' stand-in feed --file '{}' --folder '{}'",
        setup.programs.bench.display(),
        corpus.display(),
        folder.display()
    );
    script(&folder.join("agent"), &line)
}

/// Lets such an agent print; tells when it began, as it wrote that down itself.
pub async fn let_go(folder: &Path) -> anyhow::Result<u64> {
    let (waiting, began) = (folder.join("waiting"), folder.join("began"));
    until(|| Ok(waiting.exists()), "the agent never waited").await?;
    std::fs::remove_file(waiting)?;
    until(|| Ok(began.exists()), "the agent never began").await?;
    Ok(std::fs::read_to_string(began)?.trim().parse()?)
}

/// Whether a log ends with the last line of such an agent.
pub fn has_last(run: &Path) -> anyhow::Result<bool> {
    let head = LogReader::open(run, None)?.head()?;
    let Some(LogHead { segment, offset, .. }) = head else { return Ok(false) };
    let file = std::fs::File::open(run.join(format!("events-{segment:08}.jsonl")))?;
    let mut tail = vec![0; TAIL.min(usize::try_from(offset)?)];
    let from = offset - tail.len() as u64;
    file.read_exact_at(&mut tail, from)?;
    Ok(memchr::memmem::find(&tail, LAST.as_bytes()).is_some())
}

fn spec(top: &Path, agent: PathBuf) -> anyhow::Result<RunSpec> {
    Ok(RunSpec {
        version: VERSION,
        run: RunId::minted(1),
        journal: None,
        nonce: None,
        story: "s1".parse()?,
        title: "Work".into(),
        text: String::new(),
        agent: "worker".parse()?,
        mark: format!("bench-{}", std::process::id()),
        group: None,
        runtime: "claude-code".into(),
        preset: None,
        prompt: "go".into(),
        pending: Vec::new(),
        cwd: top.to_owned(),
        model: None,
        model_options: Default::default(),
        system_prompt: None,
        // What is asked for in a recording is granted, so that nothing waits for a person.
        rules: ToolRules { allow: vec!["*".parse()?], ..ToolRules::default() },
        files: FilesSpec::default(),
        protected: Some(musher::runtimes::executed_anywhere(&[])),
        permission_mode: None,
        bounds: RunBounds { linger_ms: 3_600_000, ..RunBounds::default() },
        resume: None,
        program: Some(agent),
        args: vec![],
        env: Default::default(),
        setup: vec![],
        sandbox: None,
    })
}

async fn until(
    holds: impl Fn() -> anyhow::Result<bool>,
    otherwise: &'static str,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !holds()? {
        ensure!(began.elapsed() < PATIENCE, otherwise);
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// The clock that all processes of this machine share, in nanoseconds.
pub fn monotonic() -> u64 {
    nanoseconds(rustix::time::ClockId::Monotonic)
}

/// What a clock of the system tells.
pub fn nanoseconds(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
