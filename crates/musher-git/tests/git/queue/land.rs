//! Landing on a local branch, with a person at work in the checkout.

use std::fs;

use futures_util::future::join_all;
use musher_git::queue::{LandOutcome, LandRefusal, Landing};
use musher_git::{Commit, Git};

use super::super::lab::{Lab, branch, read};
use super::{build, landing, ready, tip, untouched};

#[tokio::test]
async fn lands_exactly_the_tested_commit() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new/file", "x\n"), ("a.txt", "changed\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.tip("main"), landing.commit);
    assert_eq!(lab.git(["rev-parse", "main^{tree}"]), landing.tree.as_str());
    assert_eq!(lab.git(["status", "--porcelain"]), "");
    assert_eq!(read(&lab.repo(), "new/file"), "x\n");
    assert!(lab.git(["reflog", "-1"]).contains("musher: land"));
    assert!(!lab.path("scratch/merging.json").exists());
}

#[tokio::test]
async fn another_tree_or_another_line_than_the_tested_one_is_refused() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("1", "x\n")]);
    let two = lab.branch_with("two", &[("2", "x\n")]);
    let git = lab.open().await;
    let good = ready(&lab, &git, &one).await;
    let other = ready(&lab, &git, &two).await;
    let before = untouched(&lab);
    let wrong = Landing { tree: other.tree, ..good.clone() };
    let refused = LandOutcome::Refused(LandRefusal::WrongTree { found: good.tree.clone() });
    assert_eq!(git.land(&wrong).await.unwrap(), refused);
    // The base is in its history, and not on its first-parent line.
    lab.git(["switch", "-q", "-c", "side", "one"]);
    lab.git(["switch", "-q", "main"]);
    lab.write("base", "x\n");
    let base = lab.commit("base");
    lab.git(["switch", "-q", "side"]);
    lab.git(["merge", "-q", "-m", "the wrong way around", "main"]);
    lab.git(["switch", "-q", "main"]);
    let tree = lab.git(["rev-parse", "side^{tree}"]);
    let wrong = Landing {
        branch: branch("main"),
        base: base.clone(),
        commit: lab.tip("side"),
        tree: musher_git::TreeId::new(tree).unwrap(),
    };
    let refused = LandOutcome::Refused(LandRefusal::NotOnBase);
    assert_eq!(git.land(&wrong).await.unwrap(), refused);
    assert_eq!(
        (lab.tip("main"), &before.1),
        (base, &lab.git(["status", "--porcelain", "--ignored"]))
    );
}

#[tokio::test]
async fn base_moved_before_cas_drops_the_chain() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    lab.write("by-hand", "x\n");
    let moved = lab.commit("by hand");
    let before = untouched(&lab);
    let outcome = git.land(&landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::BaseMoved { tip: moved.clone() });
    assert_eq!(untouched(&lab), before);
    // Moved back, which is no move forward, it is another base too.
    lab.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    let gone = Landing { branch: branch("gone"), ..landing };
    assert!(git.land(&gone).await.is_err(), "there is no such branch");
}

#[tokio::test]
async fn eight_queues_race_one_lands() {
    for checked_out in [false, true] {
        let lab = Lab::new();
        let heads: Vec<Commit> = (0..8)
            .map(|n| lab.branch_with(&format!("s{n}"), &[(&format!("f{n}"), "x\n")]))
            .collect();
        if !checked_out {
            lab.git(["switch", "-q", "-c", "elsewhere"]);
        }
        let base = lab.tip("main");
        let mut queues: Vec<(Git, Landing)> = Vec::new();
        for (n, head) in heads.iter().enumerate() {
            // With a folder of its own, only the check on the branch stands between them.
            let scratch = if checked_out { "scratch".to_owned() } else { format!("scratch-{n}") };
            let git = Git::open(&lab.repo(), lab.env(), &lab.path(&scratch)).await.unwrap();
            let landing = landing(&base, &tip(&build(&git, &base, &[head]).await));
            queues.push((git, landing));
        }
        let outcomes = join_all(queues.iter().map(|(git, landing)| git.land(landing))).await;
        let outcomes: Vec<LandOutcome> = outcomes.into_iter().map(Result::unwrap).collect();
        let winner = outcomes.iter().position(|outcome| *outcome == LandOutcome::Landed).unwrap();
        let tip = lab.tip("main");
        assert_eq!(tip, queues[winner].1.commit);
        for (n, outcome) in outcomes.into_iter().enumerate().filter(|(n, _)| *n != winner) {
            assert_eq!(outcome, LandOutcome::BaseMoved { tip: tip.clone() }, "queue {n}");
        }
        assert_eq!(lab.git(["status", "--porcelain"]), "");
    }
}

#[tokio::test]
async fn base_built_upon_after_cas_counts_as_landed() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    git.land(&landing).await.unwrap();
    lab.write("by-hand", "x\n");
    let upon = lab.commit("by hand");
    let before = untouched(&lab);
    let outcome = git.land(&landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::AlreadyLanded { tip: upon });
    assert_eq!(untouched(&lab), before);
}

