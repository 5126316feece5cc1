//! A project in a repository of its own, and the server that serves it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use musher::runner::spec::RunSpec;
use musher::{config, runtimes};
use musher_client::Client;
use musher_client::api::ApiRun;
use musher_log::LogReader;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::left::{Left, left_below};
use crate::setup::Setup;

/// Nothing here takes longer, except what is broken.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);
/// Where agents keep what they remember, if they are told to.
const WORKER_HOME: &str = "worker";
/// What the servers have to say.
const SERVER_LOG: &str = "server.log";

/// A server in a fresh project. All of it is gone when this is dropped.
#[derive(Debug)]
pub struct Place {
    top: TempDir,
    musher: PathBuf,
    server: Child,
    pub address: String,
    pub token: String,
    client: Client,
}

impl Place {
    /// Makes a project whose one agent does numbered work, and serves it.
    pub fn open(setup: &Setup) -> anyhow::Result<Self> {
        Self::with_agent(setup, &setup.programs.worker)
    }

    /// The same with more lines about the agent, in which `@HOME@` stands for a folder of the agents' own.
    pub fn open_with(setup: &Setup, more: &str) -> anyhow::Result<Self> {
        Self::with_settings(setup, &setup.programs.worker, 0, more)
    }

    /// Makes a project whose one agent is this program, and serves it.
    pub fn with_agent(setup: &Setup, agent: &Path) -> anyhow::Result<Self> {
        Self::with_files(setup, agent, 0)
    }

    /// The same with an agent of another runtime.
    pub fn with_runtime(setup: &Setup, runtime: &str, agent: &Path) -> anyhow::Result<Self> {
        Self::with_all(setup, (runtime, agent), 0, "")
    }

    /// The same with so many files in its repository.
    pub fn with_files(setup: &Setup, agent: &Path, files: u64) -> anyhow::Result<Self> {
        Self::with_settings(setup, agent, files, "")
    }

    /// The same with more lines about the agent, each with its end; in them `@HOME@` stands for a folder of the agents' own.
    pub fn with_settings(
        setup: &Setup,
        agent: &Path,
        files: u64,
        more: &str,
    ) -> anyhow::Result<Self> {
        Self::with_all(setup, ("claude-code", agent), files, more)
    }

    fn with_all(
        setup: &Setup,
        (runtime, agent): (&str, &Path),
        files: u64,
        more: &str,
    ) -> anyhow::Result<Self> {
        let top = TempDir::new_in(&setup.folder)?;
        let repo = top.path().join("repo");
        std::fs::create_dir_all(repo.join(".musher"))?;
        let home = top.path().join(WORKER_HOME);
        std::fs::create_dir_all(&home)?;
        let agent = agent.display();
        let more = more.replace("@HOME@", &home.display().to_string());
        let text = format!(
            "[[agent]]\nname = 'worker'\nruntime = '{runtime}'\ncommand = '{agent}'\n\
             prompt = '{{{{ story.text }}}}'\n{more}\
             [limits]\nruns = 1000\nruns_per_agent = 1000\nruns_per_story = 8\n"
        );
        std::fs::write(repo.join(".musher/project.toml"), text)?;
        write_files(&repo, files)?;
        git(&repo, &["init", "-q", "-b", "main"])?;
        git(&repo, &["add", "."])?;
        git(&repo, &["commit", "-qm", "first"])?;
        let state = top.path().join("state");
        std::fs::create_dir_all(&state)?;
        let project = config::load(&repo, runtimes::built()).map_err(|e| anyhow::anyhow!("{e}"))?;
        config::trust::grant(&state, &project)?;
        let musher = setup.programs.musher.clone();
        let (server, address, token) = serve(&musher, top.path())?;
        let client = Client::new(&format!("http://{address}"), &token)?;
        Ok(Self { top, musher, server, address, token, client })
    }

    /// Starts the server again after it was killed.
    pub fn serve_again(&mut self) -> anyhow::Result<()> {
        self.serve_again_as(&self.musher.clone())
    }

