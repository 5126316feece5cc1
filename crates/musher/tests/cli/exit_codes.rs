//! Each exit code has a cause of its own, and each error names the thing and the fix.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::musher::{Place, exists};

fn refused(args: &[&str], code: i32, says: &[&str]) {
    let place = Place::new();
    let mut all = vec!["run"];
    all.extend(args);
    let ran = place.run(&all);
    assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
    for words in says {
        assert!(ran.err.contains(words), "{args:?} should say `{words}`: {}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    let left: Vec<_> = std::fs::read_dir(place.work.path()).unwrap().collect();
    assert!(left.is_empty(), "{args:?} left something behind");
}

#[test]
fn two_is_for_what_a_person_must_correct() {
    refused(&["--runtime", "weird", "go"], 2, &["no runtime `weird`", "claude-code, ", " codex, "]);
    refused(&["--runtime", "terminal", "go"], 2, &["`terminal` is planned"]);
    refused(&["--runtime", "acp", "go"], 2, &["needs the program", "--program"]);
    refused(&["--runtime", "script", ""], 2, &["prompt is empty"]);
    refused(&["--runtime", "script", "-C", "/no/such", "go"], 2, &["/no/such"]);
    refused(&["--runtime", "script", "--program", "/no/such.toml", "go"], 2, &["/no/such.toml"]);
    refused(&["--program", "/etc/passwd", "go"], 2, &["/etc/passwd", "chmod +x"]);
    refused(&["--allow", "execute(", "go"], 2, &["closing parenthesis"]);
    refused(&["--budget", "none", "go"], 2, &["dollars such as 2.50"]);
    refused(&["--timeout", "soon", "go"], 2, &["90s, 10m or 1h30m"]);
    refused(&["--max-turns", "0", "--runtime", "script", "go"], 2, &["0 turns"]);
    refused(&["--env", "NOT_SET_HERE", "go"], 2, &["NOT_SET_HERE is not set here"]);
    refused(&["--file", "/no/such/prompt", "--runtime", "script"], 2, &["/no/such/prompt"]);
    refused(&["--resume", "-x", "--runtime", "script", "go"], 2, &["-x"]);
    for runtime in ["script", "claude-code"] {
        let args = ["--resume", "x", "--turn", "1", "--runtime", runtime, "go"];
        refused(&args, 2, &["from an earlier turn", "leave the turn out"]);
    }
    refused(&["-z"], 2, &["-z"]);
}

#[test]
fn two_names_the_step_of_a_bad_script() {
    let place = Place::new();
    let script = place.script("[[step]]\nsay = 'a'\n\n[[step]]\nwrite = 'x'\n");
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "go"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("step 2 (line 4): `write` needs `content`"), "{}", ran.err);
}

#[test]
fn two_is_for_a_folder_that_cannot_be_written() {
    // Root may write everywhere except where the kernel itself says no.
    refused(&["--runtime", "script", "-C", "/proc/self", "go"], 2, &["/proc/self"]);
}

#[test]
fn three_is_for_a_run_that_failed() {
    let place = Place::new();
    let script = place.script("[[step]]\nfail = 'the model said no'\nclass = 'overloaded'");
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "go"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("the model said no"), "{}", ran.err);
    assert!(ran.out.contains("failed"), "{}", ran.out);
}

#[test]
fn five_is_for_a_limit() {
    let place = Place::new();
    let script = place.script("[[step]]\nhang = true");
    let args = ["run", "--runtime", "script", "--program", &script, "--timeout", "200ms", "go"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("timed out"), "{}", ran.out);
    let script = place.script(
        "[[step]]\nusage = { output = 1, cost_usd = 0.6 }\n[[step]]\nrun = 'true'\n[[step]]\nhang = true",
    );
    let args = ["run", "--runtime", "script", "--program", &script, "--budget", "0.5", "go"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("out of budget"), "{}", ran.out);
    let many = "[[step]]\nrun = 'true'\n".repeat(5);
    let script = place.script(&many);
    let args = ["run", "--runtime", "script", "--program", &script, "--max-turns", "3", "go"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("out of turns"), "{}", ran.out);
}

#[test]
fn a_limit_says_which_flag_raises_it_and_programs_get_a_code() {
    let place = Place::new();
    let hang = place.script("[[step]]\nhang = true");
    let run = ["run", "--runtime", "script", "--program", &hang, "--timeout", "200ms"];
    let ran = place.run(&[&run[..], &["go"]].concat());
    assert!(ran.err.contains("raise the limit (--timeout)"), "{ran:?}");
    let ran = place.run(&[&run[..], &["--json", "go"]].concat());
    let end: serde_json::Value =
        serde_json::from_str(ran.out.lines().last().unwrap_or_default()).unwrap();
    assert_eq!(end["error"]["hint_code"], "raise_timeout", "{}", ran.out);
    let ran = place.run(&["run", "--env", "PATH=/empty", "--json", "go"]);
    assert!(ran.out.contains("npm install -g") && ran.out.contains(", or name it with --program"));
}

#[test]
fn six_is_for_a_program_that_is_missing() {
    refused(&["--program", "/no/such/program", "go"], 6, &["/no/such/program", "does not exist"]);
    let place = Place::new();
    let ran = Place::run(&place, &["run", "--env", "PATH=/empty", "go"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(
        ran.err.contains("`claude` was not found on PATH") && ran.err.contains("fix:"),
        "{ran:?}"
    );
}

/// Starts a run that hangs, sends it signals, and gives its exit code and output.
fn signalled(signals: &[Signal]) -> (Option<i32>, String) {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'touch started; sleep 300'");
    let child = place
        .musher(&["run", "--runtime", "script", "--program", &script, "go"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    while !exists(&place.work.path().join("started")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    for signal in signals {
        kill_process(pid, *signal).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn four_is_for_a_run_that_was_interrupted_or_stopped() {
    let (code, out) = signalled(&[Signal::INT]);
    assert_eq!(code, Some(4));
    assert!(out.contains("interrupted"), "{out}");
    for signal in [Signal::TERM, Signal::HUP] {
        let (code, out) = signalled(&[signal]);
        assert_eq!(code, Some(4));
        assert!(out.contains("stopped"), "{out}");
    }
}
