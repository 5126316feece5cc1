//! Which repositories can be used, and what is said of the others.

use std::fs;

use musher_git::{CheckoutHead, Git, GitError, Operation};

use super::lab::{Lab, branch, make_executable, write};

async fn refusal(lab: &Lab, folder: &str) -> String {
    let opened = Git::open(&lab.path(folder), lab.env(), &lab.path("scratch")).await;
    opened.unwrap_err().to_string()
}

#[tokio::test]
async fn a_repository_is_opened_from_any_folder_in_it() {
    let lab = Lab::new();
    let git = Git::open(&lab.repo().join("dir"), lab.env(), &lab.path("scratch")).await.unwrap();
    assert_eq!(git.root(), lab.repo());
    assert_eq!(git.default_branch().await.unwrap(), branch("main"));
    assert_eq!(git.resolve(&branch("main")).await.unwrap(), lab.tip("main"));
    git.check_writable().unwrap();
}

#[tokio::test]
async fn what_is_no_repository_is_told_with_the_way_out() {
    let lab = Lab::new();
    fs::create_dir(lab.path("plain")).unwrap();
    lab.git(["init", "-q", "--bare", "../bare"]);
    lab.git(["init", "-q", "../empty"]);
    assert!(refusal(&lab, "nowhere").await.contains("does not exist"));
    assert!(refusal(&lab, "plain").await.contains("not in a git repository"));
    assert!(refusal(&lab, "bare").await.contains("bare"));
    assert!(refusal(&lab, "empty").await.contains("no commit yet"));
}

#[tokio::test]
async fn an_old_git_and_a_missing_git_are_told() {
    let lab = Lab::new();
    let program = lab.path("old/git");
    write(&lab.path("old"), "git", "#!/bin/sh\necho git version 2.37.9\n");
    make_executable(&program);
    let env = lab.env().with("PATH", lab.path("old"));
    let error = Git::open(&lab.repo(), env, &lab.path("scratch")).await.unwrap_err();
    assert!(matches!(&error, GitError::TooOld { found } if found == "2.37"), "{error}");
    let env = lab.env().with("PATH", lab.path("home"));
    let error = Git::open(&lab.repo(), env, &lab.path("scratch")).await.unwrap_err();
    assert!(matches!(error, GitError::Missing { .. }), "{error}");
}

#[tokio::test]
async fn a_missing_base_branch_is_told_with_those_there_are() {
    let lab = Lab::new();
    lab.git(["branch", "develop"]);
    let git = lab.open().await;
    let error = git.resolve(&branch("devlop")).await.unwrap_err().to_string();
    assert!(error.contains("did you mean develop?") && error.contains("develop, main"), "{error}");
}

#[tokio::test]
async fn the_default_branch_is_the_remotes_then_the_one_checked_out() {
    let lab = Lab::new();
    lab.git(["switch", "-q", "-c", "feature"]);
    let git = lab.open().await;
    assert_eq!(git.default_branch().await.unwrap(), branch("feature"));
    lab.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    lab.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    assert_eq!(git.default_branch().await.unwrap(), branch("main"));
    lab.git(["symbolic-ref", "-d", "refs/remotes/origin/HEAD"]);
    lab.git(["switch", "-q", "--detach"]);
    assert_eq!(git.default_branch().await.unwrap(), branch("main"));
    assert_eq!(
        git.head(&git.main()).await.unwrap(),
        CheckoutHead::Detached { commit: lab.tip("HEAD") }
    );
    let error = git.check_clean(&git.main()).await.unwrap_err();
    assert!(matches!(error, GitError::Detached { .. }), "{error}");
}

#[tokio::test]
async fn uncommitted_changes_are_told_by_name_up_to_ten() {
    let lab = Lab::new();
    for n in 0..12 {
        lab.write(&format!("f{n:02}"), "x");
    }
    lab.commit("files");
    let git = lab.open().await;
    lab.write("untracked", "does not count");
    assert_eq!(git.check_clean(&git.main()).await.unwrap(), branch("main"));
    for n in 0..12 {
        lab.write(&format!("f{n:02}"), "y");
    }
    let error = git.check_clean(&git.main()).await.unwrap_err().to_string();
    assert!(error.contains("f00, f01") && error.contains("f09 and 2 more"), "{error}");
}

#[tokio::test]
async fn a_checkout_in_the_middle_of_something_is_told() {
    let lab = Lab::new();
    lab.branch_with("other", &[("a.txt", "theirs\n")]);
    lab.write("a.txt", "ours\n");
    lab.commit("ours");
    let git = lab.open().await;
    let cases = [
        (&["rebase", "other"][..], Operation::Rebase),
        (&["merge", "other"], Operation::Merge),
        (&["cherry-pick", "other"], Operation::CherryPick),
    ];
    for (command, expected) in cases {
        assert!(!lab.try_git(&lab.repo(), command).status.success());
        assert_eq!(git.operation(&git.main()), Some(expected));
        let error = git.check_clean(&git.main()).await.unwrap_err();
        assert!(error.to_string().contains(&format!("middle of a {expected}")), "{error}");
        lab.git([command[0], "--abort"]);
        assert_eq!(git.operation(&git.main()), None);
    }
}

#[tokio::test]
async fn a_repository_that_cannot_be_written_is_told() {
    let lab = Lab::new();
    // A file in the place of the folder stops root too, which permissions do not.
    write(&lab.path(""), "scratch", "");
    let error = lab.try_open().await.unwrap_err();
    assert!(error.to_string().contains("make it writable"), "{error}");
}

#[tokio::test]
async fn a_repository_with_long_object_ids_and_another_store_of_references_works() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let lab = Lab::empty();
        fs::remove_dir_all(lab.repo().join(".git")).unwrap();
        // An older git does not know the second.
        if !lab.try_git(&lab.repo(), ["init", "-q", format]).status.success() {
            continue;
        }
        lab.write("a", "a\n");
        lab.commit("first");
        let git = lab.open().await;
        assert!(git.status(&git.main()).await.unwrap().is_clean());
        lab.write("b", "b\n");
        let snapshot = git.snapshot(&git.main(), &[]).await.unwrap();
        assert_eq!(lab.files_of(&snapshot), ["a", "b"]);
    }
}
