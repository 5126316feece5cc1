//! The agent by itself: what it writes down, and how it takes signals and the end of its input.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use musher_testkit::proc::{alive, marked};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{AGENT, lines, soon};

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn start(home: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(AGENT);
        command.args(args).env("WORKER_HOME", home).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output }
    }

    fn send(&mut self, frame: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{frame}").unwrap();
    }

    fn prompt(&mut self, text: &str) {
        self.send(&json!({ "type": "user", "message": { "role": "user", "content": text } }));
    }

    /// Reads until a frame of this kind.
    fn until(&mut self, kind: &str) -> Value {
        self.output
            .by_ref()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
            .find(|frame| frame["type"] == kind)
            .unwrap_or_else(|| panic!("it ended without `{kind}`"))
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Closes stdin and gives the exit.
    fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.output.by_ref().for_each(drop);
        self.child.wait().unwrap()
    }
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn a_start_is_written_down_with_process_time_and_session() {
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(home.path(), &["-p", "--session-id=abc", "--no-such-option"]);
    agent.prompt("hello");
    assert_eq!(agent.until("result")["session_id"], "abc");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.pid())).unwrap();
    let time = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
    assert_eq!(lines(home.path(), "starts"), [format!("{} {time} abc", agent.pid())]);
    assert!(agent.end().success());
    let taken = Agent::start(home.path(), &["--session-id", "abc"]);
    assert_eq!(taken.end().code(), Some(1), "an id is used once");
}

#[test]
fn an_answer_that_nobody_waits_for_is_written_down_as_such() {
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(home.path(), &[]);
    agent.prompt("[[work ask=x]]");
    let id = agent.until("control_request")["request_id"].clone();
    let response =
        json!({ "subtype": "success", "request_id": id, "response": { "behavior": "allow" } });
    for _ in 0..2 {
        agent.send(&json!({ "type": "control_response", "response": response }));
    }
    agent.until("result");
    agent.end();
    let id = id.as_str().unwrap();
    assert_eq!(
        lines(home.path(), "effects"),
        [format!("answer {id} allow"), format!("stray {id}")]
    );
}

#[test]
fn the_end_of_input_cuts_a_pause_and_denies_an_ask() {
    let home = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut paused = Agent::start(home.path(), &[]);
    paused.prompt("[[work lines=2 every_ms=600000]]");
    paused.until("assistant");
    assert_eq!(paused.end().code(), Some(1));
    let mut asking = Agent::start(home.path(), &[]);
    asking.prompt("[[work ask=x]]");
    asking.until("control_request");
    drop(asking.input.take());
    let told = asking.until("user")["message"]["content"][0]["content"].clone();
    assert!(told.as_str().unwrap().contains("stream closed"), "{told}");
    assert_eq!(asking.until("result")["is_error"], false);
    assert!(asking.end().success());
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_hanging_agent_outlives_its_input_until_it_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(home.path(), &[]);
    agent.prompt("[[work ignore_term=1 lines=1 hang=1]]");
    agent.until("assistant");
    drop(agent.input.take());
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill(agent.pid(), signal);
    }
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", agent.pid())).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:\t")).unwrap();
        pending.chars().all(|digit| digit == '0')
    };
    soon("the signals are not delivered", caught);
    assert!(alive(agent.pid()));
    kill(agent.pid(), Signal::KILL);
    assert_eq!(agent.end().signal(), Some(9));
}

#[test]
fn signals_end_it_as_long_as_it_is_not_told_to_ignore_them() {
    let home = tempfile::tempdir().unwrap();
    let agent = Agent::start(home.path(), &[]);
    soon("it does not start", || lines(home.path(), "starts").len() == 1);
    kill(agent.pid(), Signal::TERM);
    assert_eq!(agent.end().signal(), Some(15));
}

#[test]
fn what_it_spawns_has_a_session_of_its_own_and_keeps_or_loses_its_environment() {
    let home = tempfile::tempdir().unwrap();
    let mark = format!("WORKER_HOME={}", home.path().display());
    let mut agent = Agent::start(home.path(), &[]);
    agent.prompt("[[work spawn=setsid spawn=daemon spawn=clear_env]]");
    agent.until("result");
    let effects = lines(home.path(), "effects");
    let spawned = |how: &str| {
        let line = effects.iter().find_map(|line| line.strip_prefix(&format!("spawned {how} ")));
        line.unwrap().parse::<i32>().unwrap()
    };
    let [child, daemon, bare] = ["setsid", "daemon", "clear_env"].map(spawned);
    for pid in [child, daemon, bare] {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
        assert_eq!(session, pid.to_string());
    }
    let mut expected = [agent.pid(), child, daemon];
    expected.sort_unstable();
    assert_eq!(marked(&mark), expected);
    for pid in [child, daemon, bare] {
        kill(pid, Signal::KILL);
    }
    assert!(agent.end().success());
}

#[test]
fn a_line_that_is_no_json_ends_it() {
    let home = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(home.path(), &[]);
    writeln!(agent.input.as_mut().unwrap(), "this is not json").unwrap();
    assert_eq!(agent.end().code(), Some(1));
}
