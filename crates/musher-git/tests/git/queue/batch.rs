//! Entries merged one on top of the other.

use musher_git::Commit;
use musher_git::queue::{BatchEntry, BatchMember, LandOutcome};

use super::super::lab::{Lab, write};
use super::{build, entry, files_of, landing, text, tip};

#[tokio::test]
async fn a_batch_is_a_line_of_merges_and_the_same_each_time() {
    let lab = Lab::new();
    let heads: Vec<Commit> =
        (0..3).map(|n| lab.branch_with(&format!("s{n}"), &[(&format!("f{n}"), "x\n")])).collect();
    lab.write("base", "went on\n");
    let base = lab.commit("base");
    let before = lab.git(["for-each-ref"]);
    let git = lab.open().await;
    let batch = build(&git, &base, &[&heads[0], &heads[1], &heads[2]]).await;
    let mut below = base.clone();
    for (place, made) in batch.commits() {
        let parents = lab.git(["log", "-1", "--format=%P %T", made.commit.as_str()]);
        assert_eq!(parents, format!("{below} {} {}", heads[place], made.tree));
        below = made.commit.clone();
    }
    let shown = ["log", "-1", "--format=%an %cn %at %ct %ai", below.as_str()];
    assert_eq!(lab.git(shown), "Ada Ada 1700000000 1700000000 2023-11-14 22:13:20 +0000");
    assert_eq!(lab.files_of(&below).iter().filter(|file| file.starts_with('f')).count(), 3);
    // The person's own settings do not get into it either.
    lab.git(["config", "--global", "i18n.commitEncoding", "ISO-8859-1"]);
    let again = lab.open().await;
    assert_eq!(build(&again, &base, &[&heads[0], &heads[1], &heads[2]]).await, batch);
    assert_eq!(lab.git(["for-each-ref"]), before, "nothing but objects was made");
    // The same as by hand.
    lab.git(["switch", "-q", "-c", "by-hand", base.as_str()]);
    for n in 0..3 {
        lab.git(["merge", "-q", "--no-ff", "-m", "by hand", &format!("s{n}")]);
    }
    assert_eq!(lab.git(["rev-parse", "HEAD^{tree}"]), tip(&batch).tree.as_str());
}

#[tokio::test]
async fn conflict_with_base_goes_to_repair() {
    let lab = Lab::new();
    let theirs = lab.branch_with("theirs", &[("a.txt", "theirs\n"), ("fine", "x\n")]);
    let fine = lab.branch_with("fine", &[("other", "x\n")]);
    lab.write("a.txt", "ours\n");
    let base = lab.commit("ours");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&fine, &theirs]).await;
    let BatchMember::ConflictsWithBase { files } = &batch.members[1] else { panic!("{batch:?}") };
    assert_eq!(files[0].path.to_string(), "a.txt");
    assert!(files[0].messages[0].contains("CONFLICT"), "{files:?}");
    assert!(matches!(batch.members[0], BatchMember::Merged(_)), "others are merged");
}

#[tokio::test]
async fn conflict_within_chain_waits() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("one", "x\n")]);
    let two = lab.branch_with("two", &[("a.txt", "two\n")]);
    let three = lab.branch_with("three", &[("three", "x\n")]);
    let four = lab.branch_with("four", &[("a.txt", "four\n")]);
    let five = lab.branch_with("five", &[("five", "x\n")]);
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&one, &two, &three, &four, &five]).await;
    let BatchMember::ConflictsWithMember { member: 1, .. } = &batch.members[3] else {
        panic!("{batch:?}")
    };
    assert_eq!(files_of(&batch.members[3]), ["a.txt"]);
    let places: Vec<usize> = batch.commits().map(|(place, _)| place).collect();
    assert_eq!(places, [0, 1, 2, 4], "those after it are merged without it");
    let parents = lab.git(["log", "-1", "--format=%P", tip(&batch).commit.as_str()]);
    let BatchMember::Merged(third) = &batch.members[2] else { panic!("{batch:?}") };
    assert_eq!(parents, format!("{} {five}", third.commit));
    // It has its turn on the base.
    let alone = build(&git, &base, &[&four]).await;
    assert!(matches!(alone.members[0], BatchMember::Merged(_)), "{alone:?}");
}

#[tokio::test]
async fn empty_story_is_no_change() {
    let lab = Lab::new();
    let empty = lab.branch_with("empty", &[]);
    let same = lab.branch_with("same", &[("new", "x\n")]);
    let as_well = lab.branch_with("as-well", &[("new", "x\n")]);
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&empty, &same, &as_well]).await;
    assert_eq!(batch.members[0], BatchMember::Unchanged);
    assert!(matches!(batch.members[1], BatchMember::Merged(_)), "{batch:?}");
    assert_eq!(batch.members[2], BatchMember::Unchanged, "another did the same");
    assert!(build(&git, &base, &[&empty]).await.tip().is_none());
}

