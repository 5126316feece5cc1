//! The machine on which it was measured, as far as the figures depend on it.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::steal::Ticks;

/// File systems that keep nothing: a sync costs nothing there.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

#[derive(Debug, Clone, serde::Serialize)]
pub struct Machine {
    processor: String,
    pub cores: usize,
    memory_mib: u64,
    kernel: String,
    /// The device and the file system of the state folder.
    disk: Disk,
    /// The average number of those who wanted a core in the last minute, before anything was measured.
    load: String,
    /// The part of the processors' time that was stolen since the machine was started.
    steal: f64,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Disk {
    device: String,
    system: String,
    options: String,
    /// The part of it that is taken. A file system that is nearly full looks long for room, and makes files several times
    /// as slowly.
    taken: f64,
}

impl Machine {
    /// Fails if the folder is not on a real disk.
    pub fn look(folder: &Path) -> anyhow::Result<Self> {
        let read = |path: &str| std::fs::read_to_string(path).with_context(|| path.to_owned());
        let info = read("/proc/cpuinfo")?;
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let memory = read("/proc/meminfo")?;
        let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = total.and_then(|total| total.split_whitespace().next()?.parse::<u64>().ok());
        let mounts = read("/proc/self/mountinfo")?;
        let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let mut disk = Disk::of(&folder, &mounts).context("no mount holds the folder")?;
        disk.is_real(&folder)?;
        disk.taken = taken(&folder)?;
        let now = Ticks::read()?;
        Ok(Self {
            processor: name.map_or("unknown", |(_, name)| name.trim()).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: kib.unwrap_or(0) / 1024,
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            disk,
            load: read("/proc/loadavg")?.split(' ').next().unwrap_or_default().to_owned(),
            steal: now.stolen as f64 / now.all.max(1) as f64,
        })
    }
}

impl Disk {
    /// The mount that holds a folder, from the kernel's table.
    fn of(folder: &Path, mounts: &str) -> Option<Self> {
        let holds = |line: &&str| {
            let point = line.split(' ').nth(4).map(|point| point.replace("\\040", " "));
            point.is_some_and(|point| folder.starts_with(point))
        };
        // Of two at the same point the later one hides the earlier.
        let depth = |line: &&str| {
            line.split(' ').nth(4).map_or(0, |point| Path::new(point).components().count())
        };
        let line = mounts.lines().filter(holds).max_by_key(depth)?;
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (system, device) = (right.next()?.to_owned(), right.next()?.to_owned());
        let options = left.split(' ').nth(5)?.to_owned();
        Some(Self { device, system, options, taken: 0.0 })
    }

    fn is_real(&self, folder: &Path) -> anyhow::Result<()> {
        if IN_MEMORY.contains(&self.system.as_str()) {
            bail!(
                "{} is on {}, where a sync costs nothing; give a folder on a real disk with --folder",
                folder.display(),
                self.system
            );
        }
        Ok(())
    }
}

/// The part of a file system that is taken, as those see it who may not use what is set aside.
fn taken(folder: &Path) -> anyhow::Result<f64> {
    let found = rustix::fs::statvfs(folder).with_context(|| folder.display().to_string())?;
    let used = found.f_blocks.saturating_sub(found.f_bfree);
    Ok(used as f64 / (used + found.f_bavail).max(1) as f64)
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, cores, memory_mib, kernel, disk, load, steal } = self;
        let Disk { device, system, options, taken } = disk;
        writeln!(f, "machine: {processor}, {cores} cores, {memory_mib} MiB, Linux {kernel}")?;
        writeln!(f, "state on: {device}, {system} ({options}), {:.0} % full", taken * 100.0)?;
        let percent = steal * 100.0;
        write!(f, "before: load {load}, {percent:.2} % of the processors' time stolen since start")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
        30 22 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw\n\
        31 22 0:26 / /tmp/real\\040disk rw - xfs /dev/vdb rw\n";

    #[test]
    fn the_disk_of_a_folder_is_that_of_the_deepest_mount_above_it() {
        let disk = |folder: &str| Disk::of(Path::new(folder), MOUNTS).unwrap();
        assert_eq!(disk("/home/me").device, "/dev/vda");
        assert_eq!(disk("/tmp/x").system, "tmpfs");
        assert_eq!(disk("/tmp/real disk/x").system, "xfs");
    }

    #[test]
    fn a_folder_in_memory_is_refused() {
        let folder = Path::new("/tmp/x");
        assert!(Disk::of(folder, MOUNTS).unwrap().is_real(folder).is_err());
        let folder = Path::new("/home");
        assert!(Disk::of(folder, MOUNTS).unwrap().is_real(folder).is_ok());
    }
}
