//! The git half of the merge queue, with real repositories.

mod batch;
mod blame;
mod check;
mod conflict;
mod crash;
mod forecast;
mod hardened;
mod land;
mod notes;
mod remote;
mod repair;
mod revert;
mod scale;

use musher_git::queue::{
    Batch, BatchCommit, BatchEntry, BatchMember, CommitText, Landing, UnixSeconds,
};
use musher_git::{Commit, Git};

use super::lab::{Lab, author, branch};

fn text(message: &str) -> CommitText {
    let date = UnixSeconds(1_700_000_000);
    CommitText { message: message.to_owned(), author: author(), date }
}

fn entry(head: &Commit) -> BatchEntry {
    BatchEntry { head: head.clone(), text: text(&format!("Merge {}", head.short())) }
}

async fn build(git: &Git, base: &Commit, heads: &[&Commit]) -> Batch {
    let entries: Vec<BatchEntry> = heads.iter().map(|head| entry(head)).collect();
    git.build_batch(base, &entries).await.unwrap()
}

/// The one commit of a batch that has one.
fn tip(batch: &Batch) -> BatchCommit {
    batch.tip().unwrap_or_else(|| panic!("{batch:?}")).clone()
}

fn landing(base: &Commit, tested: &BatchCommit) -> Landing {
    let BatchCommit { commit, tree } = tested.clone();
    Landing { branch: branch("main"), base: base.clone(), commit, tree }
}

/// A batch of one on `main`, ready to land.
async fn ready(lab: &Lab, git: &Git, head: &Commit) -> Landing {
    let base = lab.tip("main");
    landing(&base, &tip(&build(git, &base, &[head]).await))
}

/// The files of a conflict, for comparisons.
fn files_of(member: &BatchMember) -> Vec<String> {
    let (BatchMember::ConflictsWithBase { files } | BatchMember::ConflictsWithMember { files, .. }) =
        member
    else {
        panic!("{member:?}")
    };
    files.iter().map(|file| file.path.to_string()).collect()
}

/// Everything that the main checkout holds, to see that nothing was changed.
fn untouched(lab: &Lab) -> (String, String, String) {
    let index = lab.git(["ls-files", "--stage"]);
    (lab.git(["for-each-ref"]), lab.git(["status", "--porcelain", "--ignored"]), index)
}
