//! A project in a repository of its own, the server that serves it, and the agents that work in it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use musher::config;
use musher::runner::spec::RunSpec;
use musher::runtimes;
use musher_core::{Event, EventKind, ItemBody};
use musher_log::{Lock, LogRead, LogReader, lines};
use musher_testkit::{proc, programs};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::disk::Mount;

/// Nothing here takes longer, except what is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A project file with one agent that does what its story says, and no limits worth the name.
pub(crate) const WORKERS: &str = "[[agent]]\nname = 'worker'\nruntime = 'claude-code'\ncommand = '@WORKER@'\nprompt = '{{ story.text }}'\nenv = { WORKER_HOME = '@HOME@' }\n[limits]\nruns = 64\nruns_per_agent = 64\nruns_per_story = 8\n";

/// A repository, a state directory and a home.
pub(crate) struct Project {
    /// Disks of its own, which go before the folder that they are in.
    pub(crate) mounts: Vec<Mount>,
    /// Where repository and state are.
    ground: PathBuf,
    top: TempDir,
    /// Variables that the server and the commands get beside the usual ones.
    pub(crate) vars: Vec<(String, String)>,
}

impl Project {
    /// A project with this project file; `@WORKER@` and `@HOME@` in it stand for the worker agent and its home.
    pub(crate) fn new(text: &str) -> Self {
        let top = TempDir::new().unwrap();
        let ground = top.path().to_owned();
        Self { mounts: Vec::new(), ground, top, vars: Vec::new() }.begun(text)
    }

    /// As [`Project::new`], with repository and state on a disk of their own, which is in this folder.
    pub(crate) fn on(top: TempDir, disk: Mount, text: &str) -> Self {
        let ground = disk.path().to_owned();
        let project = Self { mounts: vec![disk], ground, top, vars: Vec::new() }.begun(text);
        // The repository is older than anything that is tested.
        rustix::fs::syncfs(std::fs::File::open(&project.ground).unwrap()).unwrap();
        project
    }

