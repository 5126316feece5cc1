//! Ends what has outlived the process that it was started by.

use std::path::{Path, PathBuf};

use super::cgroup::{self, Cgroup};
use super::limits;
use super::mark::{RunMark, is_mark};
use super::tree::ProcessTree;
use super::{Containment, Sweep};

/// Where this process makes the control group for the sessions with a mark, if it can make any.
pub fn control_group(mark: &str) -> Option<PathBuf> {
    let mark = RunMark::named(mark.to_owned(), None);
    cgroup::folder_of(&mark)
}

/// Kills every process that carries the mark of a session whose host is gone, or that is in its control group, with
/// all that descends from them. Gives back what is still there, which should be nothing.
///
/// It reads all of `/proc` and waits for the deaths, so it belongs on a thread that may block.
pub fn sweep(mark: &str, group: Option<&Path>) -> Vec<i32> {
    if !is_mark(mark) {
        return Vec::new();
    }
    // Only a group with the mark's own name is touched, whoever named it.
    let own_name = format!("musher-{mark}");
    let group = group
        .filter(|group| group.file_name().is_some_and(|name| *name == *own_name))
        .filter(|group| group.join("cgroup.procs").exists())
        .map(|group| Cgroup::left_behind(group.to_owned()));
    let mark = RunMark::named(mark.to_owned(), None);
    let left = ProcessTree::left_behind(group, mark.clone(), Containment::default()).kill();
    limits::remove_left_behind(&mark);
    left
}

/// Kills everything that carries a mark of this process, as [`sweep`] does for a host that is gone.
pub(crate) fn sweep_own(mark: &RunMark, containment: Containment) -> Vec<i32> {
    let group = match containment.sweep {
        Sweep::Tree => cgroup::folder_of(mark).filter(|folder| folder.exists()),
        Sweep::WithoutGroup | Sweep::RootOnly => None,
    };
    ProcessTree::left_behind(group.map(Cgroup::left_behind), mark.clone(), containment).kill()
}
