//! Snapshots and commits of everything in a folder.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use musher_git::Commit;

use super::lab::{Lab, SLOT, author, branch, from_main, kept, make_executable, rel, write};

/// Every kind of change that an agent can leave.
fn wild_work(lab: &Lab, at: &Path) {
    write(at, "a.txt", "changed\n");
    write(at, "staged.txt", "staged\n");
    lab.git_in(at, ["add", "staged.txt"]);
    write(at, "staged.txt", "and changed again\n");
    fs::remove_file(at.join("dir/b.txt")).unwrap();
    write(at, "binary", [0, 159, 146, 150, 0]);
    write(at, "run.sh", "#!/bin/sh\n");
    make_executable(&at.join("run.sh"));
    std::os::unix::fs::symlink("/etc/passwd", at.join("link")).unwrap();
    write(at, "noise.log", "ignored\n");
    fs::write(at.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \n name")), "odd\n").unwrap();
    write(at, "-x", "looks like an option\n");
    write(at, ":(top)a", "looks like magic\n");
}

fn assert_is_wild_work(lab: &Lab, commit: &Commit) {
    assert_eq!(lab.text_of(commit, "a.txt"), "changed");
    assert_eq!(lab.text_of(commit, "staged.txt"), "and changed again");
    assert_eq!(lab.text_of(commit, "-x"), "looks like an option");
    let tree = lab.git(["ls-tree", "-r", commit.as_str()]);
    assert!(tree.contains("100755 blob") && tree.contains("120000 blob"), "{tree}");
    assert!(tree.contains(r#""caf\351 \n name""#) && tree.contains("binary"), "{tree}");
    assert!(!tree.contains("noise.log") && !tree.contains("b.txt"), "{tree}");
}

#[tokio::test]
async fn a_snapshot_holds_everything_and_changes_nothing() {
    let lab = Lab::new();
    let git = lab.open().await;
    let at = lab.repo();
    wild_work(&lab, &at);
    let index = fs::read(at.join(".git/index")).unwrap();
    let (status, head) = (lab.git(["status", "--porcelain"]), lab.tip("HEAD"));
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_is_wild_work(&lab, &snapshot);
    assert_eq!(lab.tip(&format!("{snapshot}^")), head);
    assert_eq!(lab.tip("HEAD"), head);
    assert_eq!(fs::read(at.join(".git/index")).unwrap(), index);
    assert_eq!(lab.git(["status", "--porcelain"]), status);
    let left = fs::read_dir(lab.path("scratch")).unwrap().flatten();
    let left = left.filter(|entry| !entry.file_name().to_string_lossy().starts_with("repo-"));
    assert_eq!(left.count(), 0, "nothing but what the handle itself needs");
}

#[tokio::test]
async fn files_that_became_folders_and_folders_that_became_files_are_kept() {
    let lab = Lab::new();
    let git = lab.open().await;
    fs::remove_file(lab.repo().join("a.txt")).unwrap();
    lab.write("a.txt/inside", "x\n");
    fs::remove_dir_all(lab.repo().join("dir")).unwrap();
    lab.write("dir", "now a file\n");
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.files_of(&snapshot), [".gitignore", "a.txt/inside", "dir"]);
}

#[tokio::test]
async fn repositories_inside_the_folder_are_kept_as_files() {
    let lab = Lab::new();
    let git = lab.open().await;
    let at = lab.repo();
    lab.git(["init", "-q", "inner"]);
    write(&at, "inner/x", "x\n");
    write(&at, "inner/.gitignore", "heavy\n");
    write(&at, "inner/heavy", "ignored\n");
    lab.git(["init", "-q", "inner/deeper"]);
    write(&at, "inner/deeper/y", "y\n");
    lab.git(["init", "-q", "committed"]);
    write(&at, "committed/z", "z\n");
    lab.commit_in(&at.join("committed"), "inside");
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    let files = lab.files_of(&snapshot);
    for file in ["inner/x", "inner/.gitignore", "inner/deeper/y", "committed/z"] {
        assert!(files.contains(&file.to_owned()), "{file} is not in {files:?}");
    }
    assert!(!files.contains(&"inner/heavy".to_owned()));
}

#[tokio::test]
async fn files_that_may_not_be_read_are_kept() {
    let lab = Lab::new();
    let git = lab.open().await;
    lab.write("closed", "x\n");
    fs::set_permissions(lab.repo().join("closed"), PermissionsExt::from_mode(0o000)).unwrap();
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.text_of(&snapshot, "closed"), "x");
}

#[tokio::test]
async fn changes_that_the_index_hides_are_kept() {
    let lab = Lab::new();
    let git = lab.open().await;
    lab.git(["update-index", "--assume-unchanged", "a.txt"]);
    lab.git(["update-index", "--skip-worktree", "dir/b.txt"]);
    lab.write("a.txt", "hidden\n");
    lab.write("dir/b.txt", "hidden too\n");
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.text_of(&snapshot, "a.txt"), "hidden");
    assert_eq!(lab.text_of(&snapshot, "dir/b.txt"), "hidden too");
}

