//! Plays a recorded Claude Code run as if it were the agent, waiting where the recorded one waited.

mod options;
mod player;
mod recording;

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use options::Options;
use player::Player;
use recording::Recording;

fn main() -> ExitCode {
    match play() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> io::Result<u8> {
    let options = Options::read(std::env::args_os().skip(1))?;
    let recording = Recording::read(&options.recording, options.stdin.as_deref())?;
    if let Some(path) = &options.stderr {
        io::stderr().write_all(&std::fs::read(path)?)?;
    }
    let mut player = Player::new(recording);
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            print(&player.receive(&line)?)?;
        }
    }
    print(&player.end_of_input())?;
    Ok(options.exit)
}

fn print(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
