//! What a process takes of the machine's memory, as the kernel counts it.

use std::fmt;
use std::time::Duration;

use anyhow::Context as _;

/// How long a process may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(250);
/// What still counts as rest.
const STIR: u64 = 64;

/// In KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub rss: u64,
    /// Shared pages are divided among those who share them.
    pub pss: u64,
    /// What no other process shares and no file holds. The pages of a program that was just copied are not its own, though the
    /// kernel calls them private and dirty until they are written.
    pub private: u64,
}

impl Memory {
    pub fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let field = |name: &str| {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            number.with_context(|| format!("{path} has no {name}"))
        };
        Ok(Self { rss: field("Rss")?, pss: field("Pss")?, private: field("Pss_Anon")? })
    }

    /// The memory of a process that has come to rest.
    pub async fn at_rest(pid: u32) -> anyhow::Result<Self> {
        let mut last = Self::of(pid)?;
        let mut calm = 0;
        let began = tokio::time::Instant::now();
        while calm < 4 && began.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
            let now = Self::of(pid)?;
            calm = if now.rss.abs_diff(last.rss) <= STIR { calm + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }
}

/// What the kernel holds in the buffers of all connections of this machine, in KiB.
pub fn of_sockets() -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/net/sockstat")?;
    let tcp = text.lines().find_map(|line| line.strip_prefix("TCP:"));
    let pages = tcp.and_then(|tcp| tcp.split_once(" mem ")?.1.trim().parse::<u64>().ok());
    let page = 4096;
    Ok(pages.context("/proc/net/sockstat tells nothing of TCP")? * page / 1024)
}

/// KiB as MiB, for people.
pub fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RSS {:.1} MiB, PSS {:.1} MiB", mib(self.rss), mib(self.pss))
    }
}
