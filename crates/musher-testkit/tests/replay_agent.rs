//! The player of recordings waits and answers where the recorded agent did.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where its set-up fails, and clippy exempts test functions only"
)]
#![expect(clippy::disallowed_methods, reason = "these tests start the fake programs directly")]

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

struct Play {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    _folder: tempfile::TempDir,
}

impl Play {
    /// Plays a recording given by its frames and by what had been sent to the recorded agent.
    fn of(frames: &[Value], sent: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[Value]| {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("run.jsonl", frames);
        write("run.stdin.jsonl", sent);
        let mut child = Command::new(env!("CARGO_BIN_EXE_replay-agent"))
            .args(["-p", "--session-id=abc", "--verbose"])
            .env("REPLAY_RECORDING", folder.path().join("run.jsonl"))
            .env("REPLAY_EXIT", "7")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            _folder: folder,
        }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads so many frames and gives their marks.
    fn read(&mut self, count: usize) -> Vec<String> {
        self.output.by_ref().take(count).map(|line| mark(&line.unwrap())).collect()
    }

    /// Closes stdin; gives what was still printed, and the exit.
    fn end(mut self) -> (Vec<String>, ExitStatus) {
        drop(self.input.take());
        let rest = self.output.by_ref().map(|line| mark(&line.unwrap())).collect();
        (rest, self.child.wait().unwrap())
    }
}

fn mark(line: &str) -> String {
    let frame: Value = serde_json::from_str(line).unwrap();
    let id = frame["response"]["request_id"].as_str().or(frame["mark"].as_str());
    format!("{} {}", frame["type"].as_str().unwrap(), id.unwrap_or("-"))
}

fn ask(id: &str, subtype: &str) -> Value {
    json!({"type": "control_request", "request_id": id, "request": {"subtype": subtype}})
}

fn answer(id: &str) -> Value {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": id}})
}

fn frame(kind: &str, mark: &str) -> Value {
    json!({"type": kind, "subtype": "init", "mark": mark})
}

fn user() -> Value {
    json!({"type": "user", "message": {"role": "user", "content": "hi"}})
}

#[test]
fn permissions_and_turns_wait() {
    let frames = [
        answer("r1"),
        frame("system", "a"),
        ask("p1", "can_use_tool"),
        frame("assistant", "b"),
        frame("result", "c"),
        answer("r2"),
        frame("system", "d"),
        frame("result", "e"),
    ];
    let sent = [ask("r1", "initialize"), user(), answer("p1"), ask("r2", "set_model"), user()];
    let mut play = Play::of(&frames, &sent);
    play.send(&ask("mine", "initialize"));
    assert_eq!(play.read(1), ["control_response mine"]);
    play.send(&user());
    assert_eq!(play.read(2), ["system a", "control_request -"]);
    play.send(&ask("other", "no_such_thing"));
    assert_eq!(play.read(1), ["control_response other"]);
    play.send(&answer("p1"));
    assert_eq!(play.read(2), ["assistant b", "result c"]);
    play.send(&ask("model", "set_model"));
    assert_eq!(play.read(1), ["control_response model"]);
    play.send(&user());
    assert_eq!(play.read(2), ["system d", "result e"]);
    let (rest, status) = play.end();
    assert!(rest.is_empty());
    assert_eq!(status.code(), Some(7));
}

#[test]
fn an_interrupt_withdraws_a_permission() {
    let frames = [
        answer("r1"),
        frame("system", "a"),
        ask("p1", "can_use_tool"),
        json!({"type": "control_cancel_request", "request_id": "p1"}),
        answer("r2"),
        frame("result", "b"),
    ];
    let sent = [ask("r1", "initialize"), user(), ask("r2", "interrupt")];
    let mut play = Play::of(&frames, &sent);
    play.send(&user());
    assert_eq!(play.read(2), ["system a", "control_request -"]);
    play.send(&ask("stop", "interrupt"));
    let expected = ["control_cancel_request -", "control_response stop", "result b"];
    assert_eq!(play.read(3), expected);
    assert!(play.end().0.is_empty());
}

#[test]
fn background_turns_come_by_themselves_and_an_early_end_denies() {
    let frames = [
        frame("system", "a"),
        frame("result", "b"),
        frame("system", "c"),
        ask("p1", "can_use_tool"),
        frame("result", "d"),
    ];
    let mut play = Play::of(&frames, &[user()]);
    play.send(&ask("mine", "initialize"));
    assert_eq!(play.read(1), ["control_response mine"]);
    play.send(&user());
    assert_eq!(play.read(4), ["system a", "result b", "system c", "control_request -"]);
    assert_eq!(play.end().0, ["result d"]);
}

#[test]
fn a_line_that_is_no_json_ends_it() {
    let mut play = Play::of(&[frame("system", "a")], &[user()]);
    writeln!(play.input.as_mut().unwrap(), "this is not json").unwrap();
    let (out, status) = play.end();
    assert!(out.is_empty());
    assert_eq!(status.code(), Some(1));
}
