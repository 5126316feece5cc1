//! An agent that says what time it is when it is told to.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::ValueEnum;
use memchr::memmem::Finder;

use super::greet::greet;
use crate::stage::alone::monotonic;

/// How long a line is, more or less.
const LENGTH: usize = 300;

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Speech {
    /// Messages in the protocol of an agent.
    Frames,
    /// Lines of text.
    Plain,
}

/// Speaks until the conductor or the reader has gone.
pub(super) fn play(conductor: &str, speech: Speech) -> anyhow::Result<()> {
    match speak(conductor, speech) {
        Err(error) if error.is::<io::Error>() => Ok(()),
        other => other,
    }
}

fn speak(conductor: &str, speech: Speech) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if speech == Speech::Frames {
        let mut input = BufReader::new(io::stdin());
        greet(&mut input, &mut out)?;
        // Whoever started it may say more, which nobody needs.
        let _ended = std::thread::spawn(move || {
            for _ in input.lines() {}
            // The input has ended, and so must this program; the other thread may wait for the conductor.
            if let Ok(pid) = i32::try_from(std::process::id())
                && let Some(pid) = rustix::process::Pid::from_raw(pid)
            {
                let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
        });
    }
    let first = monotonic();
    out.write_all(line(speech, 0, first).as_bytes())?;
    out.flush()?;
    let mut stream = TcpStream::connect(conductor)?;
    stream.write_all(format!("{first:020}").as_bytes())?;
    let mut said = 0;
    for score in BufReader::new(stream).lines() {
        let score = score?;
        let mut words = score.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let mut next = || words.next().context("a score has four numbers");
        let (lines, together, every, phase) = (next()?, next()?.max(1), next()?, next()?);
        let began = Instant::now() + Duration::from_micros(phase);
        for nth in 0..lines.div_ceil(together) {
            let due = began + Duration::from_micros(every * nth);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut whole = String::new();
            for _ in 0..together.min(lines - nth * together) {
                said += 1;
                whole.push_str(&line(speech, said, monotonic()));
            }
            out.write_all(whole.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(())
}

fn line(speech: Speech, number: u64, now: u64) -> String {
    let mut line = String::with_capacity(LENGTH + 16);
    // A text can always be written to.
    let _written = match speech {
        Speech::Plain => write!(line, "t={now} "),
        Speech::Frames => write!(
            line,
            r#"{{"type":"assistant","message":{{"id":"msg_{number}","role":"assistant","model":"m","content":[{{"type":"text","text":"t={now} "#
        ),
    };
    let end = match speech {
        Speech::Plain => "\n",
        Speech::Frames => "\"}]},\"parent_tool_use_id\":null}\n",
    };
    while line.len() + end.len() < LENGTH {
        line.push('x');
    }
    line + end
}

/// The time that a line tells, in nanoseconds of the machine's clock.
pub fn told(line: &[u8]) -> Option<u64> {
    static TIME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"t="));
    let at = TIME.find(line)? + 2;
    Some(crate::stage::subscriber::number(&line[at..])).filter(|time| *time > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_whole_and_tells_its_time() {
        for speech in [Speech::Frames, Speech::Plain] {
            let line = line(speech, 7, 123_456_789);
            assert_eq!(line.len(), LENGTH);
            assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            assert_eq!(told(line.as_bytes()), Some(123_456_789));
        }
        let frame: serde_json::Value = serde_json::from_str(&line(Speech::Frames, 7, 1)).unwrap();
        assert_eq!(frame["message"]["id"], "msg_7");
        assert_eq!(told(b"no time here"), None);
    }
}