    fn begun(self, text: &str) -> Self {
        let project = self;
        let repo = project.repo();
        std::fs::create_dir_all(repo.join(".musher")).unwrap();
        std::fs::create_dir_all(project.worker_home()).unwrap();
        let worker = programs::worker_agent().unwrap();
        let text = text
            .replace("@WORKER@", &worker.display().to_string())
            .replace("@HOME@", &project.worker_home().display().to_string());
        std::fs::write(repo.join(".musher/project.toml"), text).unwrap();
        std::fs::write(repo.join("README"), "hello\n").unwrap();
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["add", "."]);
        project.git(&["commit", "-qm", "first"]);
        project
    }

    /// A project with one agent that does what its story says, and no limits worth the name.
    pub(crate) fn of_workers() -> Self {
        Self::new(WORKERS)
    }

    pub(crate) fn top(&self) -> &Path {
        self.top.path()
    }

    /// The same, with agents that hang for ever when they are asked to go on.
    pub(crate) fn of_hanging_workers() -> Self {
        let project = Self::of_workers();
        let file = project.repo().join(".musher/project.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let hanging = "continue_prompt = '[[work hang=1]]'\n[limits]";
        std::fs::write(&file, text.replace("[limits]", hanging)).unwrap();
        project.git(&["commit", "-qam", "hang"]);
        project
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.ground.join("repo")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.ground.join("state")
    }

    pub(crate) fn worker_home(&self) -> PathBuf {
        self.top.path().join("worker")
    }

    /// A file that the worker agents write.
    pub(crate) fn worker_file(&self, name: &str) -> String {
        std::fs::read_to_string(self.worker_home().join(name)).unwrap_or_default()
    }

    pub(crate) fn run_folder(&self, run: &str) -> PathBuf {
        self.state().join("runs").join(run)
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.git_output(folder, args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A call of git that must fail.
    pub(crate) fn git_fails(&self, args: &[&str]) {
        assert!(!self.git_output(&self.repo(), args).status.success(), "git {args:?}");
    }

    fn git_output(&self, folder: &Path, args: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@t"]).args(args);
        git.current_dir(folder).env("HOME", self.top.path()).output().unwrap()
    }

    /// `musher` with these arguments, in the repository, with nothing of the tests' environment.
    pub(crate) fn musher(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_musher"));
        command
            .args(args)
            .current_dir(self.repo())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.top.path())
            .env("XDG_STATE_HOME", self.top.path().join("xdg"))
            .env("LANG", "C.UTF-8")
            .envs(self.vars.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command of the CLI against the server of this project, and gives what it printed.
    pub(crate) async fn cli(&self, args: &[&str]) -> String {
        let state = self.state().display().to_string();
        let mut all = args.to_vec();
        all.extend(["--state", &state]);
        let mut command = self.musher(&all);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "musher {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().to_owned()
    }

    /// Starts the server; what it may do is trusted first.
    pub(crate) async fn serve(&self) -> Server {
        self.serve_with(&[]).await.unwrap()
    }

    /// Starts the server with more arguments; `None` if it ended before it was ready.
    pub(crate) async fn serve_with(&self, more: &[&str]) -> Option<Server> {
        self.trust();
        let state = self.state().display().to_string();
        let mut args = vec!["serve", "--json", "--state", &state];
        args.extend(more);
        self.start(self.musher(&args))
    }

    /// Starts the server from a shell that has run this first.
    pub(crate) async fn serve_after(&self, shell: &str) -> Server {
        self.trust();
        let state = self.state().display().to_string();
        let musher = self.musher(&["serve", "--json", "--state", &state]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$@\""), "sh"]);
        command.arg(musher.get_program()).args(musher.get_args()).current_dir(self.repo());
        command
            .env_clear()
            .envs(musher.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.start(command).unwrap()
    }

    pub(crate) fn start(&self, mut command: Command) -> Option<Server> {
        let log = self.server_log();
        let errors = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let Ok(ready) = serde_json::from_str::<Json>(&line) else {
            child.wait().unwrap();
            return None;
        };
        let token = std::fs::read_to_string(self.state().join("token")).unwrap();
        let url = ready["url"].as_str().unwrap().to_owned();
        musher_client::prepare();
        let notices = ready["notices"].as_array().cloned().unwrap_or_default();
        let notices =
            notices.iter().filter_map(|notice| Some(notice.as_str()?.to_owned())).collect();
        Some(Server { child, url, token, http: reqwest::Client::new(), log, notices })
    }

    /// Says that the project file may do what it can do.
    pub(crate) fn trust(&self) {
        std::fs::create_dir_all(self.state()).unwrap();
        let project = config::load(&self.repo(), runtimes::built()).unwrap();
        let trust = config::trust::trusted(&self.state(), &project).unwrap();
        if trust != config::trust::TrustState::Trusted {
            config::trust::grant(&self.state(), &project).unwrap();
        }
    }

    /// Where every server writes what it has to say.
    pub(crate) fn server_log(&self) -> PathBuf {
        self.top.path().join("server.log")
    }

    /// The runs that have a folder.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = folders.map(|folder| folder.path()).collect();
        runs.sort();
        runs
    }

    /// Every process that any run has left behind; there should be none.
    pub(crate) fn left(&self) -> Vec<i32> {
        let marks = self.runs().into_iter().filter_map(|run| Some(RunSpec::read(&run).ok()?.mark));
        marks.flat_map(|mark| proc::marked(&format!("{}={mark}", musher_runtime::MARK))).collect()
    }

    pub(crate) fn events(&self, run: &str) -> Vec<Event> {
        let Ok(mut reader) = LogReader::open(&self.run_folder(run), None) else {
            return Vec::new();
        };
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
}

impl Project {
    /// The numbers that an agent has said, as the log of its run has them.
    pub(crate) fn said(&self, run: &str) -> Vec<u64> {
        let texts = self.events(run).into_iter().filter_map(|event| match event.kind {
            EventKind::ItemDone { body: ItemBody::Text { text }, .. } => Some(text),
            _ => None,
        });
        texts.filter_map(|text| first_number(text.strip_prefix("line ")?)).collect()
    }

    /// How many lines an agent has said, as it knows itself; for one that has only one session.
    pub(crate) fn spoken(&self) -> u64 {
        let sessions = std::fs::read_dir(self.worker_home().join("sessions"));
        let texts = sessions.into_iter().flatten().flatten();
        let texts = texts.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        texts.filter_map(|text| first_number(&text)).sum()
    }

    /// Checks that the events of a run are numbered without gaps, and gives how many there are.
    pub(crate) fn gapless(&self, run: &str) -> u64 {
        let numbers: Vec<u64> = self.events(run).iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{run}");
        numbers.len() as u64
    }

    /// Checks that the log of a run has every number once, and in order.
    pub(crate) fn whole(&self, run: &str, lines: u64) {
        self.gapless(run);
        assert_eq!(self.said(run), (1..=lines).collect::<Vec<_>>(), "{run}");
    }
}

/// The number at the beginning of a text.
fn first_number(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl Drop for Project {
    /// A failed test leaves no agent behind.
    fn drop(&mut self) {
        for run in self.runs() {
            if let Ok(spec) = RunSpec::read(&run) {
                if Lock::is_held(&run).unwrap_or(false) {
                    kill_runner(&run);
                }
                musher_runtime::sweep(&spec.mark, spec.group.as_deref());
            }
        }
    }
}

/// Kills the runner of a run by its process.
pub(crate) fn kill_runner(folder: &Path) -> Option<()> {
    let pid = rustix::process::Pid::from_raw(runner_pid(folder)?)?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok()
}

/// The process that hosts the run in a folder.
pub(crate) fn runner_pid(folder: &Path) -> Option<i32> {
    let folder = folder.canonicalize().ok()?;
    let wanted = folder.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    for entry in entries {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        if words.nth(1) == Some(b"runner") && words.next() == Some(wanted) {
            return Some(pid);
        }
    }
    None
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    http: reqwest::Client,
    log: PathBuf,
    /// What it said about the state directory when it began.
    pub(crate) notices: Vec<String>,
}

impl Server {
    pub(crate) async fn get(&self, path: &str) -> Json {
        let (status, body) = self.try_get(path).await.unwrap();
        assert!(status < 300, "GET {path}: {status} {body:#}");
        body
    }

    pub(crate) async fn try_get(&self, path: &str) -> reqwest::Result<(u16, Json)> {
        let request = self.http.get(format!("{}/api/v1{path}", self.url));
        let reply = request.bearer_auth(&self.token).send().await?;
        let status = reply.status().as_u16();
        Ok((status, reply.json().await?))
    }

    /// The digests of all asks, as somebody who looks at them has them.
    pub(crate) async fn digest(&self, run: &str, ask: &str) -> reqwest::Result<Json> {
        let request = self.http.get(format!("{}/api/v1/asks?all=true&limit=1000", self.url));
        let asks: Json = request.bearer_auth(&self.token).send().await?.json().await?;
        let asks = asks["asks"].as_array().cloned().unwrap_or_default();
        let found = asks.into_iter().find(|it| it["run"] == run && it["ask"] == ask);
        Ok(found.map(|it| it["digest"].clone()).unwrap_or_default())
    }

    /// Sends a command. An answer that does not say what was shown is sent by somebody who has just looked.
    pub(crate) async fn try_post(&self, path: &str, body: &Json) -> reqwest::Result<(u16, Json)> {
        let mut body = body.clone();
        let names: Vec<&str> = path.split('/').collect();
        if let ["", "runs", run, "asks", ask, "answer"] = names.as_slice()
            && body.get("shown").is_none()
        {
            body["shown"] = self.digest(run, ask).await?;
        }
        let request = self.http.post(format!("{}/api/v1{path}", self.url));
        let reply = request.bearer_auth(&self.token).json(&body).send().await?;
        let status = reply.status().as_u16();
        Ok((status, reply.json().await.unwrap_or(Json::Null)))
    }

    pub(crate) async fn post(&self, path: &str, body: &Json) -> Json {
        let (status, reply) = self.try_post(path, body).await.unwrap();
        assert!(status < 300, "POST {path} {body}: {status} {reply:#}");
        reply
    }

    pub(crate) async fn try_delete(&self, path: &str) -> reqwest::Result<(u16, Json)> {
        let request = self.http.delete(format!("{}/api/v1{path}", self.url));
        let reply = request.bearer_auth(&self.token).send().await?;
        let status = reply.status().as_u16();
        Ok((status, reply.json().await.unwrap_or(Json::Null)))
    }

    /// Adds a story and starts a run on it; gives both ids.
    pub(crate) async fn begin(&self, text: &str) -> (String, String) {
        let story = self.post("/stories", &json!({ "title": "Work", "text": text })).await;
        let story = story["story"].as_str().unwrap().to_owned();
        let run = self.post(&format!("/stories/{story}/start"), &json!({})).await;
        (story, run["run"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn run(&self, run: &str) -> Json {
        self.get(&format!("/runs/{run}")).await
    }

    /// Waits until a run is as wanted, and gives it.
    pub(crate) async fn until(&self, run: &str, wanted: impl Fn(&Json) -> bool) -> Json {
        let began = Instant::now();
        loop {
            let view = self.run(run).await;
            if wanted(&view) {
                return view;
            }
            assert!(began.elapsed() < PATIENCE, "it never came to that: {view:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn until_over(&self, run: &str) -> Json {
        self.until(run, |view| view["phase"] == "over").await
    }

    pub(crate) async fn until_live(&self, run: &str) -> Json {
        self.until(run, |view| view["phase"] == "live").await
    }

    /// Waits until an ask of the run is open, and gives its id.
    pub(crate) async fn until_ask(&self, run: &str) -> String {
        let began = Instant::now();
        loop {
            let asks = self.get("/asks").await;
            let mut asks = asks["asks"].as_array().unwrap().iter();
            if let Some(ask) = asks.find(|ask| ask["run"] == run) {
                return ask["ask"].as_str().unwrap().to_owned();
            }
            assert!(began.elapsed() < PATIENCE, "no ask came: {:#}", self.run(run).await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The ids of all stories.
    pub(crate) async fn stories(&self) -> Vec<String> {
        let (mut ids, mut before) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/stories?limit=1000{before}")).await;
            let stories = page["stories"].as_array().unwrap().iter();
            ids.extend(stories.map(|story| story["id"].as_str().unwrap().to_owned()));
            match page["next"].as_u64() {
                Some(next) => before = format!("&before={next}"),
                None => return ids,
            }
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The memory that the server takes, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Kills the server as a crash does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the server has died by itself.
    pub(crate) fn until_dead(mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the server lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is as good.
        let _dead = self.child.kill();
        let _dead = self.child.wait();
        if std::thread::panicking() {
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            println!("the servers said:\n{said}");
        }
    }
}
