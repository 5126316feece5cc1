//! Out again, and in again.

use musher_git::queue::{LandOutcome, RevertOutcome};

use super::super::lab::{Lab, branch, read};
use super::{build, landing, ready, text, tip};

/// The commit that a revert made.
fn made(outcome: RevertOutcome) -> musher_git::queue::BatchCommit {
    let RevertOutcome::Made(made) = outcome else { panic!("{outcome:?}") };
    made
}

#[tokio::test]
async fn revert_lands_tested() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("a.txt", "story\n"), ("new", "x\n")]);
    let two = lab.branch_with("two", &[("two", "of another story\n")]);
    let git = lab.open().await;
    let base = lab.tip("main");
    let batch = build(&git, &base, &[&one, &two]).await;
    git.land(&landing(&base, &tip(&batch))).await.unwrap();
    let merge = batch.commits().next().unwrap().1.commit.clone();
    let base = lab.tip("main");
    let revert = made(git.revert(&base, &merge, &text("Revert s1")).await.unwrap());
    assert_eq!(made(git.revert(&base, &merge, &text("Revert s1")).await.unwrap()), revert);
    assert_eq!(lab.git(["log", "-1", "--format=%P", revert.commit.as_str()]), base.as_str());
    // It is an entry like any other: what is tested is its merge.
    let landing = ready(&lab, &git, &revert.commit).await;
    assert_eq!(landing.tree, revert.tree);
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(read(&lab.repo(), "a.txt"), "one\ntwo\nthree\n");
    assert!(!lab.repo().join("new").exists());
    assert!(lab.repo().join("two").exists(), "the other story stays");
    let again = git.revert(&lab.tip("main"), &merge, &text("Revert s1")).await.unwrap();
    assert_eq!(again, RevertOutcome::Unchanged);
    let outside = lab.branch_with("outside", &[("outside", "x\n")]);
    let outcome = git.revert(&lab.tip("main"), &outside, &text("Revert")).await.unwrap();
    assert_eq!(outcome, RevertOutcome::NotInBase);
    let root = lab.tip("main~3");
    let outcome = git.revert(&lab.tip("main"), &root, &text("Revert")).await.unwrap();
    assert_eq!(outcome, RevertOutcome::NoParent);
}

#[tokio::test]
async fn remerge_after_revert_is_whole() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("a.txt", "story\n"), ("new", "x\n")]);
    let git = lab.open().await;
    let first = ready(&lab, &git, &one).await;
    git.land(&first).await.unwrap();
    let base = lab.tip("main");
    let revert = made(git.revert(&base, &first.commit, &text("Revert s1")).await.unwrap());
    let landed = ready(&lab, &git, &revert.commit).await;
    git.land(&landed).await.unwrap();
    // The old branch with more work on it merges, and lacks what was reverted.
    lab.git(["worktree", "add", "-q", "../one", "one"]);
    super::super::lab::write(&lab.path("one"), "more", "x\n");
    let old = lab.commit_in(&lab.path("one"), "more");
    let base = lab.tip("main");
    let lacking = tip(&build(&git, &base, &[&old]).await);
    assert!(
        !lab.files_of(&lacking.commit).contains(&"new".to_owned()),
        "which is why it is not used"
    );
    // The next branch begins with the revert of the revert.
    let again = made(git.revert(&base, &landed.commit, &text("Reapply s1")).await.unwrap());
    let story = branch("musher/s1/2");
    lab.git(["branch", story.as_str(), again.commit.as_str()]);
    lab.git(["worktree", "add", "-q", "../two", story.as_str()]);
    super::super::lab::write(&lab.path("two"), "more", "x\n");
    let head = lab.commit_in(&lab.path("two"), "more");
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    for (file, text) in [("a.txt", "story\n"), ("new", "x\n"), ("more", "x\n")] {
        assert_eq!(read(&lab.repo(), file), text);
    }
}

#[tokio::test]
async fn revert_that_conflicts_asks() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("a.txt", "story\ntwo\nthree\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &one).await;
    git.land(&landing).await.unwrap();
    lab.write("a.txt", "built upon it\ntwo\nthree\n");
    let base = lab.commit("built upon it");
    let before = super::untouched(&lab);
    let outcome = git.revert(&base, &landing.commit, &text("Revert s1")).await.unwrap();
    let RevertOutcome::Conflicts { files } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(files[0].path.to_string(), "a.txt");
    assert_eq!(super::untouched(&lab), before);
}
