//! How much memory process trees hold, found by one look at the table of processes.

use std::collections::HashMap;
use std::path::Path;

use super::cgroup::Cgroup;
use super::mark::{RunMark, is_mark};
use super::table::{self, Environs, ProcessEntry};

/// A tree whose memory is wanted: the mark of its session, and its control group if it has one.
#[derive(Debug, Clone, Copy)]
pub struct TreeOf<'a> {
    pub mark: &'a str,
    pub group: Option<&'a Path>,
}

/// The bytes that each tree has for itself, files that it shares with others aside; `None` for one that has no process.
///
/// It reads all of `/proc`, once for all trees, so it belongs on a thread that may block.
pub fn memory(trees: &[TreeOf<'_>]) -> Vec<Option<u64>> {
    let table = table::read();
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in table.values() {
        children.entry(entry.parent).or_default().push(entry.id.pid);
    }
    let marks: Vec<Option<RunMark>> = trees
        .iter()
        .map(|tree| is_mark(tree.mark).then(|| RunMark::named(tree.mark.to_owned(), None)))
        .collect();
    let mut roots: Vec<Vec<i32>> = trees.iter().map(|tree| held(tree, &table)).collect();
    let mut environs = Environs::default();
    for entry in table.values().filter(|entry| !entry.zombie) {
        let Some(carried) = environs.marks(entry.id.pid).next() else { continue };
        for (mark, roots) in marks.iter().zip(&mut roots) {
            if mark.as_ref().is_some_and(|mark| mark.is_in(carried)) {
                roots.push(entry.id.pid);
            }
        }
    }
    roots.into_iter().map(|roots| weigh(roots, &children)).collect()
}

/// What is in a tree's control group.
fn held(tree: &TreeOf<'_>, table: &HashMap<i32, ProcessEntry>) -> Vec<i32> {
    let Some(group) = tree.group else { return Vec::new() };
    // Looking must not take the group away, as the end of its owner does.
    let members = Cgroup::members_of(group);
    members.into_iter().filter(|pid| table.contains_key(pid)).collect()
}

/// The sum over some processes and all that descends from them.
fn weigh(mut frontier: Vec<i32>, children: &HashMap<i32, Vec<i32>>) -> Option<u64> {
    let mut seen = std::collections::HashSet::new();
    let mut sum = None;
    while let Some(pid) = frontier.pop() {
        if !seen.insert(pid) {
            continue;
        }
        if let Some(bytes) = table::own_bytes(pid) {
            sum = Some(sum.unwrap_or(0_u64).saturating_add(bytes));
        }
        frontier.extend(children.get(&pid).into_iter().flatten());
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{Errors, Launch, Process, ProcessorShare, StdinMode, Weights};
    use super::*;
    use crate::Containment;

    #[tokio::test]
    async fn the_memory_of_a_tree_is_that_of_all_its_processes_and_of_no_other() {
        let mark = RunMark::new(None);
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "sh -c 'read x'; exit".into()],
            cwd: "/".into(),
            env: Vec::new(),
            mark: mark.clone(),
            containment: Containment::default(),
            stdin: StdinMode::Piped,
            stderr: Errors::WithOutput,
            weights: Weights::default(),
            tap: None,
            confinement: None,
            share: ProcessorShare::default(),
        };
        let process = Process::start(launch).await.unwrap();
        let own = [TreeOf { mark: mark.value(), group: None }];
        let other = [TreeOf { mark: "no-such-mark", group: None }];
        let began = std::time::Instant::now();
        // In the middle of an exec a process shows no mark.
        let found = loop {
            if let Some(found) = memory(&own)[0] {
                break found;
            }
            assert!(began.elapsed().as_secs() < 10, "the process never showed");
            tokio::task::yield_now().await;
        };
        assert!((1..64 << 20).contains(&found), "{found}");
        assert_eq!(memory(&other), [None]);
        process.control().kill().await;
    }
}
