//! Merging into a branch that is checked out, or is not.

use std::fs;

use futures_util::future::join_all;
use musher_git::{Git, GitError, MadeMerge, MergeForecast, Merged};

use super::lab::{Lab, author, branch, read};

async fn merge(git: &Git, lab: &Lab, tip: &str) -> Result<MadeMerge, GitError> {
    match git.merge(&branch("main"), &lab.tip(tip), "Merge the story", &author()).await? {
        Merged::Merged(merge) => Ok(merge),
        Merged::Nothing { tip } => panic!("nothing to merge at {tip}"),
    }
}

#[tokio::test]
async fn a_merge_brings_the_branch_and_the_files_along() {
    let lab = Lab::new();
    let tip = lab.branch_with("work", &[("new/file", "x\n"), ("a.txt", "changed\n")]);
    lab.write("dir/b.txt", "base went on\n");
    let base = lab.commit("base");
    lab.write("untracked", "mine\n");
    let git = lab.open().await;
    let merge = merge(&git, &lab, "work").await.unwrap();
    assert_eq!((&merge.base, &merge.tip, &merge.commit), (&base, &tip, &lab.tip("main")));
    let parents = lab.git(["log", "-1", "--format=%P", "main"]);
    assert_eq!(parents, format!("{base} {tip}"));
    assert_eq!(read(&lab.repo(), "new/file"), "x\n");
    assert_eq!(read(&lab.repo(), "untracked"), "mine\n");
    assert_eq!(lab.git(["status", "--porcelain"]), "?? untracked");
    assert_eq!(lab.git(["log", "-1", "--format=%an %s", "main"]), "Ada Merge the story");
    assert!(lab.git(["reflog", "-1"]).contains("musher: merge"));
    let again = git.merge(&branch("main"), &tip, "again", &author()).await.unwrap();
    assert_eq!(again, Merged::Nothing { tip: merge.commit });
}

#[tokio::test]
async fn a_branch_that_nobody_is_on_is_merged_into_without_touching_a_file() {
    let lab = Lab::new();
    lab.branch_with("work", &[("new", "x\n")]);
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    lab.write("a.txt", "being edited\n");
    let git = lab.open().await;
    merge(&git, &lab, "work").await.unwrap();
    assert_eq!(lab.git(["status", "--porcelain"]), " M a.txt");
    assert!(!lab.repo().join("new").exists());
    assert_eq!(lab.text_of(&lab.tip("main"), "new"), "x");
}

#[tokio::test]
async fn conflicts_are_refused_by_name_and_nothing_changes() {
    let lab = Lab::new();
    lab.branch_with("work", &[("a.txt", "theirs\n"), ("fine", "x\n")]);
    lab.write("a.txt", "ours\n");
    lab.commit("ours");
    let git = lab.open().await;
    let before = (lab.git(["for-each-ref"]), lab.git(["status", "--porcelain"]));
    let check = git.merge_check(&lab.tip("main"), &lab.tip("work")).await.unwrap();
    let MergeForecast::Conflicts { files } = check else { panic!("{check:?}") };
    assert_eq!(files[0].path.to_string(), "a.txt");
    assert!(files[0].messages[0].contains("CONFLICT"), "{files:?}");
    let error = merge(&git, &lab, "work").await.unwrap_err();
    assert!(error.to_string().contains("conflicts in a.txt"), "{error}");
    assert!(!error.is_retryable());
    assert_eq!((lab.git(["for-each-ref"]), lab.git(["status", "--porcelain"])), before);
}

#[tokio::test]
async fn uncommitted_changes_in_the_checkout_are_refused_and_stay() {
    let lab = Lab::new();
    lab.branch_with("work", &[("new", "x\n")]);
    let git = lab.open().await;
    lab.write("a.txt", "being edited\n");
    let error = merge(&git, &lab, "work").await.unwrap_err();
    assert!(
        matches!(&error, GitError::Dirty { .. }) && error.to_string().contains("a.txt"),
        "{error}"
    );
    assert_eq!(read(&lab.repo(), "a.txt"), "being edited\n");
    lab.git(["add", "a.txt"]);
    let error = merge(&git, &lab, "work").await.unwrap_err();
    assert!(matches!(error, GitError::Dirty { .. }), "{error}");
    assert_eq!(lab.tip("main"), lab.tip("work^"));
}

#[tokio::test]
async fn files_in_the_way_are_refused_even_when_they_are_ignored() {
    let lab = Lab::new();
    let new = [("new", "theirs\n"), ("kept.log", "theirs\n"), ("cache/x", "theirs\n")];
    lab.branch_with("work", &[]);
    lab.git(["worktree", "add", "-q", "../forced", "work"]);
    for (file, text) in new {
        super::lab::write(&lab.path("forced"), file, text);
    }
    lab.git_in(&lab.path("forced"), ["add", "-A", "-f"]);
    lab.git_in(&lab.path("forced"), ["commit", "-q", "-m", "ignored files too"]);
    let git = lab.open().await;
    for (mine, told) in [
        ("new", "new"),
        ("new/deep/file", "new/deep/file"),
        ("kept.log", "kept.log"),
        ("cache", "cache"),
    ] {
        lab.write(mine, "mine\n");
        let error = merge(&git, &lab, "work").await.unwrap_err();
        assert!(matches!(&error, GitError::InTheWay { .. }), "{mine}: {error}");
        assert!(error.to_string().contains(&format!("({told})")), "{error}");
        assert_eq!(read(&lab.repo(), mine), "mine\n");
        let top = lab.repo().join(mine.split('/').next().unwrap());
        if top.is_dir() { fs::remove_dir_all(top).unwrap() } else { fs::remove_file(top).unwrap() }
    }
    merge(&git, &lab, "work").await.unwrap();
    assert_eq!(read(&lab.repo(), "kept.log"), "theirs\n");
}

