//! Diffs as typed values.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use musher_git::{DiffLimits, FileStatus, GitError, GitFileDiff, LineKind};

use super::lab::{Lab, SLOT, branch, from_main, write};

async fn diff_of(lab: &Lab, tip: &str) -> Vec<GitFileDiff> {
    let git = lab.open().await;
    let diff = git.diff(&lab.tip("main"), &lab.tip(tip), DiffLimits::default()).await.unwrap();
    assert!(!diff.truncated);
    diff.files
}

fn named<'a>(files: &'a [GitFileDiff], path: &str) -> &'a GitFileDiff {
    files.iter().find(|file| file.path.to_string() == path).unwrap()
}

#[tokio::test]
async fn every_kind_of_change_has_its_type() {
    let lab = Lab::new();
    let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
    lab.write("moved.txt", &long);
    lab.write("script", "#!/bin/sh\n");
    lab.write("turns", "a file\n");
    lab.write("gone", "was here\n");
    lab.commit("more");
    lab.git(["switch", "-q", "-c", "work"]);
    let at = lab.repo();
    lab.write("a.txt", "one\n2\nthree\nfour");
    lab.git(["mv", "moved.txt", "there.txt"]);
    lab.write("there.txt", long.replace("line 7\n", "seven\n"));
    std::fs::set_permissions(at.join("script"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::remove_file(at.join("turns")).unwrap();
    std::os::unix::fs::symlink("a.txt", at.join("turns")).unwrap();
    std::fs::remove_file(at.join("gone")).unwrap();
    lab.write("picture", [0, 1, 2, 255]);
    lab.write("latin", b"caf\xe9\n");
    std::fs::write(at.join(std::ffi::OsStr::from_bytes(b"n\xe9w\t\n")), "x\n").unwrap();
    lab.commit("work");
    let files = diff_of(&lab, "work").await;

    let changed = named(&files, "a.txt");
    assert_eq!((changed.status, changed.added, changed.removed), (FileStatus::Modified, 2, 1));
    let [hunk] = &changed.hunks[..] else { panic!("{changed:?}") };
    assert_eq!((hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines), (1, 3, 1, 4));
    let lines: Vec<_> =
        hunk.lines.iter().map(|line| (line.kind, &*line.text, line.no_newline)).collect();
    assert_eq!(
        lines,
        [
            (LineKind::Context, "one", false),
            (LineKind::Removed, "two", false),
            (LineKind::Added, "2", false),
            (LineKind::Context, "three", false),
            (LineKind::Added, "four", true),
        ]
    );

    let renamed = named(&files, "there.txt");
    assert_eq!(renamed.status, FileStatus::Renamed);
    assert_eq!(renamed.old_path.as_ref().unwrap().to_string(), "moved.txt");
    assert_eq!((renamed.added, renamed.removed), (1, 1));

    let mode = named(&files, "script");
    assert_eq!((&*mode.old_mode, &*mode.new_mode), ("100644", "100755"));
    assert!(mode.hunks.is_empty());

    let turned = named(&files, "turns");
    assert_eq!(turned.status, FileStatus::TypeChanged);
    assert_eq!(turned.hunks.len(), 2);
    assert_eq!(turned.hunks[1].lines[0].text, "a.txt");

    assert_eq!(named(&files, "gone").status, FileStatus::Deleted);
    let picture = named(&files, "picture");
    assert!(picture.binary && picture.hunks.is_empty());
    assert_eq!(named(&files, "latin").hunks[0].lines[0].text, "caf\u{fffd}");
    assert_eq!(named(&files, r"n\xe9w\x09\x0a").hunks[0].lines[0].text, "x");
    assert_eq!(files.len(), 8);
    let json = serde_json::to_value(&files).unwrap();
    assert_eq!(json[0]["status"], "modified");
    assert_eq!(json[0]["hunks"][0]["lines"][1]["kind"], "removed");
}

#[tokio::test]
async fn a_diff_shows_what_the_branch_did_and_not_what_the_base_did_meanwhile() {
    let lab = Lab::new();
    lab.branch_with("work", &[("mine", "x\n")]);
    lab.write("a.txt", "base went on\n");
    lab.commit("base went on");
    let files = diff_of(&lab, "work").await;
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path.to_string(), "mine");
}

#[tokio::test]
async fn the_diff_of_a_worktree_has_uncommitted_and_untracked_work_in_it() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    write(&at, "committed", "x\n");
    lab.commit_in(&at, "the agent's own commit");
    write(&at, "a.txt", "changed\n");
    write(&at, "untracked", "x\n");
    let diff = slots.diff(SLOT, &branch("main"), DiffLimits::default()).await.unwrap();
    let names: Vec<String> = diff.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(names, ["a.txt", "committed", "untracked"]);
    assert_eq!(lab.git_in(&at, ["status", "--porcelain"]), " M a.txt\n?? untracked");
}

#[tokio::test]
async fn a_huge_diff_is_cut_and_says_so() {
    let lab = Lab::new();
    let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let tip = lab.branch_with("work", &[("big", &lines), ("small", "x\n")]);
    let git = lab.open().await;
    for limits in [
        DiffLimits { bytes: 10_000, ..DiffLimits::default() },
        DiffLimits { lines: 100, ..DiffLimits::default() },
    ] {
        let diff = git.diff(&lab.tip("main"), &tip, limits).await.unwrap();
        assert!(diff.truncated);
        assert_eq!(diff.files.len(), 2, "all files are named");
        assert_eq!(diff.files[0].added, 20_000, "and counted");
        assert!(diff.files[0].hunks[0].lines.len() < 2_000);
    }
}

#[tokio::test]
async fn what_the_repository_calls_binary_is_not_shown_as_text() {
    let lab = Lab::new();
    lab.branch_with("work", &[(".gitattributes", "*.gen binary\n"), ("x.gen", "text\n")]);
    let files = diff_of(&lab, "work").await;
    let generated = named(&files, "x.gen");
    assert!(generated.binary && generated.hunks.is_empty(), "{generated:?}");
}

#[tokio::test]
async fn commits_without_common_history_are_told() {
    let lab = Lab::new();
    lab.git(["switch", "-q", "--orphan", "island"]);
    lab.write("x", "x\n");
    let tip = lab.commit("island");
    let git = lab.open().await;
    let error = git.diff(&lab.tip("main"), &tip, DiffLimits::default()).await.unwrap_err();
    assert!(matches!(error, GitError::Unrelated { .. }), "{error}");
    let error = git.merge_check(&lab.tip("main"), &tip).await.unwrap_err();
    assert!(matches!(error, GitError::Unrelated { .. }), "{error}");
}