    /// The same with a program that stands for the product.
    pub fn serve_again_as(&mut self, musher: &Path) -> anyhow::Result<()> {
        let (server, address, token) = serve(musher, self.top.path())?;
        self.client = Client::new(&format!("http://{address}"), &token)?;
        (self.server, self.address, self.token) = (server, address, token);
        Ok(())
    }

    /// Kills the server; its runs go on.
    pub fn kill_server(&mut self) -> anyhow::Result<()> {
        self.server.kill()?;
        self.server.wait()?;
        Ok(())
    }

    /// Tells the server to end, and waits until it has; its runs go on.
    pub fn end_server(&mut self) -> anyhow::Result<ExitStatus> {
        let pid = rustix::process::Pid::from_child(&self.server);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let began = Instant::now();
        loop {
            if let Some(status) = self.server.try_wait()? {
                return Ok(status);
            }
            ensure!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(LOOK);
        }
    }

    /// Leaves the folder where it is when this is dropped.
    pub fn keep(&mut self) {
        self.top.disable_cleanup(true);
    }

    /// What the servers of this place have said of trouble.
    pub fn server_log(&self) -> PathBuf {
        self.top.path().join(SERVER_LOG)
    }

    /// The folder in which the agents keep what they remember, if they are told to.
    pub fn worker_home(&self) -> PathBuf {
        self.top.path().join(WORKER_HOME)
    }