#[tokio::test]
async fn a_file_that_becomes_a_folder_merges() {
    let lab = Lab::new();
    lab.git(["switch", "-q", "-c", "work"]);
    fs::remove_file(lab.repo().join("a.txt")).unwrap();
    lab.write("a.txt/inside", "x\n");
    fs::remove_dir_all(lab.repo().join("dir")).unwrap();
    lab.write("dir", "file\n");
    lab.commit("swap");
    lab.git(["switch", "-q", "main"]);
    let git = lab.open().await;
    merge(&git, &lab, "work").await.unwrap();
    assert_eq!(read(&lab.repo(), "a.txt/inside"), "x\n");
    assert_eq!(lab.git(["status", "--porcelain"]), "");
}

#[tokio::test]
async fn eight_merges_at_once_all_land_whole() {
    let lab = Lab::new();
    let names: Vec<String> = (0..8).map(|n| format!("work-{n}")).collect();
    for name in &names {
        lab.branch_with(name, &[(name, "x\n")]);
    }
    let git = lab.open().await;
    let merges = join_all(names.iter().map(|name| merge(&git, &lab, name))).await;
    for merge in merges {
        merge.unwrap();
    }
    assert_eq!(lab.git(["rev-list", "--count", "--merges", "main"]), "8");
    for name in &names {
        assert_eq!(read(&lab.repo(), name), "x\n");
    }
    assert_eq!(lab.git(["status", "--porcelain"]), "");
}

#[tokio::test]
async fn two_handles_that_merge_at_once_never_lose_a_merge() {
    let lab = Lab::new();
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    for n in 0..8 {
        lab.branch_with(&format!("work-{n}"), &[(&format!("f{n}"), "x\n")]);
    }
    // Each handle has its own turn-taking, so only the check on the branch stands between them.
    let scratches: Vec<_> = (0..8).map(|n| lab.path(&format!("scratch-{n}"))).collect();
    let repo = lab.repo();
    let open = |scratch| Git::open(&repo, lab.env(), scratch);
    let handles = join_all(scratches.iter().map(|scratch| open(scratch.as_path()))).await;
    let handles: Vec<Git> = handles.into_iter().map(Result::unwrap).collect();
    let names: Vec<String> = (0..8).map(|n| format!("work-{n}")).collect();
    let merges =
        join_all(handles.iter().zip(&names).map(|(git, name)| merge(git, &lab, name))).await;
    let landed = merges.iter().filter(|merge| merge.is_ok()).count();
    for refused in merges.into_iter().filter_map(Result::err) {
        assert!(refused.is_retryable(), "{refused}");
    }
    assert!(landed > 0);
    let files = lab.files_of(&lab.tip("main"));
    assert_eq!(files.iter().filter(|file| file.starts_with('f')).count(), landed);
}

#[tokio::test]
async fn a_merge_that_died_before_it_moved_the_branch_is_finished_by_the_next() {
    let lab = Lab::new();
    lab.branch_with("work", &[("new", "x\n")]);
    let git = lab.open().await;
    let check = git.merge_check(&lab.tip("main"), &lab.tip("work")).await.unwrap();
    let MergeForecast::Clean { tree } = check else { panic!("{check:?}") };
    lab.git(["read-tree", "-m", "-u", "HEAD", tree.as_str()]);
    merge(&git, &lab, "work").await.unwrap();
    assert_eq!(lab.git(["status", "--porcelain"]), "");
    assert_eq!(read(&lab.repo(), "new"), "x\n");
}

#[tokio::test]
async fn a_merge_into_a_branch_of_another_worktree_updates_that_one() {
    let lab = Lab::new();
    lab.branch_with("work", &[("new", "x\n")]);
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    lab.git(["worktree", "add", "-q", "../other", "main"]);
    let git = lab.open().await;
    merge(&git, &lab, "work").await.unwrap();
    assert_eq!(read(&lab.path("other"), "new"), "x\n");
    assert_eq!(lab.git_in(&lab.path("other"), ["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_commit_that_is_not_there_is_told() {
    let lab = Lab::new();
    let git = lab.open().await;
    let missing = musher_git::Commit::new("1".repeat(40)).unwrap();
    let error = git.merge(&branch("main"), &missing, "x", &author()).await.unwrap_err();
    assert!(matches!(error, GitError::NoCommit { .. }), "{error}");
}
