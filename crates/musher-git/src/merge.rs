//! Merges a commit into a branch without conflicts, whole or not at all.

pub(super) mod files;
pub(super) mod pending;

use serde::Serialize;

use super::error::{FirstFiles, GitError};
use super::hold::Hold;
use super::name::{Author, Branch, Commit, TreeId};
use super::path::GitPath;
use super::refs::Expected;
use super::shadow::Shadow;
use super::snapshot::{commit_tree, tree_of};
use super::{Checkout, Git};
use musher_os::fail;

/// How often a merge is begun anew because its branch was moved meanwhile.
const TRIES: u32 = 5;

/// Whether a commit would merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum MergeForecast {
    Clean { tree: TreeId },
    Conflicts { files: Vec<ConflictFile> },
}

/// A file that does not merge, and what git says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConflictFile {
    pub path: GitPath,
    pub messages: Vec<String>,
}

/// What became of a merge that was not refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Merged {
    /// The branch has a new commit.
    Merged(MadeMerge),
    /// The branch already had everything.
    Nothing { tip: Commit },
}

/// A merge that was made and looked over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MadeMerge {
    /// The new tip of the branch.
    pub commit: Commit,
    /// The tip before it.
    pub base: Commit,
    /// What was merged.
    pub tip: Commit,
    pub tree: TreeId,
}

impl Git {
    /// Whether `tip` would merge into `base`; nothing is changed.
    pub async fn merge_check(
        &self,
        base: &Commit,
        tip: &Commit,
    ) -> Result<MergeForecast, GitError> {
        let shadow = Shadow::of_objects(self).await?;
        merge_tree(&shadow, &MergeSides::of(base, tip)).await
    }

