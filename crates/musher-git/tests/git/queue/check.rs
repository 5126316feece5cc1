//! Worktrees in which only checks run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use musher_core::SlotId;
use musher_git::worktree::{CheckWorktreeState, WorktreeSlots};
use musher_git::{Commit, RecoveryName};

use super::super::crash::cut;
use super::super::lab::{Lab, SLOT, author, branch, from_main, make_executable, read, write};
use super::{build, tip};

const STORY: SlotId = SlotId(2);

async fn unclean(slots: &WorktreeSlots, commit: &Commit) -> (Option<Commit>, String) {
    match slots.inspect_check(SLOT, commit).await.unwrap() {
        CheckWorktreeState::Unclean { head, files } => (head, files.to_string()),
        CheckWorktreeState::Clean => panic!("it is clean"),
    }
}

async fn clean(slots: &WorktreeSlots, commit: &Commit) -> bool {
    slots.inspect_check(SLOT, commit).await.unwrap() == CheckWorktreeState::Clean
}

#[tokio::test]
async fn bench_turns_between_prefixes_without_leaks() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("a.txt", "one\n"), ("only/one", "x\n")]);
    let two = lab.branch_with("two", &[("dir/b.txt", "two\n"), ("two", "x\n")]);
    let slots = lab.slots().await;
    let base = lab.tip("main");
    let batch = build(slots.git(), &base, &[&one, &two]).await;
    let prefixes: Vec<Commit> = batch.commits().map(|(_, made)| made.commit.clone()).collect();
    let ready = slots.prepare_check(SLOT, &prefixes[1]).await.unwrap();
    assert!(ready.fresh && clean(&slots, &prefixes[1]).await);
    let stays = fs::metadata(ready.path.join(".gitignore")).unwrap().mtime_nsec();
    // What a check run may leave: a cache that is kept, ignored and unknown files, changes, a repository, attributes.
    write(&ready.path, "cache/warm", "x\n");
    write(&ready.path, "run.log", "ignored\n");
    write(&ready.path, "only/left", "unknown\n");
    write(&ready.path, "dir/.gitattributes", "* text eol=crlf\n");
    write(&ready.path, "dir/b.txt", "changed\n");
    fs::remove_file(ready.path.join("a.txt")).unwrap();
    make_executable(&ready.path.join("two"));
    lab.git_in(&ready.path, ["init", "-q", "nested"]);
    lab.git_in(&ready.path, ["update-index", "--assume-unchanged", "dir/b.txt"]);
    lab.write(".git/worktrees/1/index.lock", "");
    for commit in [&prefixes[0], &base, &prefixes[1]] {
        let ready = slots.prepare_check(SLOT, commit).await.unwrap();
        assert!(!ready.fresh, "only what differs is written");
        assert_eq!(lab.git_in(&ready.path, ["status", "--porcelain", "--ignored"]), "!! cache/");
        assert_eq!(lab.git_in(&ready.path, ["rev-parse", "HEAD"]), commit.as_str());
        let on = lab.try_git(&ready.path, ["symbolic-ref", "-q", "HEAD"]);
        assert!(!on.status.success(), "it is on no branch");
        assert!(clean(&slots, commit).await);
    }
    assert_eq!(read(&ready.path, "dir/b.txt"), "two\n");
    assert_eq!(fs::metadata(ready.path.join(".gitignore")).unwrap().mtime_nsec(), stays);
    assert_eq!(lab.git(["for-each-ref", "refs/musher"]), "", "leftovers of checks are no work");
    assert_eq!(slots.prepare_check(SLOT, &prefixes[1]).await.unwrap().head, prefixes[1]);
}

#[tokio::test]
async fn gate_that_edits_tracked_files_is_unclean() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let commit = lab.tip("main");
    let at = slots.prepare_check(SLOT, &commit).await.unwrap().path;
    // What is new is none of the commit's, and no change.
    write(&at, "report.xml", "x\n");
    write(&at, "run.log", "x\n");
    assert!(clean(&slots, &commit).await);
    write(&at, "a.txt", "formatted\n");
    assert_eq!(unclean(&slots, &commit).await, (None, "a.txt".to_owned()));
    slots.prepare_check(SLOT, &commit).await.unwrap();
    make_executable(&at.join("a.txt"));
    fs::remove_file(at.join("dir/b.txt")).unwrap();
    assert_eq!(unclean(&slots, &commit).await, (None, "a.txt, dir/b.txt".to_owned()));
    slots.prepare_check(SLOT, &commit).await.unwrap();
    assert!(clean(&slots, &commit).await);
    // Written over with the same bytes, it is the same.
    write(&at, "a.txt", "one\ntwo\nthree\n");
    assert!(clean(&slots, &commit).await);
}

