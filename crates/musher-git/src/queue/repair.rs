//! Looks over a merge that an agent made to resolve conflicts: nothing may be lost that only one side had.
//!
//! What git merges by itself is known before: the agent's merge must be the same but for the files that do not merge, or
//! that both sides changed. In those no rule can tell what is right, so the lines of each side that are gone are shown.

mod lines;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::lines::{Versions, compare};
use crate::call::WRITE_CALL_TIMEOUT;
use crate::merge::pending::{TreeChanges, TreeEntry};
use crate::name::{Commit, TreeId};
use crate::path::GitPath;
use crate::shadow::Shadow;
use crate::{Git, GitError};

/// How many starts of a criss-cross history are looked at.
const MAX_MERGE_BASES: usize = 16;

/// What was found in a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RepairReport {
    /// It is refused if there are any.
    pub faults: Vec<RepairFault>,
    /// The files that no rule can judge.
    pub both_changed: Vec<BothChanged>,
}

/// What is wrong with a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum RepairFault {
    /// The old head is not in its history: commits were rewritten, as by a rebase.
    OldHeadLost,
    /// The base commit that was named is not in its history.
    BaseNotMerged,
    /// Only the story changed this file, and it is not as the story has it.
    StoryFileDiffers { path: GitPath },
    /// Only the base changed this file, and it is not as the base has it.
    BaseFileDiffers { path: GitPath },
    /// Neither side changed this file.
    UntouchedFileDiffers { path: GitPath },
    /// A conflict marker was left.
    ConflictMarkers { path: GitPath, line: usize },
}

/// A file that both sides changed and that git does not merge, or that is not as git merges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BothChanged {
    pub path: GitPath,
    /// Lines that the story wrote and that are gone.
    pub story_lines_gone: Vec<String>,
    /// Lines that the base wrote and that are gone.
    pub base_lines_gone: Vec<String>,
    /// It is no text, a link or another repository, or there are more lines than are told.
    pub incomplete: bool,
}

impl RepairReport {
    /// Whether nothing is wrong by any rule; files that both sides changed may still need a look.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether lines of a side are gone, or cannot be compared.
    pub fn needs_review(&self) -> bool {
        self.both_changed.iter().any(|file| {
            file.incomplete || !file.story_lines_gone.is_empty() || !file.base_lines_gone.is_empty()
        })
    }
}

impl Git {
    /// Looks over a repair: the branch was at `old_head`, `base` was to be merged into it, and it is at `new_head` now.
    pub async fn check_repair(
        &self,
        old_head: &Commit,
        base: &Commit,
        new_head: &Commit,
    ) -> Result<RepairReport, GitError> {
        self.check_queue().await?;
        for commit in [old_head, base, new_head] {
            self.check_commit(commit).await?;
        }
        let mut report = RepairReport::default();
        if !self.contains(new_head, old_head).await? {
            report.faults.push(RepairFault::OldHeadLost);
        }
        if !self.contains(new_head, base).await? {
            report.faults.push(RepairFault::BaseNotMerged);
        }
        if !report.is_sound() {
            return Ok(report);
        }
        let shadow = Shadow::of_passing_objects(self).await?;
        let starts = merge_bases(&shadow, old_head, base).await?;
        let story = Side::of(&shadow, &starts, old_head).await?;
        let other = Side::of(&shadow, &starts, base).await?;
        let by_git = AutoMerge::of(&shadow, old_head, base).await?;
        let differs = TreeChanges::of(&shadow, by_git.tree.as_str(), new_head.as_str()).await?;
        let result = TreeChanges::of(&shadow, starts[0].as_str(), new_head.as_str()).await?;
        let mut unclear: BTreeSet<&Vec<u8>> = by_git.conflicts.keys().collect();
        for path in differs.by_path.keys().filter(|path| !by_git.conflicts.contains_key(*path)) {
            let file = GitPath::new(path.clone());
            match (story.paths.contains(path), other.paths.contains(path)) {
                (true, true) => {
                    unclear.insert(path);
                }
                (true, false) => {
                    report.faults.push(RepairFault::StoryFileDiffers { path: file });
                }
                (false, true) => {
                    report.faults.push(RepairFault::BaseFileDiffers { path: file });
                }
                (false, false) => {
                    report.faults.push(RepairFault::UntouchedFileDiffers { path: file });
                }
            }
        }
        let mut files = Vec::new();
        for path in unclear {
            let before = story.at_start(path).or_else(|| other.at_start(path));
            let [start, ours, theirs] = match by_git.conflicts.get(path) {
                Some(stages) => stages.clone(),
                None => [before.cloned(), story.now(path), other.now(path)],
            };
            let result = match result.by_path.get(path) {
                Some(change) => change.new.clone(),
                None => before.cloned(),
            };
            files.push((GitPath::new(path.clone()), Versions { start, ours, theirs, result }));
        }
        let (faults, both_changed) = compare(&shadow, files).await?;
        report.faults.extend(faults);
        report.both_changed = both_changed;
        Ok(report)
    }
}

