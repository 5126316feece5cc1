//! A control group of its own for one process tree, where the system lets us make one.
//!
//! Nothing can leave it without rights that an agent does not have: not by a session of its own, not by a cleared
//! environment, not by a parent that is gone. Where none can be made, descent and the mark have to do.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tracing::debug;

use super::mark::RunMark;

/// How often the groups around a new one are made again, because the last one inside them has just gone.
const MAKE_ATTEMPTS: usize = 8;

/// The group that the unit of a service manager puts the server into (`DelegateSubgroup`).
const SERVER_GROUP: &str = "musher-server";

/// One group, removed when it is dropped, with those around it that hold nothing else.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// The groups around it that are there for its sake, the nearest first.
    around: Vec<PathBuf>,
}

/// How a process comes into a group.
#[derive(Debug)]
pub(super) struct CgroupEntry {
    /// What writes `0` to this file is in.
    pub(super) processes: File,
    /// The folder in which the kernel can make a new process.
    pub(super) folder: File,
    /// Whether a process that cannot come in must not start: the group holds its limits.
    pub(super) required: bool,
}

impl Cgroup {
    /// Makes a group below the one that we are in, or tells that it cannot be done here.
    pub(super) fn make(mark: &RunMark) -> Option<Self> {
        Self::make_below(&base_folder()?, mark)
    }

    /// The same below another group, which may be of another hierarchy.
    pub(super) fn make_below(base: &Path, mark: &RunMark) -> Option<Self> {
        let folder = folder_below(base, mark);
        let around: Vec<PathBuf> =
            folder.ancestors().skip(1).take(mark.way().count() - 1).map(Path::to_owned).collect();
        let made = (1..=MAKE_ATTEMPTS).any(|attempt| {
            for outer in around.iter().rev() {
                let _already_there = std::fs::create_dir(outer);
            }
            let made = std::fs::create_dir(&folder);
            if let Err(cause) = &made {
                debug!(attempt, folder = %folder.display(), %cause, "control group was not made");
            }
            made.is_ok()
        });
        let group = made.then_some(Self { folder, around })?;
        // A group that cannot be entered is of no use, and dropping it takes it away.
        let entered = group.entrance().is_some();
        if !entered {
            debug!(folder = %group.folder.display(), "control group cannot be entered");
        }
        entered.then_some(group)
    }

    /// A group that a process which is gone has made.
    pub(super) fn left_behind(folder: PathBuf) -> Self {
        Self { folder, around: Vec::new() }
    }

    /// The ways into it.
    pub(super) fn entrance(&self) -> Option<CgroupEntry> {
        let folder = File::open(&self.folder).ok()?;
        Some(CgroupEntry { processes: self.processes().ok()?, folder, required: false })
    }

    /// The file that lets a process in.
    pub(super) fn processes(&self) -> io::Result<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs"))
    }

    /// The group of the whole run that this one is a part of.
    pub(super) fn outermost(&self) -> &Path {
        self.around.last().unwrap_or(&self.folder)
    }

    /// Every process in it, and in the groups that were made inside it.
    pub(super) fn members(&self) -> Vec<i32> {
        Self::members_of(&self.folder)
    }

    /// The same for a group that somebody else owns.
    pub(super) fn members_of(folder: &Path) -> Vec<i32> {
        let mut found = Vec::new();
        gather(folder, &mut found);
        found
    }

    /// Kills everything in it at one stroke. Old kernels cannot; then its members are killed one by one.
    pub(super) fn kill(&self) {
        if let Ok(mut file) = File::options().write(true).open(self.folder.join("cgroup.kill")) {
            let _unsupported = file.write_all(b"1");
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove(&self.folder);
        for outer in &self.around {
            let _still_used = std::fs::remove_dir(outer);
        }
    }
}

/// Where the group of a mark is made by this process.
pub(super) fn folder_of(mark: &RunMark) -> Option<PathBuf> {
    Some(folder_below(&base_folder()?, mark))
}

/// Where the group of a mark is below another one.
pub(super) fn folder_below(base: &Path, mark: &RunMark) -> PathBuf {
    let mut folder = base.to_owned();
    folder.extend(mark.way().map(|own| format!("musher-{own}")));
    folder
}

/// The group that those of runs are made in. It is the one that we are in, unless a service manager has put us into one of our own
/// inside of the one that it has left to us: only a group without processes can have limits for those below it.
pub(super) fn base_folder() -> Option<PathBuf> {
    let own = own_folder()?;
    match own.file_name() == Some(OsStr::new(SERVER_GROUP)) {
        true => own.parent().map(Path::to_owned),
        false => Some(own),
    }
}

fn gather(folder: &Path, found: &mut Vec<i32>) {
    let listed = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    found.extend(listed.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    subfolders(folder).for_each(|inner| gather(&inner, found));
}

/// Removes the group and those inside it; one that still holds a process stays.
fn remove(folder: &Path) {
    subfolders(folder).for_each(|inner| remove(&inner));
    let _still_used = std::fs::remove_dir(folder);
}

fn subfolders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

/// The folder of the group that we are in, in the unified hierarchy.
pub(super) fn own_folder() -> Option<PathBuf> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then(|| place.split(' ').nth(4))?
    })?;
    Some(Path::new(mount).join(path))
}