#[tokio::test]
async fn overlapping_change_in_the_checkout_waits_and_names_files() {
    let lab = Lab::new();
    lab.write("c.txt", "c\n");
    lab.commit("c");
    let head = lab.branch_with(
        "one",
        &[("a.txt", "theirs\n"), ("dir/b.txt", "theirs\n"), ("c.txt", "theirs\n")],
    );
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    // One is changed, one is staged, one is hidden from git.
    lab.write("a.txt", "mine\n");
    lab.write("dir/b.txt", "mine\n");
    lab.git(["add", "dir/b.txt"]);
    lab.git(["update-index", "--assume-unchanged", "c.txt"]);
    lab.write("c.txt", "mine\n");
    lab.write("untouched", "mine\n");
    let before = untouched(&lab);
    let outcome = git.land(&landing).await.unwrap();
    let LandOutcome::Refused(LandRefusal::Overlap { path, files }) = &outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((path, files.to_string()), (&lab.repo(), "a.txt, c.txt, dir/b.txt".to_owned()));
    assert_eq!(untouched(&lab), before);
    for file in ["a.txt", "dir/b.txt", "c.txt"] {
        assert_eq!(read(&lab.repo(), file), "mine\n");
    }
    // Even what is the same as the commit's is the person's.
    lab.git(["update-index", "--no-assume-unchanged", "c.txt"]);
    lab.git(["checkout", "-q", "HEAD", "--", "a.txt", "dir/b.txt", "c.txt"]);
    lab.write("a.txt", "theirs\n");
    let outcome = git.land(&landing).await.unwrap();
    assert!(matches!(outcome, LandOutcome::Refused(LandRefusal::Overlap { .. })), "{outcome:?}");
    lab.git(["checkout", "-q", "--", "a.txt"]);
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), "?? untouched");
}

#[tokio::test]
async fn other_changes_in_the_checkout_survive_a_landing() {
    let lab = Lab::new();
    for name in ["staged", "both", "deleted", "hidden"] {
        lab.write(name, "old\n");
    }
    lab.commit("files");
    let head = lab.branch_with("one", &[("a.txt", "theirs\n"), ("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    lab.write("dir/b.txt", "mine\n");
    lab.write("staged", "mine\n");
    lab.write("added", "mine\n");
    lab.git(["add", "staged", "added"]);
    lab.write("both", "staged\n");
    lab.git(["add", "both"]);
    lab.write("both", "and changed\n");
    fs::remove_file(lab.repo().join("deleted")).unwrap();
    lab.git(["update-index", "--assume-unchanged", "hidden"]);
    lab.write("hidden", "mine\n");
    lab.write("untracked", "mine\n");
    lab.write("ignored.log", "mine\n");
    let (status, staged) = (lab.git(["status", "--porcelain"]), lab.git(["diff", "--cached"]));
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), status);
    assert_eq!(lab.git(["diff", "--cached"]), staged);
    assert_eq!(read(&lab.repo(), "a.txt"), "theirs\n");
    assert_eq!(read(&lab.repo(), "new"), "x\n");
    assert_eq!(read(&lab.repo(), "both"), "and changed\n");
    assert_eq!(read(&lab.repo(), "hidden"), "mine\n");
    assert!(lab.git(["ls-files", "-v", "hidden"]).starts_with('h'), "it is still hidden");
    assert_eq!(lab.tip("main"), landing.commit);
}

#[tokio::test]
async fn untracked_file_in_the_way() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "theirs\n"), ("deep/er/file", "theirs\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    for (mine, told) in [("new", "new"), ("deep", "deep"), ("new/inside", "new/inside")] {
        lab.write(mine, "mine\n");
        let before = untouched(&lab);
        let outcome = git.land(&landing).await.unwrap();
        let LandOutcome::Refused(LandRefusal::InTheWay { files, .. }) = &outcome else {
            panic!("{mine}: {outcome:?}")
        };
        assert_eq!(files.to_string(), told);
        assert_eq!(untouched(&lab), before);
        assert_eq!(read(&lab.repo(), mine), "mine\n");
        lab.git(["clean", "-fdq"]);
    }
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
}

#[tokio::test]
async fn base_checked_out_nowhere() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let two = lab.branch_with("two", &[("a.txt", "theirs\n")]);
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    lab.write("a.txt", "being edited\n");
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), " M a.txt");
    assert!(!lab.repo().join("new").exists());
    // A worktree on it whose folder was removed by hand is nowhere too.
    lab.git(["worktree", "add", "-q", "../gone", "main"]);
    fs::remove_dir_all(lab.path("gone")).unwrap();
    let landing = ready(&lab, &git, &two).await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.text_of(&lab.tip("main"), "a.txt"), "theirs");
}

#[tokio::test]
async fn a_checkout_in_the_middle_of_a_merge_is_left_alone() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    lab.branch_with("two", &[("a.txt", "theirs\n")]);
    lab.write("a.txt", "ours\n");
    lab.commit("ours");
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert!(!lab.try_git(&lab.repo(), ["merge", "two"]).status.success());
    let before = untouched(&lab);
    let outcome = git.land(&landing).await.unwrap();
    assert!(matches!(outcome, LandOutcome::Refused(LandRefusal::Busy { .. })), "{outcome:?}");
    assert_eq!(untouched(&lab), before);
}

#[tokio::test]
async fn a_local_branch_follows_only_forward() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let main = branch("main");
    lab.write("dir/b.txt", "mine\n");
    assert_eq!(git.fast_forward(&main, &head).await.unwrap(), LandOutcome::Landed);
    assert_eq!((lab.tip("main"), read(&lab.repo(), "new")), (head.clone(), "x\n".to_owned()));
    assert_eq!(lab.git(["status", "--porcelain"]), " M dir/b.txt");
    let again = git.fast_forward(&main, &head).await.unwrap();
    assert_eq!(again, LandOutcome::AlreadyLanded { tip: head });
    lab.git(["checkout", "-q", "--", "."]);
    let other = lab.branch_with("other", &[("other", "x\n")]);
    lab.write("mine", "x\n");
    let mine = lab.commit("mine");
    let outcome = git.fast_forward(&main, &other).await.unwrap();
    assert_eq!(outcome, LandOutcome::BaseMoved { tip: mine });
}
