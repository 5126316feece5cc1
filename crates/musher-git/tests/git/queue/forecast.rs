//! All pairs at once, and nothing left behind.

use std::fs;
use std::path::Path;

use musher_git::queue::Collision;
use musher_git::{Commit, GitError};

use super::super::lab::Lab;

/// Every file beneath a folder.
fn all_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn forecast_leaves_no_objects() {
    let lab = Lab::new();
    let heads: Vec<Commit> = [
        lab.branch_with("clean", &[("new", "x\n")]),
        lab.branch_with("one", &[("a.txt", "1\ntwo\nthree\n"), ("x", "1\n")]),
        lab.branch_with("two", &[("a.txt", "2\ntwo\nthree\n"), ("x", "2\n")]),
        lab.branch_with("far", &[("dir/b.txt", "far\n")]),
    ]
    .into();
    lab.write("dir/b.txt", "base\n");
    let base = lab.commit("base");
    let git = lab.open().await;
    let objects = lab.repo().join(".git/objects");
    let before = all_files(&objects);
    let forecast = git.forecast(&base, &heads).await.unwrap();
    assert_eq!(all_files(&objects), before);
    let left = fs::read_dir(lab.path("scratch")).unwrap().map(Result::unwrap);
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name.to_string_lossy().starts_with("repo-")), "{left:?}");
    let names = |files: &[musher_git::GitPath]| -> Vec<String> {
        files.iter().map(ToString::to_string).collect()
    };
    let with_base: Vec<_> = forecast.with_base.iter().map(|files| names(files)).collect();
    assert_eq!(with_base, [vec![], vec![], vec![], vec!["dir/b.txt".to_owned()]]);
    let [Collision { first: 1, second: 2, files }] = &forecast.collisions[..] else {
        panic!("{forecast:?}")
    };
    assert_eq!(names(files), ["a.txt", "x"]);
    let none = git.forecast(&base, &[]).await.unwrap();
    assert!(none.with_base.is_empty() && none.collisions.is_empty());
}

#[tokio::test]
async fn a_head_of_another_history_is_named() {
    let lab = Lab::new();
    let fine = lab.branch_with("fine", &[("new", "x\n")]);
    lab.git(["switch", "-q", "--orphan", "stranger"]);
    lab.write("stranger", "x\n");
    let stranger = lab.commit("stranger");
    let base = lab.tip("main");
    let git = lab.open().await;
    let error = git.forecast(&base, &[fine, stranger.clone()]).await.unwrap_err();
    assert!(matches!(&error, GitError::Unrelated { tip, .. } if *tip == stranger), "{error}");
    let missing = Commit::new("1".repeat(40)).unwrap();
    let error = git.forecast(&base, &[missing]).await.unwrap_err();
    assert!(matches!(error, GitError::NoCommit { .. }), "{error}");
}
