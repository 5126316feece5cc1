//! A whole fake agent: it speaks Claude Code's stream protocol and does the numbered work that its prompts spell out.
//!
//! A prompt holds directives, `[[work key=value …]]`, done in the order in which they are written. Without one the
//! agent says `ok`. What is not an act holds for its whole directive; a value with blanks stands in double quotes.
//!
//! | act | what it does |
//! |---|---|
//! | `lines=N` | says `line K`, N times; K counts through the whole session, resumes and forks included |
//! | `ask=COMMAND` | asks whether it may run a command, waits, says `answer ID allow` or `answer ID deny` |
//! | `asks=N` | asks about N commands, `: ask-0.` and so on, of which `at_once=` wait at a time |
//! | `question=TEXT` | asks a question, waits, says `answer ID allow: ANSWER` or `answer ID deny` |
//! | `write=FILE` | writes `line K`, or what `text=` says, into a file below its folder |
//! | `spawn=setsid`, `daemon`, `clear_env` | leaves a process that sleeps for 300 s, and says `spawned PID` |
//! | `garbage=BYTES` | prints bytes that are no protocol |
//! | `exit=CODE`, `crash=SIGNAL`, `hang=1` | leaves, dies or falls silent (for an hour) in the middle of the turn |
//! | `limited=SECONDS` | says that its model takes nothing before then, and is silent as long |
//! | `ignore_term=1` | takes no notice of SIGTERM, SIGINT and SIGHUP from here on |
//! | `fail=1` | ends the turn with an error |
//! | `commit=1` | does nothing |
//!
//! | setting | default |
//! |---|---|
//! | `every_ms=` between lines, `size=` of each in bytes, `deltas=1` for pieces in flight | none |
//! | `text=` for `write`, `options=A\|B` for `question` | |
//! | `at_once=` for `asks` | 2 |
//! | `input=`, `output=`, `cost=` of the whole turn; the last word counts | 10, 5, 0.001 |
//!
//! The end of its input cuts a pause, and the turn with it; an ask that is open then counts as denied.
//!
//! In the folder `WORKER_HOME`, where that is set, it keeps its sessions (`sessions/ID`) and appends to three files:
//! `starts` (`PID STARTTIME SESSION` when it starts), `told` (what each turn was begun with, as a JSON text) and `effects` (`answer ID allow`, `answer ID deny`, `stray ID`
//! for an answer that nobody waits for, `spawned HOW PID`). Without that folder it takes every session for known.
//!
//! With `WORKER_CALLS` set, every message is a call of a model that is told and charged by itself, and the file `books`
//! has what each was (`STEP SESSION CALL INPUT OUTPUT`): `begins` and `ends` before it was told, `began` and `ended` after.

mod agent;
mod asking;
mod calls;
mod directive;
mod family;
mod home;
mod input;
mod options;
mod outcome;
mod temper;
mod together;
mod turn;
mod wire;

use std::io;
use std::process::ExitCode;

use agent::Agent;
use home::Home;
use options::{Options, Origin};

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        // Nobody listens any more, so there is nobody to work for.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<u8> {
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    if let Some(relative) = args.first().and_then(|arg| family::Relative::named(arg)) {
        return relative.live().map(|()| 0);
    }
    let options = Options::read(&args);
    let home = Home::open(options.home.clone())?;
    home.started(&options.session)?;
    let memory = match &options.origin {
        Origin::New if home.knows(&options.session) => {
            let message = format!("Error: Session ID {} is already in use.", options.session);
            return Err(io::Error::other(message));
        }
        Origin::New => home.new_session(),
        Origin::Resumed(earlier) | Origin::Forked(earlier) => match home.recall(earlier)? {
            Some(memory) => memory,
            None => return outcome::unknown_session(earlier),
        },
    };
    Agent::new(options, home, memory)?.run()
}
