//! The misbehaving agent misbehaves as it says.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where its set-up fails, and clippy exempts test functions only"
)]
#![expect(clippy::disallowed_methods, reason = "these tests start the fake programs directly")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use musher_testkit::proc::{alive, marked};
use rustix::process::{Pid, Signal, kill_process};

fn agent(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-agent"));
    command.args(args.split_whitespace()).stdin(Stdio::null());
    command
}

fn output(args: &str) -> Output {
    agent(args).output().unwrap()
}

/// Starts a mode that stays, with a mark in its environment, and reads its first lines.
fn start(args: &str, mark: &str, lines: usize) -> (Child, Vec<String>) {
    let (key, value) = mark.split_once('=').unwrap();
    let mut command = agent(args);
    let mut child = command.env(key, value).stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out.lines().take(lines).map(Result::unwrap).collect())
}

fn pid(line: &str) -> i32 {
    line.strip_prefix("pid ").unwrap().parse().unwrap()
}

fn kill(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    let start = Instant::now();
    while alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(5), "{pid} does not die");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn plain_output() {
    assert_eq!(output("lines --count 2").stdout, b"line 1\nline 2\n");
    assert_eq!(output("lines --count 1 --size 20").stdout.len(), 20);
    assert_eq!(output("flood --mb 1").stdout.split(|b| *b == b'\n').next().unwrap().len(), 199);
    assert_eq!(output("partial").stdout, b"line 1\nhalf a li");
    assert!(output("crlf").stdout.starts_with(b"line 1\r\nline 2\r\n"));
    let long = output("long-line --mb 2").stdout;
    assert_eq!(long.len(), 2 * 1024 * 1024 + 7);
    assert!(long.ends_with(b"x\nafter\n"));
    assert_eq!(output("no-newline --mb 1").stdout.len(), 1024 * 1024);
}

#[test]
fn garbage_is_the_same_for_the_same_seed() {
    let first = output("garbage --seed 7 --bytes 1000").stdout;
    assert_eq!(first.len(), 1000);
    assert!(std::str::from_utf8(&first).is_err() && first.contains(&0));
    assert_eq!(first, output("garbage --seed 7 --bytes 1000").stdout);
    assert_ne!(first, output("garbage --seed 8 --bytes 1000").stdout);
}

#[test]
fn ends() {
    let output = output("exit --code 3 --stderr-kb 4");
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr.len() >= 4096 && output.stderr.starts_with(b"stderr 1 "));
    assert_eq!(agent("die --signal 11").status().unwrap().signal(), Some(11));
    let mut forever = agent("forever").stdout(Stdio::piped()).spawn().unwrap();
    drop(forever.stdout.take());
    assert!(!forever.wait().unwrap().success());
}

#[test]
fn echo_and_after_eof_answer_the_end_of_stdin() {
    let mut echo = agent("echo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut echo.stdin.take().unwrap(), b"a\nb\n").unwrap();
    assert_eq!(echo.wait_with_output().unwrap().stdout, b"a\nb\neof\n");
    assert!(output("after-eof --ms 50").stdout.starts_with(b"after 1\n"));
}

#[test]
fn a_grandchild_holds_stdout_after_its_parent_left() {
    let mark = format!("TESTKIT_MARK=grandchild-{}", std::process::id());
    let (key, value) = mark.split_once('=').unwrap();
    let mut command = agent("setsid-grandchild --seconds 60");
    let mut child = command.env(key, value).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let pid = pid(first.trim());
    assert!(child.wait().unwrap().success());
    assert_eq!(marked(&mark), [pid]);
    kill(pid);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "parent done\n");
}

#[test]
fn daemons_lose_their_parent_and_keep_or_lose_the_mark() {
    let mark = format!("TESTKIT_MARK=daemon-{}", std::process::id());
    let (mut kept, lines) = start("daemon", &mark, 1);
    assert!(kept.wait().unwrap().success());
    // Between fork and exec a process shows no environment.
    let began = Instant::now();
    while marked(&mark) != [pid(&lines[0])] {
        assert!(began.elapsed().as_secs() < 10, "{:?}", marked(&mark));
        std::thread::yield_now();
    }
    kill(pid(&lines[0]));

    for mode in ["clear-env", "clear-env-daemon"] {
        let (mut agent, lines) = start(mode, &mark, 1);
        let own = i32::try_from(agent.id()).unwrap();
        assert!(alive(pid(&lines[0])), "{mode}");
        assert_eq!(marked(&mark), [own], "{mode}");
        kill(pid(&lines[0]));
        agent.kill().unwrap();
        agent.wait().unwrap();
    }
    assert!(marked(&mark).is_empty());
}

#[test]
fn a_tree_of_sessions() {
    let mark = format!("TESTKIT_MARK=tree-{}", std::process::id());
    let (mut root, lines) = start("fork-bomb --depth 2 --width 2", &mark, 1);
    assert_eq!(lines, ["ready"]);
    let all = marked(&mark);
    assert_eq!(all.len(), 7);
    for pid in all {
        kill(pid);
    }
    root.wait().unwrap();
}

#[test]
fn signals_are_ignored_or_stop() {
    let mark = format!("TESTKIT_MARK=signals-{}", std::process::id());
    let (mut deaf, lines) = start("ignore-term", &mark, 1);
    assert_eq!(lines, ["ready"]);
    let pid = Pid::from_child(&deaf);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(deaf.try_wait().unwrap().is_none());
    deaf.kill().unwrap();
    deaf.wait().unwrap();

    let (mut stopped, _) = start("stop-self", &mark, 1);
    let stat = format!("/proc/{}/stat", stopped.id());
    let begun = Instant::now();
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(begun.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
    stopped.kill().unwrap();
    stopped.wait().unwrap();
}

#[test]
fn stdout_closes_while_the_agent_runs() {
    let mut agent = agent("closed-stdout").stdout(Stdio::piped()).spawn().unwrap();
    let mut all = Vec::new();
    agent.stdout.take().unwrap().read_to_end(&mut all).unwrap();
    assert!(all.is_empty() && agent.try_wait().unwrap().is_none());
    agent.kill().unwrap();
    agent.wait().unwrap();
}
