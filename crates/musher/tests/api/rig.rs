//! A server without runners: the tests tell the pool what runners would, and write the logs themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use musher::api::{self, Access, ApiContext, Code};
use musher::bus::Bus;
use musher::config;
use musher::diagnostics;
use musher::home::{AccessToken, Home, TokenStore};
use musher::journal::{Journal, Views};
use musher::pool::{Pool, PoolHandle};
use musher::runtimes::KnownRuntime;
use musher::settings::ServerSettings;
use musher::watch::WatchContext;
use musher_core::pool::{PoolInput, PoolLimits, RunReport, Seat, Team};
use musher_core::{
    ErrorClass, ErrorInfo, Event, EventKind, EventScope, Level, Outcome, RunId, SessionEnded,
    StoryId,
};
use musher_git::worktree::{SlotFiles, WorktreeSlots};
use musher_git::{Branch, Git, GitEnv};
use musher_log::{Lock, Writer};
use musher_runtime::Environment;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// All that the project of these tests needs.
const SCRIPT: &[KnownRuntime<'static>] =
    &[KnownRuntime { name: "script", wires: &[], effort: false }];

pub(crate) const HOST: &str = "127.0.0.1:7070";
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// A secret in the server's environment, under the name `DEMO_API_KEY`.
pub(crate) const SECRET: &str = "sk-demo-0123456789abcdef";
pub(crate) const CODE: &str = "one-time-code";
pub(crate) const GUEST: &str = "https://musher.example";

static NOW: AtomicI64 = AtomicI64::new(1_700_000_000_000);

/// A clock that moves by a millisecond whenever it is looked at.
fn now() -> i64 {
    NOW.fetch_add(1, Ordering::Relaxed)
}

pub(crate) struct Rig {
    top: TempDir,
    pub(crate) router: Router,
    pub(crate) pool: PoolHandle,
    pub(crate) views: Views,
    pub(crate) bus: Bus,
    pub(crate) closing: CancellationToken,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::at(7070).await
    }

    /// A server that goes by a port.
    pub(crate) async fn at(port: u16) -> Self {
        Self::in_folder(TempDir::new().unwrap(), port).await
    }

    async fn in_folder(top: TempDir, port: u16) -> Self {
        let repo = top.path().join("repo");
        if !repo.exists() {
            make_repository(&repo);
        }
        let repo = repo.canonicalize().unwrap();
        let home = Home::open(&top.path().join("state"), &repo).unwrap();
        let project = config::load(&repo, SCRIPT).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = GitEnv::new([("PATH".into(), path.clone()), ("HOME".into(), top.path().into())])
            .with("GIT_CONFIG_NOSYSTEM", "1");
        let git = Git::open(&repo, env.clone(), &home.scratch().unwrap()).await.unwrap();
        let slots =
            WorktreeSlots::new(git.clone(), &home.worktrees(), SlotFiles::default()).unwrap();
        let journal = Journal::open(&home.journal(), now()).unwrap();
        let views = journal.views();
        let seat = Seat { name: "coder".parse().unwrap(), model: None, budget: None, turns: false };
        let other = Seat {
            name: "tester".parse().unwrap(),
            model: Some("m2".into()),
            budget: None,
            turns: true,
        };
        let limits = PoolLimits { runs: 64, runs_per_agent: 64, runs_per_story: 8, day_usd: None };
        let team = Team { agents: vec![seat, other], limits };
        let (pool, _thread) = Pool::start(journal, team, now, drop).unwrap();
        let settings = ServerSettings::begin(&repo, home.path(), SCRIPT, project).unwrap();
        let settings = Arc::new(settings);
        let bus = Bus::start(home.runs());
        let closing = CancellationToken::new();
        let tokens = Arc::new(TokenStore::open(home.path()).unwrap());
        let access =
            Access::new(AccessToken::given(TOKEN), tokens, port, &[HOST.into()], &[GUEST.into()]);
        let router = api::router(ApiContext {
            watch: WatchContext {
                pool: pool.clone(),
                views: views.clone(),
                bus: bus.clone(),
                git,
                slots,
                base_branch: Branch::new("main").unwrap(),
                checked: diagnostics::DiagnosticContext {
                    repo: Ok(repo.clone()),
                    state: Ok(home.path().to_owned()),
                    environment: Environment::from_vars([
                        ("PATH".into(), path.clone()),
                        ("DEMO_API_KEY".into(), SECRET.into()),
                    ]),
                    git_env: env.clone(),
                },
                clock: now,
                closing: closing.clone(),
            },
            name: "demo".into(),
            build: "build-1".into(),
            project: settings.watch(),
            settings,
            access,
            code: Code::new(AccessToken::given(CODE)),
            site: musher_web::WebFiles::default(),
        });
        Self { top, router, pool, views, bus, closing }
    }

    /// The same state under a new server, as after a restart.
    pub(crate) async fn again(self) -> Self {
        self.closing.cancel();
        self.pool.close().await;
        let Self { top, .. } = self;
        Self::in_folder(top, 7070).await
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.top.path().join("repo").canonicalize().unwrap()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.top.path().join("state")
    }

    pub(crate) fn worktrees(&self) -> PathBuf {
        self.top.path().join("state/worktrees").canonicalize().unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(ask(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Json) -> Reply {
        self.send(order(Method::POST, path, body.to_string())).await
    }

    pub(crate) async fn add(&self, title: &str) -> StoryId {
        let reply = self.post("/api/v1/stories", &json!({"title": title})).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        reply.json()["story"].as_str().unwrap().parse().unwrap()
    }

    /// A run that is live, as far as the pool knows.
    pub(crate) async fn live(&self) -> RunId {
        let story = self.add("Work").await;
        let run = self.queue(&story).await;
        self.tell(PoolInput::Prepared { run, head: "0".repeat(40) }).await;
        self.tell(PoolInput::RunnerUp { run }).await;
        self.settled().await;
        run
    }

    pub(crate) async fn queue(&self, story: &StoryId) -> RunId {
        let reply = self.post(&format!("/api/v1/stories/{story}/start"), &json!({})).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text());
        reply.json()["run"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) async fn tell(&self, input: PoolInput) {
        self.pool.tell(input).await.unwrap();
    }

    /// The run is over, as far as the pool knows.
    pub(crate) async fn end(&self, run: RunId, seq: u64) {
        let what = RunReport::Ended { outcome: Outcome::Completed, error: None, session: None };
        self.tell(PoolInput::Heard { run, seq, what }).await;
        self.tell(PoolInput::Finished { run, commit: None, error: None }).await;
        self.settled().await;
    }

    /// Returns when everything that was told before is durable.
    pub(crate) async fn settled(&self) {
        self.pool.inspect(|_| ()).await.unwrap();
    }

    pub(crate) fn log(&self, run: RunId) -> Log {
        let folder = self.bus.folder(run);
        std::fs::create_dir_all(&folder).unwrap();
        Log {
            writer: Writer::create(Lock::take(&folder).unwrap(), &run.to_string()).unwrap(),
            folder,
        }
    }
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Holds the reply to the shape of a problem.
    pub(crate) fn is_problem(&self, status: u16, code: &str) {
        let shown = self.text();
        assert_eq!(self.status.as_u16(), status, "{shown}");
        let kind = self.headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap());
        assert_eq!(kind, Some("application/problem+json"), "{shown}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{shown}");
        assert_eq!(problem["status"], status, "{shown}");
        assert_eq!(problem["type"], format!("urn:musher:problem:{code}"));
        for field in ["title", "detail", "hint"] {
            assert!(
                problem[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field}: {shown}"
            );
        }
    }
}

/// A request that may pass.
pub(crate) fn ask(method: Method, path: &str) -> axum::http::request::Builder {
    let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    request.header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
}

pub(crate) fn order(method: Method, path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = ask(method, path).header(header::CONTENT_TYPE, "application/json");
    let body: Body = body.into();
    let size = HttpBody::size_hint(&body).exact();
    let request = match size {
        Some(size) => request.header(header::CONTENT_LENGTH, size),
        None => request.header(header::TRANSFER_ENCODING, "chunked"),
    };
    request.body(body).unwrap()
}

/// The log of a run whose runner is the test.
pub(crate) struct Log {
    pub(crate) writer: Writer,
    pub(crate) folder: PathBuf,
}

impl Log {
    /// Appends so many notices.
    pub(crate) fn notices(&mut self, count: u64) {
        let first = self.writer.next_seq();
        let events: Vec<Event> = (first..first + count).map(notice).collect();
        self.writer.append(&events).unwrap();
    }

    pub(crate) fn append(&mut self, kind: EventKind) -> u64 {
        let event = event(self.writer.next_seq(), kind);
        self.writer.append([&event]).unwrap();
        event.seq
    }

    /// Appends the end of the session.
    pub(crate) fn end(&mut self) -> u64 {
        let error = ErrorInfo::new(ErrorClass::Unknown, "none");
        let ended = EventKind::SessionEnded(Box::new(SessionEnded::unbegun(error)));
        self.append(ended)
    }
}

pub(crate) fn notice(seq: u64) -> Event {
    event(seq, EventKind::Notice { level: Level::Info, code: None, text: format!("event {seq}") })
}

fn event(seq: u64, kind: EventKind) -> Event {
    Event { seq, at: 1_000, kind, turn: None, scope: EventScope::Main, raw: None }
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@t"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn make_repository(repo: &Path) {
    std::fs::create_dir_all(repo.join(".musher")).unwrap();
    let project = "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './work.toml'\n\
        [[agent]]\nname = 'tester'\nruntime = 'script'\ncommand = './work.toml'\nmodel = 'm2'\n";
    std::fs::write(repo.join(".musher/project.toml"), project).unwrap();
    std::fs::write(repo.join("README"), "hello\n").unwrap();
    git(repo, &["init", "-q", "-b", "main"]);
    git(repo, &["add", "."]);
    git(repo, &["commit", "-qm", "first"]);
}

/// Looks again until something holds; fails when it takes too long.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
