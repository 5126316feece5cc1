//! Which cores a thread and what it starts may use.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The core on which a thing is measured that has one core.
pub const MEASURED: usize = 0;

/// Does something on a thread that has one core, as has every process that it starts.
pub fn on_one_core<T: Send + 'static>(
    what: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let thread = std::thread::spawn(move || {
        let mut cores = CpuSet::new();
        cores.set(MEASURED);
        sched_setaffinity(None, &cores)?;
        what()
    });
    thread.join().map_err(|_| anyhow::anyhow!("what ran on one core panicked"))?
}

/// Leaves the measured core to what is measured, if there is another one.
pub fn stand_aside() -> anyhow::Result<()> {
    let most = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let last = most.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
    let mut others = CpuSet::new();
    for core in (0..=last.unwrap_or(0)).filter(|core| *core != MEASURED) {
        others.set(core);
    }
    if others.count() == 0 {
        others = sched_getaffinity(None)?;
    }
    Ok(sched_setaffinity(None, &others)?)
}