/// Where two lines of commits parted; there are several if they were merged into each other.
async fn merge_bases(
    shadow: &Shadow<'_>,
    one: &Commit,
    other: &Commit,
) -> Result<Vec<Commit>, GitError> {
    let call = shadow.call().args(["merge-base", "--all", one.as_str(), other.as_str()]);
    let output = call.fine(&[0, 1]).run().await?;
    let list = String::from_utf8_lossy(&output.stdout);
    let found: Result<Vec<Commit>, _> =
        list.lines().take(MAX_MERGE_BASES).map(Commit::new).collect();
    match found? {
        found if found.is_empty() => {
            Err(GitError::Unrelated { base: other.clone(), tip: one.clone() })
        }
        found => Ok(found),
    }
}

/// What one side changed.
struct Side {
    /// Since the first start.
    changes: TreeChanges,
    /// Since any of them: where starts disagree, no rule can tell whose change it is.
    paths: BTreeSet<Vec<u8>>,
}

impl Side {
    async fn of(shadow: &Shadow<'_>, starts: &[Commit], tip: &Commit) -> Result<Self, GitError> {
        let changes = TreeChanges::of(shadow, starts[0].as_str(), tip.as_str()).await?;
        let mut paths: BTreeSet<Vec<u8>> = changes.by_path.keys().cloned().collect();
        for start in &starts[1..] {
            let more = TreeChanges::of(shadow, start.as_str(), tip.as_str()).await?;
            paths.extend(more.by_path.into_keys());
        }
        Ok(Self { changes, paths })
    }

    /// What was at a path at the start, if this side changed it.
    fn at_start(&self, path: &[u8]) -> Option<&TreeEntry> {
        self.changes.by_path.get(path)?.old.as_ref()
    }

    /// What this side has at a path that it changed.
    fn now(&self, path: &[u8]) -> Option<TreeEntry> {
        self.changes.by_path.get(path)?.new.clone()
    }
}

/// What git merges by itself.
struct AutoMerge {
    tree: TreeId,
    /// The files that do not merge: at the start, in the story, in the base. Renames are followed.
    conflicts: BTreeMap<Vec<u8>, [Option<TreeEntry>; 3]>,
}

impl AutoMerge {
    async fn of(shadow: &Shadow<'_>, story: &Commit, base: &Commit) -> Result<Self, GitError> {
        let call = shadow.call().args(["merge-tree", "--write-tree", "-z", "--no-messages"]);
        let call = call.args([story.as_str(), base.as_str()]).limit(WRITE_CALL_TIMEOUT);
        let call = call.env("GIT_ATTR_SOURCE", base.as_str()).fine(&[0, 1]);
        parse(&call.run().await?.stdout)
    }
}

/// Reads the tree, then the versions of each file that does not merge.
fn parse(output: &[u8]) -> Result<AutoMerge, GitError> {
    let wrong = || GitError::unexpected("merge-tree", output);
    let mut fields = output.split(|byte| *byte == 0);
    let tree = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    let tree = TreeId::new(tree).map_err(|_| wrong())?;
    let mut conflicts: BTreeMap<Vec<u8>, [Option<TreeEntry>; 3]> = BTreeMap::new();
    for field in fields.take_while(|field| !field.is_empty()) {
        let tab = field.iter().position(|byte| *byte == b'\t').ok_or_else(wrong)?;
        let words: Vec<&[u8]> = field[..tab].split(|byte| *byte == b' ').collect();
        let [mode, object, [stage @ b'1'..=b'3']] = words.as_slice() else {
            return Err(wrong());
        };
        let versions = conflicts.entry(field[tab + 1..].to_vec()).or_default();
        let entry = TreeEntry { mode: mode.to_vec(), object: object.to_vec() };
        versions[usize::from(stage - b'1')] = Some(entry);
    }
    Ok(AutoMerge { tree, conflicts })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_read_by_their_side() {
        let id = "a".repeat(40);
        let output = format!("{id}\x00100644 b 1\tx y\x00100755 c 3\tx y\0");
        let merge = parse(output.as_bytes()).unwrap();
        let [start, ours, theirs] = &merge.conflicts[&b"x y"[..]];
        assert_eq!(start.as_ref().unwrap().object, b"b");
        assert!(ours.is_none());
        assert_eq!(theirs.as_ref().unwrap().mode, b"100755");
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes).ok();
            parse(&[&[b'a'; 40][..], &[0], &bytes].concat()).ok();
        }
    }
}
