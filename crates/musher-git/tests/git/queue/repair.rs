//! What an agent may do to resolve a conflict, and what it may not.

use std::fs;
use std::path::PathBuf;

use musher_git::queue::{RepairFault, RepairReport};
use musher_git::{Commit, Git, GitPath};

use super::super::lab::{Lab, read, write};

/// A story and a base that conflict in `a.txt`; each has also changed, added and deleted files of its own.
struct Scene {
    lab: Lab,
    git: Git,
    /// Where the agent works, on the story's branch.
    at: PathBuf,
    old_head: Commit,
    base: Commit,
}

async fn scene() -> Scene {
    let lab = Lab::new();
    for name in ["story", "base", "neither", "gone-by-story", "gone-by-base"] {
        lab.write(name, format!("{name}\n"));
    }
    lab.write("shared", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    lab.commit("files");
    lab.git(["worktree", "add", "-q", "-b", "story", "../story", "main"]);
    let at = lab.path("story");
    write(&at, "a.txt", "one\nby the story\nthree\n");
    write(&at, "shared", "of the story\n2\n3\n4\n5\n6\n7\n8\n9\n");
    write(&at, "story", "changed\n");
    write(&at, "new-of-story", "x\n");
    fs::remove_file(at.join("gone-by-story")).unwrap();
    let old_head = lab.commit_in(&at, "the story");
    lab.write("a.txt", "one\nby the base\nthree\n");
    lab.write("shared", "1\n2\n3\n4\n5\n6\n7\n8\nof the base\n");
    lab.write("base", "changed\n");
    lab.write("new-of-base", "x\n");
    fs::remove_file(lab.repo().join("gone-by-base")).unwrap();
    let base = lab.commit("the base");
    let git = lab.open().await;
    Scene { lab, git, at, old_head, base }
}

impl Scene {
    /// Merges the base by hand, as far as git does.
    fn merge(&self) {
        let merged = self.lab.try_git(&self.at, ["merge", self.base.as_str()]);
        assert!(!merged.status.success(), "it is a conflict");
    }

    fn resolve(&self) {
        write(&self.at, "a.txt", "one\nby the story\nby the base\nthree\n");
    }

    async fn check(&self, new_head: &Commit) -> RepairReport {
        self.git.check_repair(&self.old_head, &self.base, new_head).await.unwrap()
    }

    async fn commit_and_check(&self) -> RepairReport {
        let new_head = self.lab.commit_in(&self.at, "repair");
        self.check(&new_head).await
    }
}

fn shown(path: &GitPath) -> String {
    path.to_string()
}

#[tokio::test]
async fn a_repair_that_keeps_both_sides_is_sound() {
    let scene = scene().await;
    scene.merge();
    scene.resolve();
    let report = scene.commit_and_check().await;
    assert!(report.is_sound() && !report.needs_review(), "{report:?}");
    let files: Vec<String> = report.both_changed.iter().map(|file| shown(&file.path)).collect();
    assert_eq!(files, ["a.txt"], "what git merges by itself needs no look");
    let objects = scene.lab.git(["count-objects"]);
    scene.check(&scene.lab.tip("story")).await;
    assert_eq!(scene.lab.git(["count-objects"]), objects, "a look leaves no objects");
}

#[tokio::test]
async fn repair_that_drops_a_target_file_is_refused() {
    let scene = scene().await;
    scene.merge();
    scene.resolve();
    fs::remove_file(scene.at.join("new-of-base")).unwrap();
    write(&scene.at, "base", "base\n");
    write(&scene.at, "gone-by-base", "gone-by-base\n");
    write(&scene.at, "story", "story\n");
    write(&scene.at, "neither", "edited\n");
    write(&scene.at, "beyond", "x\n");
    let report = scene.commit_and_check().await;
    let told: Vec<(&str, String)> = report
        .faults
        .iter()
        .map(|fault| match fault {
            RepairFault::BaseFileDiffers { path } => ("base", shown(path)),
            RepairFault::StoryFileDiffers { path } => ("story", shown(path)),
            RepairFault::UntouchedFileDiffers { path } => ("untouched", shown(path)),
            other @ (RepairFault::OldHeadLost
            | RepairFault::BaseNotMerged
            | RepairFault::ConflictMarkers { .. }) => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("base", "base"),
        ("untouched", "beyond"),
        ("base", "gone-by-base"),
        ("untouched", "neither"),
        ("base", "new-of-base"),
        ("story", "story"),
    ];
    assert_eq!(told, expected.map(|(side, path)| (side, path.to_owned())));
}

#[tokio::test]
async fn repair_by_ours_strategy_is_refused() {
    let scene = scene().await;
    let merge = ["merge", "-q", "-s", "ours", "-m", "repair", scene.base.as_str()];
    scene.lab.git_in(&scene.at, merge);
    let report = scene.check(&scene.lab.tip("story")).await;
    let lost = |path: &str| {
        report.faults.iter().any(
            |fault| matches!(fault, RepairFault::BaseFileDiffers { path: it } if shown(it) == path),
        )
    };
    assert!(lost("base") && lost("new-of-base") && lost("gone-by-base"), "{report:?}");
    let gone = |path: &str| {
        let file = report.both_changed.iter().find(|file| shown(&file.path) == path).unwrap();
        file.base_lines_gone.clone()
    };
    assert_eq!(gone("a.txt"), ["by the base"]);
    assert_eq!(gone("shared"), ["of the base"]);
    // The other way around, the base's side is taken in every conflict.
    scene.lab.git_in(&scene.at, ["reset", "-q", "--hard", scene.old_head.as_str()]);
    let merge = ["merge", "-q", "-X", "theirs", "-m", "repair", scene.base.as_str()];
    scene.lab.git_in(&scene.at, merge);
    let report = scene.check(&scene.lab.tip("story")).await;
    assert!(report.is_sound() && report.needs_review(), "{report:?}");
    assert_eq!(report.both_changed[0].story_lines_gone, ["by the story"]);
}

#[tokio::test]
async fn repair_by_rebase_is_refused() {
    let scene = scene().await;
    scene.lab.try_git(&scene.at, ["rebase", scene.base.as_str()]);
    scene.resolve();
    scene.lab.git_in(&scene.at, ["add", "-A"]);
    scene.lab.git_in(&scene.at, ["rebase", "--continue"]);
    let report = scene.check(&scene.lab.tip("story")).await;
    assert_eq!(report.faults, [RepairFault::OldHeadLost]);
    // And one that only wrote over the conflict never merged.
    scene.lab.git_in(&scene.at, ["reset", "-q", "--hard", scene.old_head.as_str()]);
    scene.resolve();
    let report = scene.commit_and_check().await;
    assert_eq!(report.faults, [RepairFault::BaseNotMerged]);
}

#[tokio::test]
async fn repair_with_markers_is_refused() {
    let scene = scene().await;
    scene.merge();
    assert!(read(&scene.at, "a.txt").contains("<<<<<<<"));
    let report = scene.commit_and_check().await;
    let [RepairFault::ConflictMarkers { path, line: 2 }] = &report.faults[..] else {
        panic!("{report:?}")
    };
    assert_eq!(shown(path), "a.txt");
    // One that was forgotten is enough.
    write(&scene.at, "a.txt", "one\nby the story\n=======\nby the base\nthree\n");
    let report = scene.commit_and_check().await;
    assert!(matches!(report.faults[..], [RepairFault::ConflictMarkers { line: 3, .. }]));
    scene.resolve();
    assert!(scene.commit_and_check().await.is_sound());
}

#[tokio::test]
async fn repair_dropping_lines_asks_for_review() {
    let scene = scene().await;
    scene.merge();
    write(&scene.at, "a.txt", "one\n  by the story\nthree\n");
    // A file that merges by itself, and was written over.
    write(&scene.at, "shared", "1\n2\n3\n4\n5\n6\n7\n8\nof the base\n");
    let report = scene.commit_and_check().await;
    assert!(report.is_sound() && report.needs_review(), "{report:?}");
    let [a, shared] = &report.both_changed[..] else { panic!("{report:?}") };
    assert_eq!((shown(&a.path), shown(&shared.path)), ("a.txt".into(), "shared".into()));
    assert_eq!(
        (&a.story_lines_gone[..], &a.base_lines_gone[..]),
        (&[][..], &["by the base".to_owned()][..])
    );
    assert_eq!(shared.story_lines_gone, ["of the story"]);
    assert!(shared.base_lines_gone.is_empty());
}

#[tokio::test]
async fn a_rename_that_git_merges_is_no_fault_and_a_lost_one_is() {
    let lab = Lab::new();
    lab.write("long", "line\n".repeat(30) + "end\n");
    lab.commit("long");
    lab.git(["worktree", "add", "-q", "-b", "story", "../story", "main"]);
    let at = lab.path("story");
    lab.git_in(&at, ["mv", "long", "elsewhere"]);
    write(&at, "a.txt", "story\n");
    let old_head = lab.commit_in(&at, "moved");
    lab.write("long", "line\n".repeat(30) + "end of the base\n");
    lab.write("a.txt", "base\n");
    let base = lab.commit("edited");
    let git = lab.open().await;
    lab.try_git(&at, ["merge", base.as_str()]);
    write(&at, "a.txt", "story\nbase\n");
    let whole = lab.commit_in(&at, "repair");
    let report = git.check_repair(&old_head, &base, &whole).await.unwrap();
    assert!(report.is_sound() && !report.needs_review(), "{report:?}");
    write(&at, "elsewhere", "line\n".repeat(30) + "end\n");
    let lost = lab.commit_in(&at, "the edit of the base is gone");
    let report = git.check_repair(&old_head, &base, &lost).await.unwrap();
    assert!(!report.is_sound(), "{report:?}");
}
