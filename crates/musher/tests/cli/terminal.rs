//! At a real terminal: questions and approvals are answered at the prompt, and Ctrl-C does what it says.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::musher::{Place, exists};

/// A terminal with `musher` in it; `script` from util-linux makes it.
pub(crate) struct Terminal {
    child: Child,
    shown: Receiver<Vec<u8>>,
    screen: String,
}

impl Terminal {
    pub(crate) fn open(place: &Place, args: &[&str]) -> Self {
        let musher = place.musher(args);
        let quoted: Vec<String> = std::iter::once(musher.get_program())
            .chain(musher.get_args())
            .map(|arg| format!("'{}'", arg.to_str().unwrap().replace('\'', "'\\''")))
            .collect();
        let mut command = Command::new("script");
        let line = format!("exec {}", quoted.join(" "));
        command.args(["-qec", &line, "/dev/null"]).current_dir(place.work.path());
        command.env_clear();
        for (name, value) in musher.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let mut child = command
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, shown, screen: String::new() }
    }

    pub(crate) fn until(&mut self, words: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.screen.contains(words) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.screen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("`{words}` never appeared:\n{}", self.screen),
            }
        }
    }

    /// Waits until one of several words appears, and gives its place in the list.
    fn until_one(&mut self, words: &[&str]) -> usize {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(found) = words.iter().position(|words| self.screen.contains(words)) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.screen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("none of {words:?} appeared:\n{}", self.screen),
            }
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn close(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.shown.recv_timeout(Duration::from_secs(20)) {
            self.screen += &String::from_utf8_lossy(&bytes);
        }
        (self.child.wait().unwrap().code(), std::mem::take(&mut self.screen))
    }
}

impl Drop for Terminal {
    /// A test that failed leaves no program behind: without its terminal it ends.
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

#[test]
fn an_approval_is_answered_at_the_prompt() {
    let place = Place::new();
    let script =
        place.script("[[step]]\nrun = 'touch made.txt'\nask_first = true\n[[step]]\nsay = 'Done.'");
    let mut terminal =
        Terminal::open(&place, &["run", "--runtime", "script", "--program", &script, "go"]);
    terminal.until("[y] approve");
    terminal.type_in("what\n");
    terminal.until("one of the keys");
    terminal.type_in("y\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(place.work.path().join("made.txt").exists());
    assert!(screen.contains("completed"), "{screen}");
}

#[test]
fn a_command_can_be_edited_and_denied_with_a_reason() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'touch made.txt'\nask_first = true");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let mut terminal = Terminal::open(&place, &run);
    terminal.until("[e] edit the command");
    terminal.type_in("e\n");
    terminal.until("the command instead");
    terminal.type_in("touch other.txt\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0));
    assert!(screen.contains("run touch other.txt"), "what was done is shown: {screen}");
    assert!(exists(&place.work.path().join("other.txt")));
    assert!(!exists(&place.work.path().join("made.txt")));
    let mut terminal = Terminal::open(&place, &run);
    terminal.until("[y] approve");
    terminal.type_in("n not today\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0));
    assert!(screen.contains("not today"), "{screen}");
    assert!(!place.work.path().join("made.txt").exists());
}

#[test]
fn what_a_rule_settles_is_not_put_to_the_person() {
    let place = Place::new();
    let script =
        place.script("[[step]]\nrun = 'true'\nask_first = true\n[[step]]\napprove = 'launch'");
    let run = ["run", "--runtime", "script", "--program", &script, "--allow", "*", "go"];
    let (code, screen) = Terminal::open(&place, &run).close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("[y] approve"), "{screen}");
}

#[test]
fn a_question_is_answered_by_number_or_in_words() {
    for (typed, heard) in [("2\n", "You chose Blue."), ("teal\n", "You chose teal.")] {
        let place = Place::new();
        let script = place.script(
            "[[step]]\nask = 'Which colour?'\noptions = ['Red', 'Blue']\nsave = 'c'\n[[step]]\nsay = 'You chose ${c}.'",
        );
        let mut terminal =
            Terminal::open(&place, &["run", "--runtime", "script", "--program", &script, "go"]);
        terminal.until("[2] Blue");
        terminal.type_in(typed);
        terminal.until(heard);
        assert_eq!(terminal.close().0, Some(0));
    }
}

#[test]
fn ctrl_c_interrupts_the_turn_and_a_second_one_stops_the_run() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'touch started; sleep 300'");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let mut terminal = Terminal::open(&place, &run);
    while !exists(&place.work.path().join("started")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    terminal.type_in("\x03");
    terminal.until("Ctrl-C again stops the run");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("interrupted"), "{screen}");
}

#[test]
fn the_end_of_the_keyboard_is_a_no() {
    let place = Place::new();
    let script =
        place.script("[[step]]\nrun = 'touch made.txt'\nask_first = true\n[[step]]\nsay = 'Done.'");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let mut terminal = Terminal::open(&place, &run);
    terminal.until("[y] approve");
    terminal.type_in("\x04");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!exists(&place.work.path().join("made.txt")));
    assert!(!screen.contains("already closed"), "{screen}");
}

