//! What the process module promises, shown with a program that breaks every rule.
#![expect(
    clippy::disallowed_methods,
    reason = "what the library must not change has to be looked at"
)]

use std::time::Duration;

use musher_testkit::{proc, programs};
use tokio::time::{Instant, timeout};

use super::*;

const SOON: Duration = Duration::from_secs(20);
const QUICK: Graces =
    Graces { close: Duration::from_millis(200), term: Duration::from_millis(300) };

struct Agent {
    process: Process,
    mark: String,
}

impl Agent {
    async fn start(mode: &[&str], stdin: StdinMode) -> Self {
        Self::contained(mode, stdin, Containment::default()).await
    }

    async fn contained(mode: &[&str], stdin: StdinMode, containment: Containment) -> Self {
        let mark = RunMark::new(None);
        let value = format!("{MARK}={}", mark.value());
        let env = Environment::of_this_process().select(&[], &[]);
        let process = Process::start(Launch {
            program: programs::fake_agent().unwrap(),
            args: mode.iter().map(OsString::from).collect(),
            cwd: std::env::temp_dir(),
            env,
            mark,
            containment,
            stdin,
            stderr: Errors::Tail,
            weights: Weights::default(),
            tap: None,
            confinement: None,
            share: ProcessorShare::default(),
        })
        .await
        .unwrap();
        Self { process, mark: value }
    }

    async fn line(&mut self) -> String {
        match timeout(SOON, self.process.next()).await.unwrap() {
            Some(Said::Line(OutputLine { body: LineBody::Whole(bytes), .. }, _)) => {
                String::from_utf8_lossy(&bytes).into_owned()
            }
            other => panic!("expected a line, got {other:?}"),
        }
    }

    /// The number in a line `pid N`.
    async fn pid(&mut self) -> i32 {
        self.line().await.strip_prefix("pid ").unwrap().parse().unwrap()
    }

    /// Every line up to the end, then the end.
    async fn rest(&mut self) -> (Vec<OutputLine>, ProcessOutcome) {
        let mut lines = Vec::new();
        loop {
            match timeout(SOON, self.process.next()).await.expect("the process hangs") {
                Some(Said::Line(line, _)) => lines.push(line),
                Some(Said::Ended(exit)) => return (lines, exit),
                None => panic!("no end was said"),
            }
        }
    }

    async fn end(&mut self) -> ProcessOutcome {
        self.process.control().end(QUICK).await;
        self.rest().await.1
    }
}

