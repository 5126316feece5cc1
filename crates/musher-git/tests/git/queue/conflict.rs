//! Merges of more than lines: renames, deletions, modes, links and submodules.

use std::fs;
use std::os::unix::fs::symlink;

use musher_git::Commit;
use musher_git::queue::BatchMember;

use super::super::lab::{Lab, make_executable};
use super::{build, files_of, tip};

/// A commit that changes the main checkout in any way, on a branch of its own.
fn branch_by(lab: &Lab, name: &str, change: impl FnOnce()) -> Commit {
    lab.git(["switch", "-q", "-c", name, "main"]);
    change();
    let commit = lab.commit(name);
    lab.git(["switch", "-q", "main"]);
    commit
}

#[tokio::test]
async fn rename_against_edit() {
    let lab = Lab::new();
    lab.write("long", "line\n".repeat(30) + "end\n");
    lab.commit("long");
    let moved = branch_by(&lab, "moved", || {
        lab.git(["mv", "long", "elsewhere"]);
    });
    let edited = branch_by(&lab, "edited", || lab.write("long", "line\n".repeat(30) + "new end\n"));
    let git = lab.open().await;
    let batch = build(&git, &lab.tip("main"), &[&moved, &edited]).await;
    let commit = tip(&batch).commit;
    assert_eq!(batch.commits().count(), 2, "{batch:?}");
    assert!(lab.text_of(&commit, "elsewhere").ends_with("new end"));
    assert!(!lab.files_of(&commit).contains(&"long".to_owned()));
}

#[tokio::test]
async fn delete_against_edit() {
    let lab = Lab::new();
    let deleted = branch_by(&lab, "deleted", || fs::remove_file(lab.repo().join("a.txt")).unwrap());
    let edited = lab.branch_with("edited", &[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let git = lab.open().await;
    let batch = build(&git, &lab.tip("main"), &[&deleted, &edited]).await;
    assert!(matches!(batch.members[1], BatchMember::ConflictsWithMember { member: 0, .. }));
    assert_eq!(files_of(&batch.members[1]), ["a.txt"]);
}

#[tokio::test]
async fn mode_and_symlink_changes() {
    let lab = Lab::new();
    let file = |name: &str| lab.repo().join(name);
    let mode = branch_by(&lab, "mode", || make_executable(&file("a.txt")));
    let link = branch_by(&lab, "link", || {
        fs::remove_file(file("dir/b.txt")).unwrap();
        symlink("../a.txt", file("dir/b.txt")).unwrap();
    });
    let edit = lab.branch_with("edit", &[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let under_link = lab.branch_with("under", &[("dir/b.txt", "edited\n")]);
    let git = lab.open().await;
    let batch = build(&git, &lab.tip("main"), &[&mode, &link, &edit, &under_link]).await;
    let commit = tip(&batch).commit;
    let listed = lab.git(["ls-tree", "-r", commit.as_str(), "a.txt", "dir/b.txt"]);
    assert!(listed.contains("100755") && listed.contains("120000"), "{listed}");
    assert!(lab.text_of(&commit, "a.txt").ends_with("four"), "mode and text are merged");
    assert!(matches!(batch.members[3], BatchMember::ConflictsWithMember { member: 1, .. }));
}

#[tokio::test]
async fn submodule_pointer_conflict() {
    let lab = Lab::new();
    let pointed = |name: &str, at: &str| {
        branch_by(&lab, name, || {
            let entry = format!("160000,{},module", at.repeat(40));
            lab.git(["update-index", "--add", "--cacheinfo", &entry]);
            // The folder is there, as after a clone, and says nothing.
            fs::create_dir_all(lab.repo().join("module")).unwrap();
        })
    };
    let git = lab.open().await;
    let start = pointed("start", "1");
    lab.git(["merge", "-q", "--ff-only", "start"]);
    assert_eq!(lab.tip("main"), start);
    let (two, three) = (pointed("two", "2"), pointed("three", "3"));
    let batch = build(&git, &start, &[&two, &three]).await;
    assert!(matches!(batch.members[0], BatchMember::Merged(_)), "{batch:?}");
    assert!(matches!(batch.members[1], BatchMember::ConflictsWithMember { member: 0, .. }));
    assert_eq!(files_of(&batch.members[1]), ["module"]);
}