#[tokio::test]
async fn story_already_in_base() {
    let lab = Lab::new();
    let done = lab.branch_with("done", &[("done", "x\n")]);
    lab.git(["merge", "-q", "--no-ff", "-m", "by hand", "done"]);
    let lower = lab.branch_with("lower", &[("lower", "x\n")]);
    lab.git(["switch", "-q", "-c", "upper", "lower"]);
    lab.write("upper", "x\n");
    let upper = lab.commit("upper");
    let git = lab.open().await;
    let base = lab.tip("main");
    let batch = build(&git, &base, &[&done, &upper, &lower, &base]).await;
    assert_eq!(batch.members[0], BatchMember::InBase);
    assert_eq!(batch.members[2], BatchMember::InMember { member: 1 });
    assert_eq!(batch.members[3], BatchMember::InBase);
    assert_eq!(batch.commits().count(), 1);
}

#[tokio::test]
async fn heads_that_are_gone_or_of_another_history_are_told_one_by_one() {
    let lab = Lab::new();
    let fine = lab.branch_with("fine", &[("fine", "x\n")]);
    lab.git(["switch", "-q", "--orphan", "stranger"]);
    lab.write("stranger", "x\n");
    let stranger = lab.commit("stranger");
    let base = lab.tip("main");
    let missing = Commit::new("1".repeat(40)).unwrap();
    let git = lab.open().await;
    let batch = build(&git, &base, &[&missing, &stranger, &fine]).await;
    assert_eq!(batch.members[0], BatchMember::Missing);
    assert_eq!(batch.members[1], BatchMember::Unrelated);
    assert!(matches!(batch.members[2], BatchMember::Merged(_)), "{batch:?}");
    assert!(git.build_batch(&base, &[]).await.unwrap().tip().is_none());
}

#[tokio::test]
async fn head_moved_while_testing_leaves_the_queue() {
    let lab = Lab::new();
    let (one, two) =
        (lab.branch_with("one", &[("1", "x\n")]), lab.branch_with("two", &[("2", "x\n")]));
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&one, &two]).await;
    lab.git(["worktree", "add", "-q", "../one", "one"]);
    write(&lab.path("one"), "1", "more\n");
    let moved = lab.commit_in(&lab.path("one"), "more");
    let now = git.tip(&super::super::lab::branch("one")).await.unwrap().unwrap();
    assert_eq!(now, moved, "the branch is not what the batch holds");
    // What is built without it is another line, and what is built from the old head is the old one.
    let without = build(&git, &base, &[&two]).await;
    assert_ne!(without.tip(), batch.tip());
    assert_eq!(build(&git, &base, &[&one, &two]).await, batch);
}

#[tokio::test]
async fn prefix_lands_and_rest_keeps_its_parents() {
    let lab = Lab::new();
    let heads: Vec<Commit> =
        (0..3).map(|n| lab.branch_with(&format!("s{n}"), &[(&format!("f{n}"), "x\n")])).collect();
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&heads[0], &heads[1], &heads[2]]).await;
    let made: Vec<_> = batch.commits().map(|(_, made)| made.clone()).collect();
    assert_eq!(git.land(&landing(&base, &made[0])).await.unwrap(), LandOutcome::Landed);
    // Built on what has landed, the rest is the same commits: what was tested of them holds.
    let rest = build(&git, &made[0].commit, &[&heads[1], &heads[2]]).await;
    let again: Vec<_> = rest.commits().map(|(_, made)| made.clone()).collect();
    assert_eq!(again, made[1..]);
    let rest = landing(&made[0].commit, &made[2]);
    assert_eq!(git.land(&rest).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["rev-list", "--first-parent", "--count", "main"]), "4");
}

#[tokio::test]
async fn a_message_is_kept_as_it_is() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("1", "x\n")]);
    let message = "Merge s4: a title\n\n# not a comment\n\nMusher-Story: s4\nMusher-Runs: r1, r2\n";
    let entry = BatchEntry { text: text(message), ..entry(&head) };
    let git = lab.open().await;
    let batch = git.build_batch(&lab.tip("main"), &[entry]).await.unwrap();
    let commit = tip(&batch).commit;
    assert_eq!(lab.git(["log", "-1", "--format=%B", commit.as_str()]), message.trim_end());
}
