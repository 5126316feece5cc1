//! How an agent that works at a steady pace is heard: whether it is held up, and how late its words arrive.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::subscriber::{Got, Subscriber, number};

/// What was seen of one paced run, in milliseconds.
#[derive(Debug)]
pub struct Pace {
    /// Between one line and the next, as the runner took them.
    gaps: Vec<u64>,
    /// Between the runner's taking a line and its arrival here.
    delays: Vec<u64>,
}

impl Pace {
    /// Follows a run to its end.
    pub async fn of(subscriber: Subscriber) -> anyhow::Result<(Self, Got)> {
        let mut pace = Self { gaps: Vec::new(), delays: Vec::new() };
        let mut before = None;
        let got = subscriber.watch(|line| {
            let Some(at) = said_at(line) else { return };
            pace.delays.push(now_ms().saturating_sub(at));
            pace.gaps.extend(before.replace(at).map(|before| at.saturating_sub(before)));
        });
        let got = got.await?;
        pace.gaps.sort_unstable();
        pace.delays.sort_unstable();
        Ok((pace, got))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gaps, delays) = (&self.gaps, &self.delays);
        write!(
            f,
            "gaps p50 {} p99 {} max {} ms; arrival p50 {} p99 {} max {} ms",
            at(gaps, 50),
            at(gaps, 99),
            at(gaps, 100),
            at(delays, 50),
            at(delays, 99),
            at(delays, 100)
        )
    }
}

/// When a text of the agent was taken, if the line is one.
fn said_at(line: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, br#","at":"#)? + br#","at":"#.len();
    let rest = &line[at..];
    let kind = memchr::memchr(b',', rest).map(|comma| &rest[comma..])?;
    kind.starts_with(br#","type":"item_done"#).then(|| number(rest))
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn at(sorted: &[u64], percent: usize) -> u64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0)
}
