//! How much of the machine a run may take, held by the kernel's control groups.
//!
//! The limits are those of the outermost group of a run, so that all of its processes share them. The unified hierarchy is used
//! where its controllers are to be had, and the older ones, with a group of their own for each resource, where they are.

use std::io;
use std::path::{Path, PathBuf};

use musher_sandbox::SandboxLimits;

use super::cgroup::{self, Cgroup};
use super::mark::RunMark;

/// The period in which processor time is given out.
const CPU_PERIOD_MICROS: u64 = 100_000;
/// Processor time is said in thousandths of a processor.
const MILLIS_PER_CPU: u64 = 1000;

/// What the kernel ends a process with that has no memory left.
const KILL_SIGNAL: i32 = 9;
/// Put after what the process itself said last.
const OUT_OF_MEMORY: &[u8] =
    b"\nmusher: the limit of memory was reached, and the kernel ended the process; raise `memory` of [sandbox]\n";

/// A resource of the machine that a control group can bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Memory,
    Cpu,
    Processes,
}

impl Resource {
    /// As the kernel calls its controller.
    fn controller(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Processes => "pids",
        }
    }
}

/// A file of a group, and what is written to it.
struct Setting {
    file: &'static str,
    value: String,
    /// Not every kernel has it.
    optional: bool,
}

fn setting(file: &'static str, value: impl Into<String>) -> Setting {
    Setting { file, value: value.into(), optional: false }
}

/// One limit, as each kind of hierarchy is told it.
struct Limit {
    resource: Resource,
    unified: Vec<Setting>,
    older: Vec<Setting>,
}

fn wanted(limits: SandboxLimits) -> Vec<Limit> {
    let memory = limits.memory.map(|bytes| Limit {
        resource: Resource::Memory,
        unified: vec![
            setting("memory.max", bytes.to_string()),
            Setting { optional: true, ..setting("memory.swap.max", "0") },
        ],
        older: vec![
            setting("memory.limit_in_bytes", bytes.to_string()),
            Setting { optional: true, ..setting("memory.memsw.limit_in_bytes", bytes.to_string()) },
        ],
    });
    let cpu = limits.cpu_millis.map(|millis| {
        let quota = u64::from(millis) * CPU_PERIOD_MICROS / MILLIS_PER_CPU;
        Limit {
            resource: Resource::Cpu,
            unified: vec![setting("cpu.max", format!("{quota} {CPU_PERIOD_MICROS}"))],
            older: vec![
                setting("cpu.cfs_period_us", CPU_PERIOD_MICROS.to_string()),
                setting("cpu.cfs_quota_us", quota.to_string()),
            ],
        }
    });
    let processes = limits.processes.map(|most| Limit {
        resource: Resource::Processes,
        unified: vec![setting("pids.max", most.to_string())],
        older: vec![setting("pids.max", most.to_string())],
    });
    [memory, cpu, processes].into_iter().flatten().collect()
}

/// The groups of one process that hold its limits, beside the one that holds its tree.
#[derive(Debug, Default)]
pub(super) struct LimitGroups {
    groups: Vec<Cgroup>,
    /// Where it is counted how often the limit of memory has ended a process.
    memory: Option<PathBuf>,
    /// Whether the group of the tree itself holds a limit.
    pub(super) on_tree: bool,
}

impl LimitGroups {
    /// Sets the limits of a run for one of its processes. `tree` is the group that it is about to be started in.
    pub(super) fn make(
        limits: SandboxLimits,
        mark: &RunMark,
        tree: Option<&Cgroup>,
    ) -> io::Result<Self> {
        let mut made = Self::default();
        for limit in wanted(limits) {
            match made.hold(&limit, mark, tree) {
                Ok(()) => {}
                // This one is also held by a limit of the process itself.
                Err(_) if limit.resource == Resource::Processes => {}
                Err(why) => {
                    let name = limit.resource.controller();
                    let message =
                        format!("no control group of this machine holds a limit of {name}: {why}");
                    return Err(io::Error::new(why.kind(), message));
                }
            }
        }
        Ok(made)
    }

    fn hold(&mut self, limit: &Limit, mark: &RunMark, tree: Option<&Cgroup>) -> io::Result<()> {
        let controller = limit.resource.controller();
        let unified =
            tree.filter(|_| cgroup::base_folder().is_some_and(|base| enable(&base, controller)));
        let (outermost, settings) = match unified {
            Some(tree) => {
                self.on_tree = true;
                (tree.outermost().to_owned(), &limit.unified)
            }
            None => {
                let base = older_base(controller).ok_or(io::ErrorKind::Unsupported)?;
                let group =
                    Cgroup::make_below(&base, mark).ok_or(io::ErrorKind::PermissionDenied)?;
                let outermost = group.outermost().to_owned();
                self.groups.push(group);
                (outermost, &limit.older)
            }
        };
        for setting in settings {
            let written = std::fs::write(outermost.join(setting.file), &setting.value);
            if !setting.optional {
                written?;
            }
        }
        if limit.resource == Resource::Memory {
            self.memory = Some(outermost);
        }
        Ok(())
    }

    /// The files by which a process comes into them.
    pub(super) fn entrances(&self) -> io::Result<Vec<std::fs::File>> {
        self.groups.iter().map(Cgroup::processes).collect()
    }

    /// What is to be said of a process that was ended by this signal: the kernel itself tells it nothing.
    pub(super) fn last_words(&self, signal: Option<i32>) -> &'static [u8] {
        match signal == Some(KILL_SIGNAL) && self.ran_out_of_memory() {
            true => OUT_OF_MEMORY,
            false => b"",
        }
    }

    fn ran_out_of_memory(&self) -> bool {
        let Some(folder) = &self.memory else { return false };
        let counts = ["memory.events", "memory.oom_control"];
        let killed = |text: String| {
            let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
            count.trim().parse::<u64>().ok()
        };
        let count = |name: &&str| std::fs::read_to_string(folder.join(name)).ok().and_then(killed);
        counts.iter().find_map(count).is_some_and(|count| count > 0)
    }
}

/// Lets the groups below this one have a controller, or tells that they cannot.
pub(super) fn enable(base: &Path, controller: &str) -> bool {
    let control = base.join("cgroup.subtree_control");
    let enabled = std::fs::read_to_string(&control).unwrap_or_default();
    enabled.split_whitespace().any(|name| name == controller)
        || std::fs::write(&control, format!("+{controller}")).is_ok()
}

/// The folder of the group that we are in, in the older hierarchy of a controller.
fn older_base(controller: &str) -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(":/")?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let options = kind.strip_prefix("cgroup ")?.split(' ').next_back()?;
        let has = options.split(',').any(|option| option == controller);
        has.then(|| place.split(' ').nth(4))?
    })?;
    let mount = Path::new(mount);
    // In a container the mount may begin at our own group.
    Some(mount.join(path)).filter(|folder| folder.is_dir()).or_else(|| Some(mount.to_owned()))
}

/// Takes away the groups of limits that a process which is gone has left.
pub(super) fn remove_left_behind(mark: &RunMark) {
    for resource in [Resource::Memory, Resource::Cpu, Resource::Processes] {
        if let Some(base) = older_base(resource.controller()) {
            drop(Cgroup::left_behind(cgroup::folder_below(&base, mark)));
        }
    }
}

/// Tries to hold a process to these limits, and tells why that cannot be.
pub fn can_be_limited(limits: SandboxLimits) -> io::Result<()> {
    let mark = RunMark::new(None);
    let tree = Cgroup::make(&mark);
    LimitGroups::make(limits, &mark, tree.as_ref()).map(drop)
}