#[tokio::test]
async fn a_torn_index_and_a_split_one_lose_nothing() {
    let lab = Lab::new();
    let git = lab.open().await;
    lab.git(["update-index", "--split-index"]);
    lab.write("new", "x\n");
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.files_of(&snapshot), [".gitignore", "a.txt", "dir/b.txt", "new"]);
    lab.write(".git/index", "torn");
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.files_of(&snapshot), [".gitignore", "a.txt", "dir/b.txt", "new"]);
}

#[tokio::test]
async fn files_outside_of_a_sparse_checkout_are_not_taken_for_deleted() {
    let lab = Lab::new();
    lab.write("other/c.txt", "c\n");
    lab.commit("more");
    lab.git(["sparse-checkout", "set", "dir"]);
    assert!(!lab.repo().join("other").exists());
    let slots = lab.slots().await;
    lab.write("dir/new", "x\n");
    let git = lab.open().await;
    let all = [".gitignore", "a.txt", "dir/b.txt", "dir/new", "other/c.txt"];
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    assert_eq!(lab.files_of(&snapshot), all);
    let story = branch("musher/story/1");
    for fresh in [true, false] {
        let ready = slots.prepare(SLOT, &story, &from_main()).await.unwrap();
        assert_eq!(ready.fresh, fresh);
        assert!(!ready.path.join("other").exists(), "a slot is as sparse as the checkout");
        write(&ready.path, "dir/new", "x\n");
        assert_eq!(lab.files_of(&slots.snapshot(SLOT).await.unwrap()), all);
    }
}

#[tokio::test]
async fn an_unresolved_merge_is_kept_with_its_marks() {
    let lab = Lab::new();
    lab.branch_with("other", &[("a.txt", "theirs\n")]);
    lab.write("a.txt", "ours\n");
    lab.commit("ours");
    let git = lab.open().await;
    lab.try_git(&lab.repo(), ["merge", "other"]);
    let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
    let text = lab.text_of(&snapshot, "a.txt");
    assert!(text.contains("<<<<<<<") && text.contains("theirs"), "{text}");
    assert_eq!(lab.git(["diff", "--name-only", "--diff-filter=U"]), "a.txt");
}

#[tokio::test]
async fn everything_is_committed_once_and_then_there_is_nothing() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    assert_eq!(slots.finish(SLOT, &story, "nothing", &author()).await.unwrap(), None);
    wild_work(&lab, &at);
    // A killed agent leaves its lock, and a hook of the person's would refuse everything.
    write(&lab.repo(), ".git/worktrees/1/index.lock", "");
    write(&lab.repo(), ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    make_executable(&lab.repo().join(".git/hooks/pre-commit"));
    lab.git(["config", "commit.gpgSign", "true"]);
    let message = "a title\n\n-x --amend\nüñí\0";
    let commit = slots.finish(SLOT, &story, message, &author()).await.unwrap().unwrap();
    assert_is_wild_work(&lab, &commit);
    assert_eq!(lab.tip("musher/story/1"), commit);
    assert_eq!(lab.git_in(&at, ["status", "--porcelain"]), "");
    assert_eq!(
        lab.git(["log", "-1", "--format=%an %ae %s", commit.as_str()]),
        "Ada ada@example.org a title"
    );
    assert_eq!(slots.finish(SLOT, &story, "again", &author()).await.unwrap(), None);
}

#[tokio::test]
async fn copied_files_go_into_no_commit() {
    let lab = Lab::new();
    let git = lab.open().await;
    lab.write(".env", "SECRET=1\n");
    lab.write("new", "x\n");
    let snapshot = git.snapshot(&git.main(), &[rel(".env")]).await.unwrap();
    assert_eq!(lab.files_of(&snapshot), [".gitignore", "a.txt", "dir/b.txt", "new"]);
}

#[tokio::test]
async fn promise_12_a_removed_worktree_leaves_its_work_on_a_recovery_ref() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    lab.commit_in(&at, "the agent's own commit");
    wild_work(&lab, &at);
    let kept = slots.remove(SLOT, &kept("story/1")).await.unwrap().unwrap();
    assert_eq!(kept.name, "refs/musher/recovery/story/1");
    assert_is_wild_work(&lab, &lab.tip("refs/musher/recovery/story/1"));
    assert!(!at.exists());
    assert_eq!(lab.git(["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn a_name_that_is_taken_never_loses_what_it_keeps() {
    let lab = Lab::new();
    let git = lab.open().await;
    let first = lab.tip("HEAD");
    let second = lab.commit("second");
    let name = kept("story/1");
    let one = git.recovery_ref(&name, &first).await.unwrap();
    assert_eq!(git.recovery_ref(&name, &first).await.unwrap(), one);
    let two = git.recovery_ref(&name, &second).await.unwrap();
    assert_eq!(two.name, "refs/musher/recovery/story/1-2");
    // A name that is a folder of other names.
    let three = git.recovery_ref(&kept("story"), &second).await.unwrap();
    assert_eq!(three.name, "refs/musher/recovery/story-2");
    assert_eq!(git.recovery_refs().await.unwrap().len(), 3);
}
