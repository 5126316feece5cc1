//! Builds a batch: entries merged one on top of the other, without a worktree.

use serde::Serialize;

use super::CommitText;
use super::forecast::conflicts;
use crate::merge::{ConflictFile, MergeForecast, MergeSides, merge_tree};
use crate::name::{Commit, TreeId};
use crate::shadow::Shadow;
use crate::snapshot::tree_of;
use crate::{Git, GitError};

/// What is to be merged, and what its merge commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchEntry {
    pub head: Commit,
    pub text: CommitText,
}

/// Entries that were merged one on top of the other. Each commit of it can land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    pub base: Commit,
    /// What became of each entry, in the order in which they were given.
    pub members: Vec<BatchMember>,
}

/// What became of an entry. Others are named by their places in the order in which entries were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum BatchMember {
    /// It has a merge commit, whose first parent is that of the member before it, or the base.
    Merged(BatchCommit),
    /// It merges, and changes nothing.
    Unchanged,
    /// The base has all of its commits.
    InBase,
    /// An earlier member has all of its commits, and lands them.
    InMember { member: usize },
    /// It does not merge into the base.
    ConflictsWithBase { files: Vec<ConflictFile> },
    /// It merges into the base, and not on top of an earlier member.
    ConflictsWithMember { member: usize, files: Vec<ConflictFile> },
    /// It has no history in common with the base.
    Unrelated,
    /// The repository does not have its head.
    Missing,
}

/// A commit of a batch, and the tree that is to be tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchCommit {
    pub commit: Commit,
    pub tree: TreeId,
}

impl Batch {
    /// The commits of the batch with the places of their entries, in the order in which they are built.
    pub fn commits(&self) -> impl DoubleEndedIterator<Item = (usize, &BatchCommit)> {
        self.members.iter().enumerate().filter_map(|(place, member)| match member {
            BatchMember::Merged(commit) => Some((place, commit)),
            BatchMember::Unchanged
            | BatchMember::InBase
            | BatchMember::InMember { .. }
            | BatchMember::ConflictsWithBase { .. }
            | BatchMember::ConflictsWithMember { .. }
            | BatchMember::Unrelated
            | BatchMember::Missing => None,
        })
    }

    /// The commit on top of all others, if anything was merged.
    pub fn tip(&self) -> Option<&BatchCommit> {
        self.commits().next_back().map(|(_, commit)| commit)
    }
}

/// A commit of the line on which a batch stands.
struct Built {
    /// The place of its entry; the base has none.
    member: Option<usize>,
    commit: Commit,
    tree: TreeId,
}

impl Git {
    /// Merges entries one on top of the other. One that does not merge is left out, and those after it are merged
    /// without it. The same entries on the same base give the same commits, as long as the user's own settings for
    /// merges are the same.
    pub async fn build_batch(
        &self,
        base: &Commit,
        entries: &[BatchEntry],
    ) -> Result<Batch, GitError> {
        self.check_queue().await?;
        self.check_commit(base).await?;
        let heads: Vec<&Commit> = entries.iter().map(|entry| &entry.head).collect();
        let missing = self.missing(&heads).await?;
        let shadow = Shadow::of_objects(self).await?;
        let tree = tree_of(&shadow, base).await?;
        let mut line = vec![Built { member: None, commit: base.clone(), tree }];
        let mut members = Vec::new();
        for (place, entry) in entries.iter().enumerate() {
            let member = match missing[place] {
                true => BatchMember::Missing,
                false => self.add(&shadow, &line, entry).await?,
            };
            if let BatchMember::Merged(BatchCommit { commit, tree }) = &member {
                let (commit, tree) = (commit.clone(), tree.clone());
                line.push(Built { member: Some(place), commit, tree });
            }
            members.push(member);
        }
        Ok(Batch { base: base.clone(), members })
    }

    /// Merges an entry on top of a line, which begins with the base.
    async fn add(
        &self,
        shadow: &Shadow<'_>,
        line: &[Built],
        entry: &BatchEntry,
    ) -> Result<BatchMember, GitError> {
        let (Some(base), Some(top)) = (line.first(), line.last()) else {
            return Ok(BatchMember::Unchanged);
        };
        let attributes = &base.commit;
        let sides = MergeSides { base: &top.commit, tip: &entry.head, attributes, start: None };
        let tree = match merge_tree(shadow, &sides).await {
            Ok(MergeForecast::Clean { tree }) => tree,
            Ok(MergeForecast::Conflicts { .. }) => return self.locate(line, &entry.head).await,
            Err(GitError::Unrelated { .. }) => return Ok(BatchMember::Unrelated),
            Err(error) => return Err(error),
        };
        if tree == top.tree {
            return self.unchanged(line, &entry.head).await;
        }
        let commit = entry.text.commit(shadow, &tree, &[&top.commit, &entry.head]).await?;
        Ok(BatchMember::Merged(BatchCommit { commit, tree }))
    }

    /// Why a head changes nothing on top of a line.
    async fn unchanged(&self, line: &[Built], head: &Commit) -> Result<BatchMember, GitError> {
        for built in line {
            if self.contains(&built.commit, head).await? {
                return Ok(match built.member {
                    None => BatchMember::InBase,
                    Some(member) => BatchMember::InMember { member },
                });
            }
        }
        Ok(BatchMember::Unchanged)
    }

    /// Finds the first commit of a line on which a head does not merge.
    async fn locate(&self, line: &[Built], head: &Commit) -> Result<BatchMember, GitError> {
        let wrong = || GitError::unexpected("merge-tree", b"the conflict is gone");
        let base = line.first().ok_or_else(wrong)?;
        let shadow = Shadow::of_passing_objects(self).await?;
        let pairs = line.iter().map(|built| (&built.commit, head));
        let found = conflicts(&shadow, &base.commit, pairs).await?;
        let at = found.iter().position(|files| !files.is_empty()).ok_or_else(wrong)?;
        let (attributes, start) = (&base.commit, None);
        let sides = MergeSides { base: &line[at].commit, tip: head, attributes, start };
        let MergeForecast::Conflicts { files } = merge_tree(&shadow, &sides).await? else {
            return Err(wrong());
        };
        Ok(match line[at].member {
            None => BatchMember::ConflictsWithBase { files },
            Some(member) => BatchMember::ConflictsWithMember { member, files },
        })
    }
}
