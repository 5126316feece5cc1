//! A death at any point of a preparation: the same call again succeeds and loses nothing.

use std::fs;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use musher_git::RecoveryName;
use musher_git::worktree::{PreparedSlot, WorktreeSlots};

use super::lab::{Lab, SLOT, author, branch, from_main, read, write};

/// Polls a future so many times and then drops it, which kills the git that it waits for.
struct Cut<F> {
    future: F,
    polls: u32,
}

impl<F: Future + Unpin> Future for Cut<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        Pin::new(&mut self.future).poll(context).map(Some)
    }
}

pub(crate) async fn cut<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    Cut { future: pin!(future), polls }.await
}

fn assert_ready(lab: &Lab, ready: &PreparedSlot, name: &str) {
    let status = lab.git_in(&ready.path, ["status", "--porcelain", "--branch"]);
    assert_eq!(status, format!("## {name}"));
    assert_eq!(ready.head, lab.tip("main"));
    let register = lab.git(["worktree", "list", "--porcelain"]);
    assert!(!register.contains("locked") && !register.contains("prunable"), "{register}");
    assert_eq!(register.matches("worktree ").count(), 2, "{register}");
}

#[tokio::test]
async fn a_fresh_slot_can_be_cut_short_anywhere() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    for polls in (1..).step_by(2) {
        let done = cut(polls, slots.prepare(SLOT, &story, &from_main())).await;
        let ready = slots.prepare(SLOT, &story, &from_main()).await.unwrap();
        assert_ready(&lab, &ready, "musher/story/1");
        if done.is_some() {
            break;
        }
        slots.remove(SLOT, &super::lab::kept("x")).await.unwrap();
        lab.git(["branch", "-D", "musher/story/1"]);
    }
    let found = slots.reconcile(&[SLOT]).await.unwrap();
    assert!(found.unknown.is_empty(), "{found:?}");
    assert!(slots.path(SLOT).exists());
    assert_eq!(lab.git(["for-each-ref", "refs/musher"]), "", "nothing was there to keep");
}

/// Whether some recovery ref holds the work of a round.
fn is_kept(lab: &Lab, work: &str) -> bool {
    let refs = lab.git(["for-each-ref", "--format=%(refname)", "refs/musher/recovery"]);
    refs.lines().any(|name| {
        let blob = lab.try_git(&lab.repo(), ["cat-file", "blob", &format!("{name}:work")]);
        blob.stdout == work.as_bytes()
    })
}

#[tokio::test]
async fn a_recycled_slot_can_be_cut_short_anywhere() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    slots.prepare(SLOT, &branch("musher/story/0"), &from_main()).await.unwrap();
    for polls in (1..).step_by(4) {
        let work = format!("work before {polls}\n");
        write(&slots.path(SLOT), "work", &work);
        write(&slots.path(SLOT), "cache/warm", "x");
        let name = format!("musher/story/{polls}");
        let done = cut(polls, slots.prepare(SLOT, &branch(&name), &from_main())).await;
        let ready = slots.prepare(SLOT, &branch(&name), &from_main()).await.unwrap();
        assert_ready(&lab, &ready, &name);
        assert!(is_kept(&lab, &work), "cut after {polls}");
        if done.is_some() {
            break;
        }
    }
    let found = slots.reconcile(&[SLOT]).await.unwrap();
    assert!(found.unknown.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_slot_that_is_taken_from_its_story_can_be_cut_short_anywhere() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    for polls in (1..).step_by(4) {
        let name = format!("musher/story/{polls}");
        let ready = slots.prepare(SLOT, &branch(&name), &from_main()).await.unwrap();
        assert_ready(&lab, &ready, &name);
        let work = format!("work before {polls}\n");
        write(&ready.path, "work", &work);
        write(&ready.path, "cache/warm", "x");
        let recovery = RecoveryName::of(&branch(&name));
        let done = cut(polls, slots.release(SLOT, &recovery, &branch("main"))).await;
        slots.release(SLOT, &recovery, &branch("main")).await.unwrap();
        assert!(is_kept(&lab, &work), "cut after {polls}");
        assert_eq!(lab.git_in(&ready.path, ["status", "--porcelain"]), "");
        assert!(ready.path.join("cache/warm").exists());
        if done.is_some() {
            break;
        }
    }
    let ready = slots.prepare(SLOT, &branch("musher/last/1"), &from_main()).await.unwrap();
    assert_ready(&lab, &ready, "musher/last/1");
}