#[test]
fn ctrl_backslash_kills_everything() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'setsid sleep 300 & echo $! > pid; sleep 300'");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let mut terminal = Terminal::open(&place, &run);
    let pid = loop {
        let told = std::fs::read_to_string(place.work.path().join("pid")).unwrap_or_default();
        if let Ok(pid) = told.trim().parse::<i32>() {
            break pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    terminal.type_in("\x1c");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(4), "{screen}");
    assert!(!musher_testkit::proc::alive(pid), "{screen}");
}

#[test]
fn ctrl_c_at_an_ask_ends_the_turn() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'touch made.txt'\nask_first = true");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let mut terminal = Terminal::open(&place, &run);
    terminal.until("[y] approve");
    terminal.type_in("\x03");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(4), "{screen}");
    assert!(!place.work.path().join("made.txt").exists());
}

#[test]
fn the_demo_asks_at_a_terminal_and_not_with_yes() {
    let place = Place::new();
    let mut terminal = Terminal::open(&place, &["demo"]);
    // Either may come first.
    let mut asks = vec![("[2] lines", "2\n"), ("[y] approve", "y\n")];
    while !asks.is_empty() {
        let words: Vec<&str> = asks.iter().map(|(words, _)| *words).collect();
        let (_, keys) = asks.remove(terminal.until_one(&words));
        terminal.type_in(keys);
    }
    terminal.until("Enter ends everything");
    terminal.type_in("\n");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("It counts lines."), "{screen}");
    assert!(screen.contains("Watch it in a browser: http://127.0.0.1:"), "{screen}");
    let (code, screen) = Terminal::open(&place, &["demo", "--yes"]).close();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("[y] approve") && !screen.contains("stays open"), "{screen}");
}

#[test]
fn ctrl_c_ends_the_demo_and_every_agent_of_it() {
    let place = Place::new();
    let mut terminal = Terminal::open(&place, &["demo"]);
    terminal.until_one(&["[2] lines", "[y] approve"]);
    let runners = || {
        let list = Command::new("pgrep").args(["-af", "runner .*musher-demo-"]).output().unwrap();
        let home = place.home.path().display().to_string();
        let own = String::from_utf8(list.stdout).unwrap();
        // Another test may play the demo too; ours has another folder for temporary files.
        own.lines().filter(|line| line.contains(&home)).count()
    };
    assert!(runners() > 0, "there is something to end");
    terminal.type_in("\x03");
    let (code, screen) = terminal.close();
    assert_eq!(code, Some(4), "{screen}");
    assert_eq!(runners(), 0, "{screen}");
}

#[test]
fn colours_are_used_at_a_terminal_unless_they_are_not_wanted() {
    let place = Place::new();
    let script = place.script("[[step]]\nrun = 'true'");
    let run = ["run", "--runtime", "script", "--program", &script, "go"];
    let (_, screen) = Terminal::open(&place, &run).close();
    assert!(screen.contains("\u{1b}[32m"), "{screen:?}");
    let mut plain = place.musher(&run);
    plain.env("NO_COLOR", "1");
    let quoted = run.map(|arg| format!("'{arg}'")).join(" ");
    let mut command = Command::new("script");
    let line = format!("NO_COLOR=1 '{}' {quoted}", env!("CARGO_BIN_EXE_musher"));
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.work.path());
    let screen = command.env("SHELL", "/bin/sh").stdin(Stdio::null()).output().unwrap().stdout;
    let screen = String::from_utf8_lossy(&screen).into_owned();
    assert!(screen.contains("✓ run") && !screen.contains("\u{1b}[32m"), "{screen:?}");
}