fn root_only() -> Containment {
    Containment { sweep: Sweep::RootOnly, ..Containment::default() }
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_no_process_of_its_tree() {
    let mark = RunMark::new(None);
    let value = format!("{MARK}={}", mark.value());
    let mut starting = Box::pin(Process::start(Launch {
        program: "/bin/sh".into(),
        args: ["-c", "setsid sleep 300 & setsid sleep 300 & wait"].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: Environment::of_this_process().select(&[], &[]),
        mark,
        containment: Containment::default(),
        stdin: StdinMode::Null,
        stderr: Errors::Tail,
        weights: Weights::default(),
        tap: None,
        confinement: None,
        share: ProcessorShare::default(),
    }));
    tokio::select! {
        biased;
        started = &mut starting => panic!("{started:?} was started in no time"),
        () = std::future::ready(()) => {}
    }
    let until = async |wanted: fn(usize) -> bool| {
        let all = async {
            while !wanted(proc::marked(&value).len()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, all).await.unwrap_or_else(|_| panic!("{:?}", proc::marked(&value)));
    };
    until(|count| count >= 3).await;
    drop(starting);
    until(|count| count == 0).await;
}

#[tokio::test]
async fn promise_4_an_exit_never_overtakes_the_last_output() {
    for _ in 0..20 {
        let mut agent = Agent::start(&["lines", "--count", "500"], StdinMode::Null).await;
        let (lines, exit) = agent.rest().await;
        assert_eq!((lines.len(), exit.code), (500, Some(0)));
    }
}

#[tokio::test]
async fn promise_4_a_grandchild_that_holds_the_output_never_hangs_a_run() {
    let mode = ["setsid-grandchild", "--seconds", "300"];
    let mut agent = Agent::contained(&mode, StdinMode::Null, root_only()).await;
    let grandchild = agent.pid().await;
    agent.rest().await;
    assert!(proc::alive(grandchild), "without the sweep the test would prove nothing");
    kill(grandchild);

    let mut agent = Agent::start(&["setsid-grandchild", "--seconds", "300"], StdinMode::Null).await;
    let grandchild = agent.pid().await;
    assert_eq!(agent.line().await, "parent done");
    let began = Instant::now();
    let (_, exit) = agent.rest().await;
    assert_eq!(exit.code, Some(0));
    assert!(began.elapsed() < Duration::from_secs(3), "took {:?}", began.elapsed());
    assert!(!proc::alive(grandchild));
}

/// Each of these leaves a process behind if only the agent itself is killed; that is shown first.
#[tokio::test]
async fn promise_3_the_whole_tree_is_gone_after_an_end() {
    for (mode, sweep) in [
        ("setsid-grandchild", Sweep::Tree),
        ("daemon", Sweep::Tree),
        ("clear-env", Sweep::Tree),
        ("setsid-grandchild", Sweep::WithoutGroup),
        ("daemon", Sweep::WithoutGroup),
        ("clear-env", Sweep::WithoutGroup),
    ] {
        let args: &[&str] = if mode == "daemon" { &[mode, "--stay"] } else { &[mode] };
        let mut agent = Agent::contained(args, StdinMode::Piped, root_only()).await;
        let left = agent.pid().await;
        agent.end().await;
        assert!(proc::alive(left), "{mode}: without the sweep the test would prove nothing");
        kill(left);

        let containment = Containment { sweep, ..Containment::default() };
        let mut agent = Agent::contained(args, StdinMode::Piped, containment).await;
        let child = agent.pid().await;
        let exit = agent.end().await;
        assert_eq!(exit.survivors, Vec::<i32>::new());
        assert!(!proc::alive(child), "{mode}: the child outlived its agent");
        assert_eq!(proc::marked(&agent.mark), Vec::<i32>::new(), "{mode}");
    }
}

#[tokio::test]
async fn the_end_of_one_tree_leaves_another_alone_which_is_then_ended_as_well() {
    // The second one carries the mark of another run when the first is swept, and is no descendant of it.
    let mut first = Agent::start(&["daemon", "--stay"], StdinMode::Piped).await;
    let mut second = Agent::start(&["daemon", "--stay"], StdinMode::Piped).await;
    let (one, two) = (first.pid().await, second.pid().await);
    assert_eq!(first.end().await.survivors, Vec::<i32>::new());
    assert!(!proc::alive(one) && proc::alive(two));
    assert_eq!(second.end().await.survivors, Vec::<i32>::new());
    assert!(!proc::alive(two));
    assert_eq!(proc::marked(&second.mark), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_an_orphan_without_a_mark_or_a_group_comes_to_a_dedicated_host() {
    let without_group = |host| Containment { host, sweep: Sweep::WithoutGroup };
    let mode = ["clear-env-daemon"];
    let mut agent = Agent::contained(&mode, StdinMode::Piped, without_group(Host::Shared)).await;
    let orphan = agent.pid().await;
    agent.end().await;
    assert!(proc::alive(orphan), "in a shared host without a group nobody can find it");
    kill(orphan);

    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let mut agent = Agent::contained(&mode, StdinMode::Piped, without_group(Host::Dedicated)).await;
    let orphan = agent.pid().await;
    agent.end().await;
    rustix::process::set_child_subreaper(None).unwrap();
    assert!(!proc::alive(orphan));
}

#[tokio::test]
async fn promise_3_what_another_process_has_started_with_the_mark_is_ended_too() {
    for host in [Host::Shared, Host::Dedicated] {
        let containment = Containment { host, sweep: Sweep::Tree };
        let mut agent = Agent::contained(&["echo"], StdinMode::Piped, containment).await;
        // Whoever starts it is gone at once, so that it is below nobody here.
        let started = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 300 >/dev/null 2>&1 & echo $!"])
            .env(MARK, agent.mark.split_once('=').unwrap().1)
            .output()
            .unwrap();
        let stranger = String::from_utf8(started.stdout).unwrap().trim().parse().unwrap();
        assert!(proc::alive(stranger));
        let exit = agent.end().await;
        assert_eq!(exit.survivors, Vec::<i32>::new());
        assert!(!proc::alive(stranger), "{host:?}");
    }
}

#[tokio::test]
async fn promise_3_an_orphan_without_a_mark_is_held_by_its_control_group() {
    let mut agent = Agent::start(&["clear-env-daemon"], StdinMode::Piped).await;
    let orphan = agent.pid().await;
    agent.end().await;
    // Where no group can be made, only a dedicated host finds such a process; `musher` itself is one.
    let held = Cgroup::make(&RunMark::new(None)).is_some();
    assert_eq!(proc::alive(orphan), !held);
    if !held {
        kill(orphan);
    }
}

#[tokio::test]
async fn a_control_group_is_gone_with_its_tree() {
    let mut agent = Agent::start(&["echo"], StdinMode::Piped).await;
    let own = agent.mark.split_once('=').unwrap().1;
    let folder = cgroup::own_folder().unwrap_or_default().join(format!("musher-{own}"));
    assert_eq!(folder.exists(), Cgroup::make(&RunMark::new(None)).is_some());
    agent.end().await;
    assert!(!folder.exists());
}

#[test]
fn the_group_of_a_part_is_inside_the_group_of_its_whole_and_gone_with_the_last_part() {
    let whole = RunMark::new(None);
    let Some(one) = Cgroup::make(&whole.part()) else {
        assert!(Cgroup::make(&whole).is_none(), "if a group can be made, so can one inside it");
        return;
    };
    let folder = cgroup::folder_of(&whole).unwrap();
    let other = Cgroup::make(&whole.part().part()).unwrap();
    assert!(folder.exists());
    drop(one);
    assert!(folder.exists(), "another part is still there");
    drop(other);
    assert!(!folder.exists());
}

#[tokio::test]
async fn promise_3_a_tree_of_sessions_is_gone_after_an_end() {
    let mode = ["fork-bomb", "--depth", "3", "--width", "3"];
    let mut agent = Agent::contained(&mode, StdinMode::Piped, root_only()).await;
    assert_eq!(agent.line().await, "ready");
    agent.end().await;
    let left = proc::marked(&agent.mark);
    assert!(left.len() > 10, "without the sweep the test would prove nothing: {left:?}");
    left.into_iter().for_each(kill);

    let mut agent = Agent::start(&mode, StdinMode::Piped).await;
    assert_eq!(agent.line().await, "ready");
    assert!(proc::marked(&agent.mark).len() > 10);
    agent.end().await;
    assert_eq!(proc::marked(&agent.mark), Vec::<i32>::new());
}

#[tokio::test]
async fn promise_3_a_process_that_ignores_sigterm_or_stopped_itself_is_ended() {
    for mode in ["ignore-term", "stop-self"] {
        let mut agent = Agent::start(&[mode], StdinMode::Piped).await;
        assert_eq!(agent.line().await, "ready");
        let exit = agent.end().await;
        assert!(exit.signal.is_some(), "{mode}: {exit:?}");
        assert_eq!(proc::marked(&agent.mark), Vec::<i32>::new(), "{mode}");
    }
}

#[tokio::test]
async fn a_polite_process_gets_time_to_finish_after_its_input_ends() {
    let mut agent = Agent::start(&["after-eof", "--ms", "300"], StdinMode::Piped).await;
    let graces = Graces { close: SOON, term: SOON };
    agent.process.control().end(graces).await;
    let (lines, exit) = agent.rest().await;
    assert_eq!(exit.code, Some(0));
    assert!(!lines.is_empty());
}

#[tokio::test]
async fn what_is_written_arrives_whole_and_in_order() {
    let mut agent = Agent::start(&["echo"], StdinMode::Piped).await;
    let control = agent.process.control();
    let long = "x".repeat(1_000_000);
    for n in 0..20 {
        control.write(Bytes::from(format!("{n} {long}\n"))).await;
    }
    control.close_input().await;
    for n in 0..20 {
        assert_eq!(agent.line().await, format!("{n} {long}"));
    }
    assert_eq!(agent.line().await, "eof");
    assert_eq!(agent.rest().await.1.code, Some(0));
}

#[tokio::test]
async fn dropping_the_process_kills_its_tree() {
    let mut agent = Agent::contained(&["clear-env"], StdinMode::Piped, root_only()).await;
    let child = agent.pid().await;
    let Agent { process, mark } = agent;
    drop(process);
    let root_gone = async {
        while !proc::marked(&mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, root_gone).await.expect("the agent itself outlived its handle");
    assert!(proc::alive(child), "without the sweep the test would prove nothing");
    kill(child);

    let mut agent = Agent::start(&["clear-env"], StdinMode::Piped).await;
    let child = agent.pid().await;
    let Agent { process, mark } = agent;
    drop(process);
    let gone = async {
        while proc::alive(child) || !proc::marked(&mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, gone).await.expect("the tree outlived its handle");
}

#[test]
fn a_runtime_that_shuts_down_leaves_nothing_behind() {
    let left = |containment| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (child, agent) = runtime.block_on(async {
            let mut agent = Agent::contained(&["clear-env"], StdinMode::Piped, containment).await;
            (agent.pid().await, agent)
        });
        drop(runtime);
        assert_eq!(proc::marked(&agent.mark), Vec::<i32>::new());
        (child, proc::alive(child))
    };
    let (child, lives) = left(root_only());
    assert!(lives, "without the sweep the test would prove nothing");
    kill(child);
    assert!(!left(Containment::default()).1);
}

#[tokio::test]
async fn promise_10_a_64_mib_line_a_missing_newline_and_garbage_are_survived() {
    let mut agent = Agent::start(&["long-line", "--mb", "64"], StdinMode::Null).await;
    let (lines, _) = agent.rest().await;
    let last = lines.last().unwrap();
    assert_eq!(last.body, LineBody::Whole(Bytes::from_static(b"after")));
    let long: u64 = lines[..lines.len() - 1].iter().map(|line| line.len).sum();
    assert_eq!(long, 64 * 1024 * 1024);

    let mut agent = Agent::start(&["no-newline", "--mb", "3"], StdinMode::Null).await;
    let (lines, exit) = agent.rest().await;
    assert_eq!((lines.len(), lines[0].len, exit.code), (1, 3 * 1024 * 1024, Some(0)));

    let mut agent =
        Agent::start(&["garbage", "--seed", "7", "--bytes", "2000000"], StdinMode::Null).await;
    let (lines, exit) = agent.rest().await;
    assert!(lines.len() > 1000 && exit.code == Some(0));

    let mut agent = Agent::start(&["no-newline-forever"], StdinMode::Null).await;
    agent.process.next().await.expect("even endless output without a newline is heard of");
    agent.process.control().kill().await;
    agent.rest().await;
}

#[tokio::test]
async fn promise_10_a_reader_that_does_not_read_makes_the_agent_wait() {
    let mut agent = Agent::start(&["flood", "--mb", "200"], StdinMode::Null).await;
    agent.line().await;
    // All that can be in flight: the channel, one read, and the pipe.
    let before = agent.process.output.len();
    assert!(before <= READS);
    agent.process.control().kill().await;
    let (lines, exit) = agent.rest().await;
    assert!(lines.len() < 5_000, "{} lines were read ahead", lines.len());
    assert_eq!(exit.signal, Some(9));
}

#[tokio::test]
async fn promise_10_long_lines_that_nobody_reads_do_not_pile_up() {
    let mode = ["lines", "--count", "50", "--size", "2000000"];
    let mut agent = Agent::start(&mode, StdinMode::Null).await;
    let first = timeout(SOON, agent.process.next()).await.unwrap();
    assert!(matches!(first, Some(Said::Line(..))));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(agent.process.output.len() <= 2, "{} lines are waiting", agent.process.output.len());
    drop(first);
    assert_eq!(agent.rest().await.0.len(), 49);
}

#[tokio::test]
async fn the_last_words_on_stderr_are_kept() {
    let mut agent =
        Agent::start(&["exit", "--code", "3", "--stderr-kb", "300"], StdinMode::Null).await;
    let (_, exit) = agent.rest().await;
    assert_eq!(exit.code, Some(3));
    assert!(exit.stderr_tail.len() <= 64 * 1024 && exit.stderr_tail.len() > 60 * 1024);
}

#[tokio::test]
async fn a_death_by_signal_is_told() {
    let mut agent = Agent::start(&["die", "--signal", "11"], StdinMode::Null).await;
    let (_, exit) = agent.rest().await;
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
}

#[tokio::test]
async fn only_listed_variables_reach_the_process() {
    let mut agent = Agent::start(&["env"], StdinMode::Null).await;
    let (lines, _) = agent.rest().await;
    let names: Vec<String> = lines
        .iter()
        .filter_map(|line| match &line.body {
            LineBody::Whole(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            LineBody::Shortened(_) | LineBody::Cut { .. } => None,
        })
        .collect();
    assert!(names.iter().any(|line| line.starts_with("PATH=")));
    assert!(names.iter().any(|line| line == &agent.mark));
    assert!(!names.iter().any(|line| line.starts_with("CARGO_MANIFEST_DIR=")));
}

#[tokio::test]
async fn the_library_changes_no_process_wide_state_of_its_host() {
    let state = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let caught = status.lines().find(|line| line.starts_with("SigCgt")).unwrap().to_owned();
        let folder = std::env::current_dir().unwrap();
        (caught, folder, std::env::vars_os().collect::<Vec<_>>())
    };
    let before = state();
    let mut agent = Agent::start(&["daemon", "--stay"], StdinMode::Piped).await;
    let orphan = agent.pid().await;
    let parent = table::entry(orphan).unwrap().parent;
    assert_ne!(parent, std::process::id().cast_signed(), "the host was made a subreaper");
    agent.end().await;
    assert_eq!(state(), before);
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