    /// The folder that holds the repository and the state.
    pub fn top(&self) -> &Path {
        self.top.path()
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The processes of this place that still live, the server aside.
    pub fn left(&self) -> anyhow::Result<Vec<Left>> {
        let mut left = left_below(self.top.path())?;
        left.retain(|left| left.pid != self.pid());
        Ok(left)
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// How many files the server has open.
    pub fn open_files(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.pid()))?.count())
    }

    /// Starts a run that does what the text says.
    pub async fn begin(&self, text: &str) -> anyhow::Result<String> {
        let story = self.add(text).await?;
        self.start(&story).await
    }

    /// Adds a story.
    pub async fn add(&self, text: &str) -> anyhow::Result<String> {
        let story = json!({ "title": "Work", "text": text });
        let story: Json = self.client.post(&["stories"], &story).await?.read()?;
        Ok(story["story"].as_str().context("the story has no name")?.to_owned())
    }

    /// Starts a run on a story.
    pub async fn start(&self, story: &str) -> anyhow::Result<String> {
        let run: Json = self.client.post(&["stories", story, "start"], &json!({})).await?.read()?;
        Ok(run["run"].as_str().context("the run has no name")?.to_owned())
    }

    /// Stops a run.
    pub async fn stop(&self, run: &str) -> anyhow::Result<()> {
        self.client.post(&["runs", run, "stop"], &json!({})).await?;
        Ok(())
    }

    /// Stops a run, and waits until it is over and its work is kept.
    pub async fn end(&self, run: &str) -> anyhow::Result<()> {
        self.stop(run).await?;
        self.until_over(run).await.map(drop)
    }

    /// Waits until a run is over and its work is kept.
    pub async fn until_over(&self, run: &str) -> anyhow::Result<ApiRun> {
        let began = Instant::now();
        loop {
            let view: ApiRun = self.client.read(&["runs", run], &[]).await?;
            if view.is_over() {
                return Ok(view);
            }
            ensure!(began.elapsed() < PATIENCE, "{run} does not end");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Starts a run that waits for a word before it does what the text says.
    pub async fn begin_held(&self, text: &str) -> anyhow::Result<Held> {
        let run = self.begin(&format!("[[work ask=go]] {text}")).await?;
        let began = Instant::now();
        loop {
            let asks: Json = self.client.read(&["asks"], &[]).await?;
            let asks = asks["asks"].as_array().map(Vec::as_slice).unwrap_or_default();
            let ask = asks.iter().find(|ask| ask["run"] == run.as_str());
            if let Some(ask) = ask
                && let (Some(id), Some(digest)) = (ask["ask"].as_str(), ask["digest"].as_str())
            {
                return Ok(Held { run, ask: id.to_owned(), digest: digest.to_owned() });
            }
            ensure!(began.elapsed() < PATIENCE, "{run} never asked");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Lets a run go that waits.
    pub async fn let_go(&self, held: &Held) -> anyhow::Result<()> {
        let yes = json!({ "answer": { "decision": "allow" }, "shown": held.digest });
        self.client.post(&["runs", &held.run, "asks", &held.ask, "answer"], &yes).await?;
        Ok(())
    }

    /// The number of the last event in a run's log.
    pub fn last(&self, run: &str) -> u64 {
        let reader = LogReader::open(&self.folder(run), None);
        let head = reader.and_then(|reader| reader.head());
        head.ok().flatten().map_or(0, |head| head.seq)
    }

    /// Waits until a run's log has so many events.
    pub async fn until_logged(&self, run: &str, events: u64) -> anyhow::Result<()> {
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
    pub fn runner(&self, run: &str) -> anyhow::Result<u32> {
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

    pub fn folder(&self, run: &str) -> PathBuf {
        self.top.path().join("state/runs").join(run)
    }
}

/// A run that waits for a word.
#[derive(Debug)]
pub struct Held {
    pub run: String,
    ask: String,
    digest: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whatever is dead already is as good.
        let _dead = self.server.kill();
        let _dead = self.server.wait();
        if left_below(self.top.path()).is_ok_and(|left| left.is_empty()) {
            return;
        }
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

/// Starts the server and waits until it is ready; gives its address and its token too.
fn serve(musher: &Path, top: &Path) -> anyhow::Result<(Child, String, String)> {
    let (state, errors) = (top.join("state"), top.join(SERVER_LOG));
    let mut server = Command::new(musher)
        .args(["serve", "--json", "--listen", "127.0.0.1:0", "--state"])
        .arg(&state)
        .current_dir(top.join("repo"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", top)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::options().create(true).append(true).open(&errors)?)
        .spawn()
        .with_context(|| format!("starting {}", musher.display()))?;
    let mut line = String::new();
    let out = server.stdout.take().context("the server has no output")?;
    BufReader::new(out).read_line(&mut line)?;
    let ready: Json = serde_json::from_str(&line).with_context(|| {
        let said = std::fs::read_to_string(&errors).unwrap_or_default();
        format!("the server was not ready; it said: {said}")
    })?;
    let url = ready["url"].as_str().context("the server has no address")?;
    let token = std::fs::read_to_string(state.join("token"))?;
    Ok((server, url.trim_start_matches("http://").to_owned(), token.trim().to_owned()))
}

/// The name of a file of a repository of ours.
pub fn file_name(nth: u64) -> String {
    format!("part-{}/file-{nth}.txt", nth % 100)
}

/// Writes so many files of 100 lines, each of them different.
pub fn write_files(folder: &Path, count: u64) -> anyhow::Result<()> {
    for part in 0..count.min(100) {
        std::fs::create_dir_all(folder.join(format!("part-{part}")))?;
    }
    for nth in 0..count {
        let lines = (0..100).map(|line| format!("line {line} of the file with number {nth}\n"));
        std::fs::write(folder.join(file_name(nth)), lines.collect::<String>())?;
    }
    Ok(())
}

/// Writes a program of one line.
pub fn script(path: &Path, line: &str) -> anyhow::Result<PathBuf> {
    std::fs::write(path, format!("#!/bin/sh\n{line}\n"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path.to_owned())
}

pub fn git(repo: &Path, args: &[&str]) -> anyhow::Result<()> {
    let done = Command::new("git")
        .args(["-c", "user.name=M", "-c", "user.email=m@localhost"])
        // It would go on in the background, beside what is measured.
        .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(args)
        .current_dir(repo)
        .status()
        .context("starting git")?;
    ensure!(done.success(), "git {args:?} failed");
    Ok(())
}
