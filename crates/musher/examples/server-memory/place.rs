//! A project in a repository of its own, and the server that serves it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use musher::client::Client;
use musher::runner::log::Reader;
use musher::runner::spec::RunSpec;
use musher::{config, runtimes};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);

/// What is measured, and the agent that keeps it busy.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) musher: PathBuf,
    pub(crate) worker: PathBuf,
}

/// A server in a fresh project. All of it is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    top: TempDir,
    server: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    client: Client,
}

impl Place {
    pub(crate) async fn open(programs: &Programs) -> anyhow::Result<Self> {
        let top = TempDir::new()?;
        let repo = top.path().join("repo");
        std::fs::create_dir_all(repo.join(".musher"))?;
        let worker = programs.worker.display();
        let text = format!(
            "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '{worker}'\n\
             prompt = '{{{{ story.text }}}}'\n[limits]\nruns = 1000\nruns_per_agent = 1000\nruns_per_story = 8\n"
        );
        std::fs::write(repo.join(".musher/project.toml"), text)?;
        git(&repo, &["init", "-q", "-b", "main"])?;
        git(&repo, &["add", "."])?;
        git(&repo, &["commit", "-qm", "first"])?;
        let state = top.path().join("state");
        std::fs::create_dir_all(&state)?;
        let project = config::load(&repo, runtimes::BUILT).map_err(|e| anyhow::anyhow!("{e}"))?;
        config::trust::grant(&state, &project)?;
        let mut server = Command::new(&programs.musher)
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--state"])
            .arg(&state)
            .current_dir(&repo)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", top.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", programs.musher.display()))?;
        let mut line = String::new();
        let out = server.stdout.take().context("the server has no output")?;
        BufReader::new(out).read_line(&mut line)?;
        let ready: Json = serde_json::from_str(&line).context("the server was not ready")?;
        let url = ready["url"].as_str().context("the server has no address")?;
        let token = std::fs::read_to_string(state.join("token"))?;
        let client = Client::new(url, token.trim())?;
        let address = url.trim_start_matches("http://").to_owned();
        Ok(Self { top, server, address, token: token.trim().to_owned(), client })
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// How many files the server has open.
    pub(crate) fn open_files(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.pid()))?.count())
    }

    /// Starts a run that does what the text says.
    pub(crate) async fn begin(&self, text: &str) -> anyhow::Result<String> {
        let story = json!({ "title": "Work", "text": text });
        let story: Json = self.client.post(&["stories"], &story).await?.read()?;
        let story = story["story"].as_str().context("the story has no name")?.to_owned();
        let run: Json =
            self.client.post(&["stories", &story, "start"], &json!({})).await?.read()?;
        Ok(run["run"].as_str().context("the run has no name")?.to_owned())
    }

    /// Starts a run that waits for a word before it does what the text says.
    pub(crate) async fn begin_held(&self, text: &str) -> anyhow::Result<Held> {
        let run = self.begin(&format!("[[work ask=go]] {text}")).await?;
        let began = Instant::now();
        loop {
            let asks: Json = self.client.read(&["asks"], &[]).await?;
            let asks = asks["asks"].as_array().map(Vec::as_slice).unwrap_or_default();
            let ask = asks.iter().find(|ask| ask["run"] == run.as_str());
            if let Some(ask) = ask.and_then(|ask| ask["ask"].as_str()) {
                return Ok(Held { run, ask: ask.to_owned() });
            }
            ensure!(began.elapsed() < PATIENCE, "{run} never asked");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Lets a run go that waits.
    pub(crate) async fn let_go(&self, held: &Held) -> anyhow::Result<()> {
        let yes = json!({ "answer": { "decision": "allow" } });
        self.client.post(&["runs", &held.run, "asks", &held.ask, "answer"], &yes).await?;
        Ok(())
    }

    /// The number of the last event in a run's log.
    pub(crate) fn last(&self, run: &str) -> u64 {
        let reader = Reader::open(&self.folder(run), None);
        let head = reader.and_then(|reader| reader.head());
        head.ok().flatten().map_or(0, |head| head.seq)
    }

    /// Waits until a run's log has so many events.
    pub(crate) async fn until_logged(&self, run: &str, events: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.last(run) < events {
            if began.elapsed() > PATIENCE {
                bail!("{run} came to {} events, not to {events}", self.last(run));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// The process that hosts a run.
    pub(crate) fn runner(&self, run: &str) -> anyhow::Result<u32> {
        let folder = self.folder(run).canonicalize()?;
        let wanted = folder.as_os_str().as_encoded_bytes();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            if words.nth(1) == Some(b"runner") && words.next() == Some(wanted) {
                return Ok(pid);
            }
        }
        bail!("nobody hosts {run}")
    }

    pub(crate) fn folder(&self, run: &str) -> PathBuf {
        self.top.path().join("state/runs").join(run)
    }
}

/// A run that waits for a word.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) run: String,
    ask: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whatever is dead already is as good.
        let _dead = self.server.kill();
        let _dead = self.server.wait();
        let runs = std::fs::read_dir(self.top.path().join("state/runs"));
        for run in runs.into_iter().flatten().flatten() {
            let name = run.file_name().to_string_lossy().into_owned();
            let runner = self.runner(&name).ok().and_then(|pid| i32::try_from(pid).ok());
            if let Some(pid) = runner.and_then(rustix::process::Pid::from_raw) {
                let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            if let Ok(spec) = RunSpec::read(&run.path()) {
                musher_runtime::sweep(&spec.mark, spec.group.as_deref());
            }
        }
    }
}

fn git(repo: &Path, args: &[&str]) -> anyhow::Result<()> {
    let done = Command::new("git")
        .args(["-c", "user.name=M", "-c", "user.email=m@localhost"])
        .args(args)
        .current_dir(repo)
        .status()
        .context("starting git")?;
    ensure!(done.success(), "git {args:?} failed");
    Ok(())
}