#[tokio::test]
async fn a_change_that_is_hidden_from_git_is_found() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let commit = lab.tip("main");
    let at = slots.prepare_check(SLOT, &commit).await.unwrap().path;
    let file = at.join("a.txt");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    // As long as it was, and as old as it was; git is told to look away, and the index says that it is so.
    write(&at, "a.txt", "ONE\ntwo\nthree\n");
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    lab.git_in(&at, ["update-index", "--assume-unchanged", "a.txt"]);
    lab.git_in(&at, ["update-index", "--skip-worktree", "a.txt"]);
    assert_eq!(unclean(&slots, &commit).await, (None, "a.txt".to_owned()));
    // Line ends that attributes would take for none.
    slots.prepare_check(SLOT, &commit).await.unwrap();
    write(&at, "dir/b.txt", "b\r\n");
    write(&at, "dir/.gitattributes", "* text eol=lf\n");
    write(&at, ".git-info", "x");
    assert_eq!(unclean(&slots, &commit).await, (None, "dir/b.txt".to_owned()));
    // Without the index that was kept, every file is read.
    slots.prepare_check(SLOT, &commit).await.unwrap();
    fs::remove_file(lab.path("scratch/check-1.index")).unwrap();
    assert!(clean(&slots, &commit).await);
    let later = SystemTime::now() + Duration::from_secs(5);
    fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
    assert!(clean(&slots, &commit).await, "a date is no change");
    write(&at, "a.txt", "ONE\ntwo\nthree\n");
    assert_eq!(unclean(&slots, &commit).await, (None, "a.txt".to_owned()));
}

#[tokio::test]
async fn gate_that_commits_in_the_bench_is_unclean() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let commit = lab.tip("main");
    let at = slots.prepare_check(SLOT, &commit).await.unwrap().path;
    write(&at, "new", "x\n");
    let made = lab.commit_in(&at, "by the gate");
    assert_eq!(unclean(&slots, &commit).await, (Some(made.clone()), String::new()));
    slots.prepare_check(SLOT, &commit).await.unwrap();
    assert!(clean(&slots, &commit).await && !at.join("new").exists());
    // On a branch, even at the same commit, and in the middle of something.
    lab.git_in(&at, ["switch", "-q", "-c", "by-the-gate"]);
    assert_eq!(unclean(&slots, &commit).await.0, Some(commit.clone()));
    slots.prepare_check(SLOT, &commit).await.unwrap();
    lab.git_in(&at, ["merge", "-q", "--no-commit", "--no-ff", made.as_str()]);
    assert_eq!(unclean(&slots, &commit).await.0, Some(commit.clone()));
    slots.prepare_check(SLOT, &commit).await.unwrap();
    assert!(clean(&slots, &commit).await);
    assert_eq!(lab.tip("by-the-gate"), commit, "no branch was moved");
}

#[tokio::test]
async fn ignored_leftovers_do_not_leave_the_story_slot() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(STORY, &story, &from_main()).await.unwrap().path;
    write(&at, "new", "x\n");
    write(&at, "needed.log", "made by hand in this slot, and ignored\n");
    write(&at, "cache/warm", "x\n");
    let head = slots.finish(STORY, &story, "the story", &author()).await.unwrap().unwrap();
    let tested = tip(&build(slots.git(), &lab.tip("main"), &[&head]).await);
    let check = slots.prepare_check(SLOT, &tested.commit).await.unwrap().path;
    assert!(check.join("new").exists());
    assert!(!check.join("needed.log").exists() && !check.join("cache").exists());
    assert!(!lab.files_of(&tested.commit).iter().any(|file| file.ends_with(".log")));
    assert!(at.join("needed.log").exists());
}

#[tokio::test]
async fn a_slot_that_an_agent_had_is_turned_only_after_its_work_was_kept() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    write(&at, "work", "uncommitted\n");
    let commit = lab.tip("main");
    slots.prepare_check(SLOT, &commit).await.unwrap();
    assert!(clean(&slots, &commit).await && !at.join("work").exists());
    let kept = slots.git().recovery_refs().await.unwrap();
    assert_eq!(lab.text_of(&kept[0].commit, "work"), "uncommitted");
    // And an agent may have it again.
    slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    slots.remove(SLOT, &RecoveryName::of(&story)).await.unwrap();
}

#[tokio::test]
async fn a_turn_can_be_cut_short_anywhere() {
    let lab = Lab::new();
    let long = "line\n".repeat(5000);
    let other = lab.branch_with("other", &[("a.txt", &long), ("new", "x\n")]);
    let main = lab.tip("main");
    for polls in (1..).step_by(2) {
        let slots = lab.slots().await;
        let (from, to) = if polls % 4 == 1 { (&main, &other) } else { (&other, &main) };
        slots.prepare_check(SLOT, from).await.unwrap();
        write(&slots.path(SLOT), "dir/b.txt", "changed\n");
        let done = cut(polls, slots.prepare_check(SLOT, to)).await;
        let slots = lab.slots().await;
        slots.prepare_check(SLOT, to).await.unwrap();
        assert!(clean(&slots, to).await, "cut after {polls}");
        assert_eq!(lab.git_in(&slots.path(SLOT), ["status", "--porcelain"]), "");
        if done.is_some() {
            break;
        }
    }
    // A fresh one as well.
    for polls in (1..).step_by(3) {
        let slots = lab.slots().await;
        slots.remove(SLOT, &super::super::lab::kept("x")).await.unwrap();
        let done = cut(polls, slots.prepare_check(SLOT, &other)).await;
        slots.prepare_check(SLOT, &other).await.unwrap();
        assert!(clean(&slots, &other).await, "cut after {polls}");
        if done.is_some() {
            break;
        }
    }
}
