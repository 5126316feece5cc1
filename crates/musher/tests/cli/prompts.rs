//! Prompts from everywhere, and what pipes see.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::musher::Place;

const ECHO: &str = "[[step]]\nsay = 'You said: ${prompt}'";

#[test]
fn a_prompt_comes_from_the_argument_a_file_or_standard_input() {
    let place = Place::new();
    let script = place.script(ECHO);
    let file = place.home.path().join("prompt.txt");
    std::fs::write(&file, "from the file").unwrap();
    let base = ["run", "--runtime", "script", "--program", &script];
    fn joined<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
        [base, more].concat()
    }
    let ran = place.run(&joined(&base, &["from the argument"]));
    assert!(ran.out.contains("You said: from the argument"), "{ran:?}");
    let path = file.display().to_string();
    let ran = place.run(&joined(&base, &["--file", &path]));
    assert!(ran.out.contains("You said: from the file"), "{ran:?}");
    for dash in [&["-"][..], &[]] {
        let ran = place.run_with_input(&joined(&base, dash), b"from the pipe");
        assert!(ran.out.contains("You said: from the pipe"), "{ran:?}");
    }
    let ran = place.run(&joined(&base, &["--", "--starts-with-a-dash"]));
    assert!(ran.out.contains("You said: --starts-with-a-dash"), "{ran:?}");
}

#[test]
fn with_variables_the_prompt_is_a_template_and_without_them_it_is_said_as_it_is() {
    let place = Place::new();
    let script = place.script(ECHO);
    let base = ["run", "--runtime", "script", "--program", &script];
    let run = |more: &[&str]| place.run(&[&base[..], more].concat());
    let ran = run(&["--set", "ticket=T-42", "Fix {{ set.ticket }}."]);
    assert!(ran.out.contains("You said: Fix T-42."), "{ran:?}");
    let ran = run(&["Write {{ set.ticket }}."]);
    assert!(ran.out.contains("You said: Write {{ set.ticket }}."), "{ran:?}");
    for (prompt, part) in [
        ("{{ set.tikcet }}", "did you mean `set.ticket`?"),
        ("{{ story.title }}", "there is no variable `story.title`"),
        ("{{ set.ticket", "cannot be filled in"),
    ] {
        let ran = run(&["--set", "ticket=1", prompt]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(part), "{prompt}: {}", ran.err);
    }
    let ran = run(&["--effort", "high", "Go."]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`script` takes no --effort"), "{}", ran.err);
}

#[test]
fn instructions_of_a_run_reach_the_agents_program() {
    let place = Place::new();
    let program = place.program("head -n 1 > \"$HOME/first\"; exit 1");
    let words = place.home.path().join("words.md");
    std::fs::write(&words, "From a file.").unwrap();
    let file = format!("@{}", words.display());
    for (given, said) in [("Be brief.", "Be brief."), (file.as_str(), "From a file.")] {
        place.run(&["run", "--program", &program, "--system-prompt", given, "Go."]);
        let first = std::fs::read_to_string(place.home.path().join("first")).unwrap();
        assert!(first.contains(said), "{first}");
    }
}

#[test]
fn a_prompt_of_a_megabyte_is_taken_and_one_with_a_nul_is_refused() {
    let place = Place::new();
    let script = place.script(ECHO);
    let args = ["run", "--runtime", "script", "--program", &script, "-"];
    let ran = place.run_with_input(&args, "x".repeat(1_000_000).as_bytes());
    assert_eq!(ran.code, Some(0));
    let ran = place.run_with_input(&args, b"a\0b");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("NUL byte at position 1"), "{}", ran.err);
    let ran = place.run_with_input(&args, b"\xff\xfe");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("not UTF-8"), "{}", ran.err);
}

#[test]
fn a_pipe_sees_no_escape_sequences_not_even_an_agents() {
    let place = Place::new();
    let script = place.script("[[step]]\nsay = \"\\u001b[31mred\\u001b[0m \\u202eodd\"\n[[step]]\nrun = 'printf \"\\033[2J\"; false'");
    let ran = place.run(&["run", "--runtime", "script", "--program", &script, "go"]);
    assert_eq!(ran.code, Some(0));
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'), "{:?}", ran.out);
    assert!(ran.out.contains("red odd"), "{:?}", ran.out);
}

#[test]
fn the_agent_gets_listed_variables_and_those_that_are_given() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'echo [$GIVEN] [$PASSED] [$KEPT_BACK] > seen'");
    let mut command = place.musher(&[
        "run",
        "--runtime",
        "script",
        "--program",
        &script,
        "--env",
        "GIVEN=one",
        "--env",
        "PASSED",
        "go",
    ]);
    command.env("PASSED", "two").env("KEPT_BACK", "three");
    assert!(command.output().unwrap().status.success());
    let seen = std::fs::read_to_string(place.work.path().join("seen")).unwrap();
    assert_eq!(seen, "[one] [two] []\n");
}

#[test]
fn the_demo_does_real_work_and_leaves_nothing_behind() {
    let place = Place::new();
    let mut command = place.musher(&["demo"]);
    command.env("TMPDIR", place.work.path());
    let began = std::time::Instant::now();
    let ran = crate::musher::Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(ran.out.matches("● completed").count(), 3, "{}", ran.out);
    assert_eq!(ran.out.matches("answered by the demonstration").count(), 2, "{}", ran.out);
    for told in ["? What should count.sh count?", "● words", "○ lines", "› words (answered"] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    for made in ["+echo \"Hello, ${1:-world}!\"", "+# Counts the words of a file.", "+# Manual"] {
        assert!(ran.out.contains(made), "{}", ran.out);
    }
    assert!(ran.out.contains("The bill: $0.0349"), "{}", ran.out);
    let left = std::fs::read_dir(place.work.path()).unwrap().count();
    assert_eq!(left, 0, "the demo's repository was left behind");
}

#[test]
fn the_demo_stays_open_when_told_to_and_ends_with_everything_when_told_to_end() {
    let place = Place::new();
    let mut command = place.musher(&["demo", "--yes", "--stay"]);
    command.env("TMPDIR", place.work.path()).stdout(Stdio::piped());
    let mut demo = command.spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let link = lines.find(|line| line.starts_with("Watch it in a browser: ")).unwrap();
    let page = link.trim_start_matches("Watch it in a browser: http://");
    let mut door = TcpStream::connect(page.split_once('/').unwrap().0).unwrap();
    lines.find(|line| line == "Ctrl-C ends everything.").unwrap();
    door.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    door.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.0 ") || reply.starts_with("HTTP/1.1 "), "{reply}");
    let pid = Pid::from_child(&demo);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(4));
    assert_eq!(std::fs::read_dir(place.work.path()).unwrap().count(), 0);
}