    /// Merges `tip` into a branch with a commit of its own, and brings along the files of the checkout that is on the
    /// branch. Conflicts, uncommitted changes there, and files in the way are refused before anything is changed.
    pub async fn merge(
        &self,
        into: &Branch,
        tip: &Commit,
        message: &str,
        author: &Author,
    ) -> Result<Merged, GitError> {
        let _turn = self.inner.merging.acquire().await;
        let hold = self.hold("merge").await?;
        self.undo_held(&hold).await?;
        self.check_commit(tip).await?;
        let mut tries = 1;
        loop {
            match self.try_merge(&hold, into, tip, message, author).await {
                Err(error) if error.is_retryable() && tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }

    async fn try_merge(
        &self,
        hold: &Hold,
        into: &Branch,
        tip: &Commit,
        message: &str,
        author: &Author,
    ) -> Result<Merged, GitError> {
        let base = self.resolve(into).await?;
        if self.contains(&base, tip).await? {
            return Ok(Merged::Nothing { tip: base });
        }
        let shadow = Shadow::of_objects(self).await?;
        let tree = match merge_tree(&shadow, &MergeSides::of(&base, tip)).await? {
            MergeForecast::Clean { tree } => tree,
            MergeForecast::Conflicts { files } => {
                let (branch, tip) = (into.clone(), tip.clone());
                return Err(GitError::Conflicts { branch, tip, files });
            }
        };
        let holder = self.checkout_on(into).await?;
        let commit = commit_tree(&shadow, &tree, &[&base, tip], message, author).await?;
        if let Some(checkout) = &holder {
            self.bring_files(checkout, hold, into, &base, (&commit, &tree)).await?;
        }
        fail::point("merge_files");
        let at = holder.clone().unwrap_or_else(|| self.main());
        let why = format!("musher: merge {}", tip.short());
        let moved = self.move_ref(&at, &into.full(), &commit, Expected::At(&base), &why).await;
        if let Err(error) = moved {
            if let Some(checkout) = &holder {
                self.take_files_back(checkout, hold, &base, &commit).await?;
                self.forget_merge()?;
            }
            return Err(error);
        }
        fail::point("merge_moved");
        self.forget_merge()?;
        let merge = MadeMerge { commit, base, tip: tip.clone(), tree };
        self.verify(into, &merge, holder.as_ref()).await?;
        self.settle().await?;
        Ok(Merged::Merged(merge))
    }

    /// The checkout that is on a branch, if there is one.
    pub(super) async fn checkout_on(&self, branch: &Branch) -> Result<Option<Checkout>, GitError> {
        match self.holder(branch).await? {
            Some(path) => {
                let found = self.checkout_at(&path);
                Ok(Some(found.ok_or(GitError::NoWorktree { path })?))
            }
            None => Ok(None),
        }
    }

    /// Looks over a merge that was just made.
    async fn verify(
        &self,
        into: &Branch,
        merge: &MadeMerge,
        holder: Option<&Checkout>,
    ) -> Result<(), GitError> {
        let wrong = |why: String| {
            Err(GitError::Unverified { branch: into.clone(), tip: merge.tip.clone(), why })
        };
        let MadeMerge { commit, base, tip, tree } = merge;
        let now = self.resolve(into).await?;
        if now != *commit && !self.contains(&now, commit).await? {
            return wrong(format!("the branch is at {now}"));
        }
        let shadow = Shadow::of_objects(self).await?;
        let call = shadow.call().args(["rev-list", "--no-walk", "--parents", commit.as_str()]);
        let parents = call.line().await?;
        if parents != format!("{commit} {base} {tip}") {
            return wrong(format!("its parents are {parents}"));
        }
        let there = tree_of(&shadow, commit).await?;
        if there != *tree {
            return wrong(format!("its tree is {there}"));
        }
        let Some(checkout) = holder.filter(|_| now == *commit) else {
            return Ok(());
        };
        let status = self.status(checkout).await?;
        let files: FirstFiles = status.known_changes().map(|entry| entry.path().clone()).collect();
        match files.named.is_empty() {
            true => Ok(()),
            false => wrong(format!("{} differs from it in {files}", checkout.root.display())),
        }
    }
}

/// What is merged into what.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeSides<'a> {
    pub(super) base: &'a Commit,
    pub(super) tip: &'a Commit,
    /// The commit whose `.gitattributes` say how files are merged; never those of the one that is merged.
    pub(super) attributes: &'a Commit,
    /// Where the two parted, if it is not for git to find out.
    pub(super) start: Option<&'a Commit>,
}

impl<'a> MergeSides<'a> {
    fn of(base: &'a Commit, tip: &'a Commit) -> Self {
        Self { base, tip, attributes: base, start: None }
    }
}

/// Merges two commits into a tree, which is written.
pub(super) async fn merge_tree(
    shadow: &Shadow<'_>,
    sides: &MergeSides<'_>,
) -> Result<MergeForecast, GitError> {
    let MergeSides { base, tip, attributes, start } = *sides;
    let call = shadow.call().args(["merge-tree", "--write-tree", "-z", "--name-only"]);
    let start = start.map(|start| format!("--merge-base={start}"));
    let call = call.args(start).args(["--messages", "--end-of-options", base.as_str()]);
    let call = call.arg(tip.as_str()).env("GIT_ATTR_SOURCE", attributes.as_str());
    let call = call.limit(super::call::WRITE_CALL_TIMEOUT);
    match call.fine(&[0, 1]).run().await {
        Ok(output) => parse(&output.stdout, output.code == 0),
        Err(GitError::Failed { said, .. }) if said.contains("unrelated histories") => {
            Err(GitError::Unrelated { base: base.clone(), tip: tip.clone() })
        }
        Err(error) => Err(error),
    }
}

/// Reads the tree, then the files that do not merge, then what is said of them.
fn parse(output: &[u8], clean: bool) -> Result<MergeForecast, GitError> {
    let wrong = || GitError::unexpected("merge-tree", output);
    let text = |field: &[u8]| String::from_utf8_lossy(field).trim_end().to_owned();
    let mut fields = output.split(|b| *b == 0);
    let tree = TreeId::new(text(fields.next().unwrap_or_default())).map_err(|_| wrong())?;
    if clean {
        return Ok(MergeForecast::Clean { tree });
    }
    let mut files: Vec<ConflictFile> = Vec::new();
    for name in fields.by_ref().take_while(|name| !name.is_empty()) {
        files.push(ConflictFile { path: GitPath::new(name), messages: Vec::new() });
    }
    while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
        let count: usize = text(count).parse().map_err(|_| wrong())?;
        let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
        let (kind, message) = (fields.next(), fields.next().ok_or_else(wrong)?);
        // Git also tells of files that it merged by itself.
        if kind.is_some_and(|kind| kind.starts_with(b"Auto-merging")) {
            continue;
        }
        for file in &mut files {
            if paths.contains(&file.path.as_bytes()) {
                file.messages.push(text(message));
            }
        }
    }
    Ok(MergeForecast::Conflicts { files })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn conflicts_are_read_with_what_is_said_of_them() {
        let oid = "a".repeat(40);
        let output = format!(
            "{oid}\0a b\0c\n\0\x001\0a b\0Auto-merging\0Auto-merging a b\n\x001\0a b\0CONFLICT (contents)\0CONFLICT in a b\n\0"
        );
        let MergeForecast::Conflicts { files } = parse(output.as_bytes(), false).unwrap() else {
            panic!("{output:?}");
        };
        assert_eq!(files[0].path.as_bytes(), b"a b");
        assert_eq!(files[0].messages, ["CONFLICT in a b"]);
        assert_eq!(files[1].path.as_bytes(), b"c\n");
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), clean: bool) {
            parse(&bytes, clean).ok();
            let led = [&[b'a'; 40][..], &[0], &bytes].concat();
            parse(&led, clean).ok();
        }
    }
}
