//! The supervisor without its doors: a real repository, real runners, real worktrees.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test makes the repository that it needs")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use musher::config;
use musher::home::Home;
use musher::pool::{Accepted, Wish};
use musher::runtimes;
use musher::supervisor::{Config, Supervisor};
use musher_core::pool::Reply;
use musher_core::{CommandId, Outcome, RunId};
use musher_runtime::Environment;
use tempfile::TempDir;

struct Project {
    top: TempDir,
}

impl Project {
    fn new(agents: &str) -> Self {
        let top = TempDir::new().unwrap();
        let repo = top.path().join("repo");
        std::fs::create_dir_all(repo.join(".musher")).unwrap();
        std::fs::write(repo.join(".musher/project.toml"), agents).unwrap();
        std::fs::write(repo.join("README"), "hello\n").unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "-qm", "first"]);
        Self { top }
    }

    fn repo(&self) -> std::path::PathBuf {
        self.top.path().join("repo").canonicalize().unwrap()
    }

    async fn serve(&self) -> Supervisor {
        let repo = self.repo();
        let home = Home::open(&self.top.path().join("state"), &repo).unwrap();
        let project = config::load(&repo, runtimes::BUILT).unwrap();
        let environment = Environment::from_vars([
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), self.top.path().into()),
        ]);
        let program = env!("CARGO_BIN_EXE_musher").into();
        let config = Config { repo, home, project, program, environment };
        Supervisor::start(config).await.unwrap()
    }
}

fn git(repo: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@t"])
        .args(args)
        .current_dir(repo)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn wish(supervisor: &Supervisor, id: &str, wish: Wish) -> Reply {
    let id: CommandId = id.parse().unwrap();
    match supervisor.pool().command(wish, id, None).await.unwrap() {
        Accepted::Final(reply) => reply,
        Accepted::Pending(pending) => pending.last_word().await.unwrap(),
    }
}

async fn outcome(supervisor: &Supervisor, run: RunId) -> Outcome {
    let began = Instant::now();
    loop {
        let view = supervisor.views().run(run).unwrap().unwrap();
        if let (Some(outcome), true) = (view.outcome, view.phase == "over") {
            return outcome;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{view:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_story_becomes_a_run_in_a_worktree_of_its_own_and_its_work_is_committed_and_merged() {
    let project = Project::new(
        "[[agent]]\nname = 'coder'\nruntime = 'script'\ncommand = './.musher/work.toml'\n",
    );
    std::fs::write(
        project.repo().join(".musher/work.toml"),
        "[[step]]\nrun = 'echo made > made.txt'\n[[step]]\nsay = 'Done.'",
    )
    .unwrap();
    git(&project.repo(), &["add", "."]);
    git(&project.repo(), &["commit", "-qm", "script"]);
    let supervisor = project.serve().await;
    let add = Wish::AddStory { id: None, title: "Make it".into(), text: "Please.".into() };
    let Reply::Story(story) = wish(&supervisor, "c1", add).await else { panic!() };
    let start = Wish::StartRun { story: story.clone(), agent: None, model: None, prompt: None };
    let Reply::Run(run) = wish(&supervisor, "c2", start).await else { panic!() };
    assert_eq!(outcome(&supervisor, run).await, Outcome::Completed);
    let branch = format!("musher/{story}/1");
    assert_eq!(git(&project.repo(), &["show", &format!("{branch}:made.txt")]), "made\n");
    let merge = Wish::MergeStory { story, branch: None };
    wish(&supervisor, "c3", merge).await;
    assert_eq!(std::fs::read_to_string(project.repo().join("made.txt")).unwrap(), "made\n");
    supervisor.end().await;
}
