//! Runners that cannot answer, because somebody has stopped them: a stop and a kill need no cooperation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use musher_testkit::proc;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::rig::{Project, Server, runner_pid};

/// How long a stop may take, and a little for a busy machine.
const BOUND: Duration = Duration::from_secs(25);

fn stop(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, Signal::STOP).is_ok())
}

/// The processes that agents have left, also those that carry no mark.
fn spawned(project: &Project) -> Vec<i32> {
    let effects = project.worker_file("effects");
    let pids = effects.lines().filter_map(|line| line.strip_prefix("spawned ")?.rsplit(' ').next());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

/// That nothing of any agent is left.
fn nothing_left(project: &Project, what: &str) {
    assert_eq!(project.left(), Vec::<i32>::new(), "{what}");
    let hidden: Vec<i32> = spawned(project).into_iter().filter(|pid| proc::alive(*pid)).collect();
    assert_eq!(hidden, Vec::<i32>::new(), "{what}");
}

/// A run with children that are hard to find, and the process of its runner.
async fn with_family(project: &Project, server: &Server) -> (String, i32) {
    let work = "[[work spawn=setsid spawn=daemon spawn=clear_env hang=1]]";
    let (_, run) = server.begin(work).await;
    server.until_live(&run).await;
    while spawned(project).len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let runner = runner_pid(&project.run_folder(&run)).unwrap();
    (run, runner)
}

/// Waits until a run is over, no longer than a stop may take.
async fn over_in_time(server: &Server, run: &str) -> Json {
    let over = tokio::time::timeout(BOUND, server.until_over(run)).await;
    over.unwrap_or_else(|_| panic!("{run} is not over after {BOUND:?}"))
}

#[tokio::test]
async fn promise_3_a_stopped_runner_is_woken_and_its_run_stopped_or_killed_in_time() {
    for verb in ["stop", "kill"] {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (run, runner) = with_family(&project, &server).await;
        assert!(stop(runner));
        server.post(&format!("/runs/{run}/{verb}"), &json!({})).await;
        let over = over_in_time(&server, &run).await;
        assert_eq!(over["outcome"], "stopped", "{verb}: it was only asleep: {over:#}");
        nothing_left(&project, verb);
        let began = Instant::now();
        while proc::alive(runner) {
            assert!(began.elapsed() < BOUND, "{verb}: it says its last words and goes");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Stops a process again and again until it is told to leave off.
struct Stopper {
    enough: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Stopper {
    fn of(pid: i32) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let told = enough.clone();
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) && proc::alive(pid) && stop(pid) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { enough, thread: Some(thread) }
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[tokio::test]
async fn promise_3_a_runner_that_is_stopped_again_and_again_is_killed_with_its_tree() {
    for verb in ["stop", "kill"] {
        let project = Project::of_workers();
        let server = project.serve().await;
        let (run, runner) = with_family(&project, &server).await;
        let stopper = Stopper::of(runner);
        server.post(&format!("/runs/{run}/{verb}"), &json!({})).await;
        let over = over_in_time(&server, &run).await;
        drop(stopper);
        assert!(matches!(over["outcome"].as_str(), Some("stopped" | "lost")), "{verb}: {over:#}");
        nothing_left(&project, verb);
        assert_eq!(server.try_get("/runs/r2").await.unwrap().0, 404, "{verb}: it was ended");
    }
}

#[tokio::test]
async fn promise_3_a_stopped_runner_is_killed_without_a_server_and_its_log_is_closed() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (run, runner) = with_family(&project, &server).await;
    server.kill();
    let stopper = Stopper::of(runner);
    let began = Instant::now();
    let said = project.cli(&["kill", &run]).await;
    assert!(began.elapsed() < BOUND, "it took {:?}", began.elapsed());
    drop(stopper);
    assert!(said.contains("has ended"), "{said}");
    nothing_left(&project, "kill");
    assert!(!proc::alive(runner));
    project.gapless(&run);
    assert!(project.run_folder(&run).join("outcome.json").exists(), "its log has an end");
    let server = project.serve().await;
    assert_eq!(server.until_over(&run).await["outcome"], "lost");
}

#[tokio::test]
async fn a_runner_that_was_stopped_is_woken_though_nobody_asks_so_that_its_limits_hold() {
    let project = Project::of_workers();
    let server = project.serve().await;
    let (run, runner) = with_family(&project, &server).await;
    assert!(stop(runner));
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{runner}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    let began = Instant::now();
    while state() == 'T' {
        assert!(began.elapsed() < BOUND, "it sleeps on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.post(&format!("/runs/{run}/kill"), &json!({})).await;
    assert_eq!(server.until_over(&run).await["outcome"], "stopped");
}