#[tokio::test]
async fn a_merge_that_is_cut_short_anywhere_is_in_no_other_merges_way() {
    for polls in (1..).step_by(3) {
        let lab = Lab::new();
        let long = "line\n".repeat(5000);
        let one = lab.branch_with("one", &[("a.txt", &long), ("one/new", "1\n")]);
        let two = lab.branch_with("two", &[("dir/b.txt", "2\n"), ("two", "2\n")]);
        let git = lab.open().await;
        let main = branch("main");
        let done = cut(polls, git.merge(&main, &one, "one", &author())).await;
        // Another server begins, and the person has done nothing in between.
        let git = lab.open().await;
        git.merge(&main, &two, "two", &author()).await.unwrap();
        git.merge(&main, &one, "one", &author()).await.unwrap();
        assert_eq!(lab.git(["status", "--porcelain"]), "", "cut after {polls}");
        for file in ["one/new", "two"] {
            assert!(lab.repo().join(file).exists(), "cut after {polls}: {file}");
        }
        assert_eq!(read(&lab.repo(), "a.txt"), long);
        assert_eq!(lab.git(["rev-list", "--merges", "--count", "main"]), "2");
        if done.is_some() {
            break;
        }
    }
}

#[tokio::test]
async fn what_a_person_changed_after_a_merge_was_cut_short_stays_as_it_is() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("a.txt", "1\n"), ("new", "1\n")]);
    let two = lab.branch_with("two", &[("dir/b.txt", "2\n")]);
    let main = branch("main");
    // The files are those of the merge, and the branch is still where it was.
    let first = lab.tip("main");
    lab.open().await.merge(&main, &one, "one", &author()).await.unwrap();
    let merged = lab.tip("main");
    lab.git(["update-ref", "refs/heads/main", first.as_str()]);
    let note = format!(r#"{{"branch":"main","base":"{first}","commit":"{merged}"}}"#);
    fs::write(lab.path("scratch/merging.json"), note).unwrap();
    lab.write("new", "by hand\n");
    let git = lab.open().await;
    let refused = git.merge(&main, &one, "one", &author()).await.unwrap_err();
    assert!(refused.to_string().contains("new"), "{refused}");
    assert_eq!(read(&lab.repo(), "new"), "by hand\n");
    assert_eq!(read(&lab.repo(), "a.txt"), "one\ntwo\nthree\n");
    git.merge(&main, &two, "two", &author()).await.unwrap();
}

#[tokio::test]
async fn a_git_that_a_dead_musher_left_is_waited_for() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    let left = fs::File::options().append(true).open(lab.path("scratch/slot-1.lock")).unwrap();
    left.lock().unwrap();
    let start = from_main();
    let mut waiting = pin!(slots.prepare(SLOT, &story, &start));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(early.is_err(), "nothing is touched while it works");
    drop(left);
    waiting.await.unwrap();
}

async fn succeeds_from(leave: impl FnOnce(&Lab, &WorktreeSlots)) {
    let lab = Lab::new();
    let slots = lab.slots().await;
    leave(&lab, &slots);
    let story = branch("musher/story/1");
    let ready = slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    assert_ready(&lab, &ready, "musher/story/1");
}

#[tokio::test]
async fn whatever_a_killed_git_leaves_is_cleared_away() {
    const REASON: &str = "musher is preparing this worktree";
    // The entry was begun and has no path yet.
    succeeds_from(|lab, _| lab.write(".git/worktrees/1/locked", REASON)).await;
    // And the folder was made.
    succeeds_from(|lab, slots| {
        lab.write(".git/worktrees/1/locked", REASON);
        fs::create_dir(slots.path(SLOT)).unwrap();
    })
    .await;
    // The entry is whole and there are no files, or some.
    for partly in [false, true] {
        succeeds_from(|lab, slots| {
            let path = slots.path(SLOT);
            let path = path.to_str().unwrap();
            lab.git([
                "worktree",
                "add",
                "-q",
                "--no-checkout",
                "--detach",
                "--lock",
                "--reason",
                REASON,
                path,
            ]);
            if partly {
                write(&slots.path(SLOT), "a.txt", "half a f");
                lab.write(".git/worktrees/1/index.lock", "torn");
            }
        })
        .await;
    }
    // The branch was made and HEAD was not put on it; a lock on it was left.
    succeeds_from(|lab, _| {
        lab.git(["branch", "musher/story/1"]);
        lab.write(".git/refs/heads/musher/story/1.lock", "");
    })
    .await;
    // The folder is gone and the entry is not.
    succeeds_from(|lab, slots| {
        lab.git(["worktree", "add", "-q", "--detach", slots.path(SLOT).to_str().unwrap()]);
        fs::remove_dir_all(slots.path(SLOT)).unwrap();
    })
    .await;
}
