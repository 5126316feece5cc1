//! Follows the logs of runs where they are written, and tells how late each line was there.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use musher_log::{LogRead, LogReader, Wakes, WatchId, lines};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;

use super::tick::told;
use crate::slow::Slow;
use crate::stage::alone::monotonic;

/// How much of a log is read at once.
const PIECE: usize = 64 * 1024;

/// Follows these logs until its input ends. A number on its input is the slowdown that is planted from then on; for each
/// it prints how late the lines were that were read since the one before.
pub(super) fn play(folders: &[PathBuf]) -> anyhow::Result<()> {
    come_first()?;
    let mut wakes = Wakes::new()?;
    let mut logs = HashMap::new();
    for folder in folders {
        logs.insert(wakes.watch(folder)?, Log::open(folder)?);
    }
    println!("ready");
    let (mut delays, mut slow) = (Vec::new(), Slow::NONE);
    loop {
        let input = std::io::stdin();
        let mut polled = [PollFd::new(&wakes, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        poll(&mut polled, None)?;
        let asked = !polled[1].revents().is_empty();
        follow(&mut wakes, &mut logs, |line| delays.extend(lateness(line, slow)))?;
        if asked {
            let Some(factor) = word()? else { return Ok(()) };
            slow = Slow::planted(factor);
            println!("{}", json!(std::mem::take(&mut delays)));
        }
    }
}

/// What is measured is when a line is there, and not when this has its turn. So it comes before all others if it may; else
/// soon, and in a session of its own, because the kernel may give turns to sessions as a whole and not to their busy readers.
fn come_first() -> anyhow::Result<()> {
    rustix::process::setsid()?;
    musher_os::tuning::act_promptly()?;
    let own = std::process::id().to_string();
    let mut chrt = Command::new("chrt");
    let asked = chrt
        .args(["--fifo", "--pid", "1", &own])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !asked.is_ok_and(|done| done.success()) {
        eprintln!("the watcher of the logs may not come first, so its own turns count too");
    }
    Ok(())
}

fn follow(
    wakes: &mut Wakes,
    logs: &mut HashMap<WatchId, Log>,
    mut heard: impl FnMut(&[u8]),
) -> anyhow::Result<()> {
    let mut changed = Vec::new();
    wakes.poll(&mut changed)?;
    for id in changed {
        if let Some(log) = logs.get_mut(&id) {
            log.read(&mut heard)?;
        }
    }
    Ok(())
}

/// How late a line is, in microseconds, if it tells its time.
fn lateness(line: &[u8], slow: Slow) -> Option<f64> {
    let took = Duration::from_nanos(monotonic().saturating_sub(told(line)?));
    Some(took.mul_f64(slow.factor()).as_secs_f64() * 1e6)
}

/// What is asked of it, in one line; nothing when the input has ended.
fn word() -> anyhow::Result<Option<f64>> {
    let mut word = [0; 64];
    let read = std::io::stdin().lock().read(&mut word)?;
    if read == 0 {
        return Ok(None);
    }
    let word = std::str::from_utf8(&word[..read])?.trim();
    Ok(Some(word.parse().with_context(|| format!("{word:?} is no slowdown"))?))
}

struct Log {
    reader: LogReader,
    buffer: Vec<u8>,
}

impl Log {
    /// Stands at the end of a log.
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut log = Self { reader: LogReader::open_last(folder, 1)?, buffer: Vec::new() };
        log.read(&mut |_| {})?;
        Ok(log)
    }

    fn read(&mut self, heard: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        loop {
            self.buffer.clear();
            match self.reader.read(&mut self.buffer, PIECE)? {
                LogRead::Lines(batch) => lines(&self.buffer[batch.lines]).for_each(&mut *heard),
                LogRead::Reset { .. } => {}
                LogRead::End => return Ok(()),
            }
        }
    }
}
