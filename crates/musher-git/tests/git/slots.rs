//! Slots: made, recycled, kept, removed and looked over.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use musher_core::SlotId;
use musher_git::worktree::{Lane, SlotFiles, SlotStart, WorktreeError, WorktreeSlots};
use musher_git::{Commit, GitError, RelPath};

use super::lab::{Lab, SLOT, author, branch, from_main, kept, read, rel, write};

#[tokio::test]
async fn a_fresh_slot_stands_on_its_branch_at_the_base() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let ready = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    assert!(ready.fresh);
    assert_eq!(ready.path, lab.path("worktrees/1"));
    assert_eq!(ready.head, lab.tip("main"));
    assert_eq!(lab.git_in(&ready.path, ["status", "--porcelain", "--branch"]), "## musher/story/1");
    assert_eq!(read(&ready.path, "dir/b.txt"), "b\n");
    assert!(!lab.git(["worktree", "list", "--porcelain"]).contains("locked"));
}

#[tokio::test]
async fn the_same_call_again_changes_nothing() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    let before = lab.traces();
    let again = slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    assert!(!again.fresh);
    assert_eq!(lab.traces(), before);
}

#[tokio::test]
async fn a_recycled_slot_keeps_caches_and_nothing_else() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let old = branch("musher/old/1");
    let at = slots.prepare(SLOT, &old, &from_main()).await.unwrap().path;
    write(&at, "mine", "the agent's\n");
    lab.commit_in(&at, "the agent's own commit");
    write(&at, "a.txt", "uncommitted\n");
    write(&at, "settings.log", "ignored, and not for the next story\n");
    write(&at, "cache/object", "warm\n");
    write(&at, "deep/cache/x", "not the cache that was named\n");
    lab.git_in(&at, ["init", "-q", "nested"]);
    write(&at, "nested/x", "x\n");
    lab.git_in(&at, ["update-index", "--assume-unchanged", "dir/b.txt"]);
    write(&at, "dir/b.txt", "hidden change\n");
    lab.git_in(&at, ["update-index", "--skip-worktree", ".gitignore"]);
    write(&at, ".gitignore", "hidden too\ncache\n*.log\n");
    write(&lab.repo(), ".git/worktrees/1/index.lock", "");
    lab.write("base", "went on\n");
    let base = lab.commit("base went on");

    let ready = slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert!(!ready.fresh);
    assert_eq!(ready.head, base);
    assert_eq!(
        lab.git_in(&at, ["status", "--porcelain", "--branch", "--ignored"]),
        "## musher/new/1\n!! cache/"
    );
    assert_eq!(read(&at, "cache/object"), "warm\n");
    assert_eq!(read(&at, "dir/b.txt"), "b\n");
    assert_eq!(read(&at, "base"), "went on\n");
    assert_eq!(read(&at, ".gitignore"), "*.log\ncache\n");
    let kept = lab.tip("refs/musher/recovery/old/1");
    assert_eq!(lab.text_of(&kept, "a.txt"), "uncommitted");
    assert_eq!(lab.text_of(&kept, "dir/b.txt"), "hidden change");
    assert_eq!(lab.text_of(&kept, "nested/x"), "x");
    assert_eq!(lab.tip("refs/musher/recovery/old/1^"), lab.tip("musher/old/1"));
}

#[tokio::test]
async fn a_slot_that_is_kept_is_left_as_it_is() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let error = slots.prepare(SLOT, &story, &SlotStart::Keep).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoSlot { .. }), "{error}");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    write(&at, "a.txt", "half done\n");
    write(&lab.repo(), ".git/worktrees/1/index.lock", "");
    let ready = slots.prepare(SLOT, &story, &SlotStart::Keep).await.unwrap();
    assert_eq!((ready.head, ready.fresh), (lab.tip("main"), false));
    assert_eq!(lab.git_in(&at, ["stash", "list"]), "", "the lock is gone, git works");
    assert_eq!(read(&at, "a.txt"), "half done\n");
    let error = slots.prepare(SLOT, &branch("musher/other/1"), &SlotStart::Keep).await.unwrap_err();
    assert!(error.to_string().contains("it is on musher/story/1"), "{error}");
}

#[tokio::test]
async fn a_fork_starts_at_a_snapshot_of_another_slot() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    write(&at, "untracked", "x\n");
    let snapshot = slots.snapshot(SLOT).await.unwrap();
    let start = SlotStart::Commit(snapshot.clone());
    let fork = slots.prepare(SlotId(2), &branch("musher/story/2"), &start).await.unwrap();
    assert_eq!(fork.head, snapshot);
    assert_eq!(read(&fork.path, "untracked"), "x\n");
    let missing = SlotStart::Commit(Commit::new("1".repeat(40)).unwrap());
    let error = slots.prepare(SlotId(3), &branch("musher/story/3"), &missing).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Git(GitError::NoCommit { .. })), "{error}");
}

#[tokio::test]
async fn ten_slots_are_made_and_recycled_at_once() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    for round in ["a", "b"] {
        let prepare = |n: u32| {
            let slots = &slots;
            async move {
                let story = branch(&format!("musher/{round}/{n}"));
                let ready = slots.prepare(SlotId(n), &story, &from_main()).await.unwrap();
                write(&ready.path, "work", format!("{round} {n}\n"));
                slots.finish(SlotId(n), &story, "work", &author()).await.unwrap().unwrap()
            }
        };
        let commits = join_all((1..=10).map(prepare)).await;
        for (n, commit) in (1..).zip(commits) {
            assert_eq!(lab.tip(&format!("musher/{round}/{n}")), commit);
            assert_eq!(lab.text_of(&commit, "work"), format!("{round} {n}"));
        }
    }
    assert_eq!(lab.git(["worktree", "list"]).lines().count(), 11);
    lab.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn a_branch_of_another_checkout_is_refused() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    let before = lab.traces();
    for taken in ["main", "musher/story/1"] {
        let error = slots.prepare(SlotId(2), &branch(taken), &from_main()).await.unwrap_err();
        assert!(error.to_string().contains("is checked out in"), "{error}");
    }
    assert_eq!(lab.traces(), before);
}

#[tokio::test]
async fn a_branch_that_is_reused_keeps_its_old_commits() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    write(&at, "mine", "x\n");
    let commit = lab.commit_in(&at, "the agent's own commit");
    slots.prepare(SLOT, &story, &from_main()).await.unwrap();
    assert_eq!(lab.tip("musher/story/1"), lab.tip("main"));
    assert_eq!(lab.tip("refs/musher/recovery/story/1"), commit);
}

#[tokio::test]
async fn merged_work_needs_no_recovery_ref() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    assert_eq!(slots.keep_work(SLOT, &kept("story/1")).await.unwrap(), None);
    write(&at, "mine", "x\n");
    let commit = lab.commit_in(&at, "the agent's own commit");
    lab.git(["merge", "-q", "--no-ff", "-m", "merge", commit.as_str()]);
    assert_eq!(slots.remove(SLOT, &kept("story/1")).await.unwrap(), None);
    assert!(!at.exists());
}

#[tokio::test]
async fn work_that_is_not_on_the_branch_is_kept_and_told() {
    let lab = Lab::new();
    lab.branch_with("other", &[("a.txt", "theirs\n")]);
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    write(&at, "a.txt", "ours\n");
    lab.commit_in(&at, "ours");
    lab.try_git(&at, ["rebase", "other"]);
    let error = slots.finish(SLOT, &story, "x", &author()).await.unwrap_err().to_string();
    assert!(
        error.contains("middle of a rebase") && error.contains("refs/musher/recovery/story/1"),
        "{error}"
    );
    lab.git_in(&at, ["rebase", "--abort"]);
    lab.git_in(&at, ["switch", "-q", "-c", "own-idea"]);
    let error = slots.finish(SLOT, &story, "x", &author()).await.unwrap_err().to_string();
    assert!(error.contains("it is on own-idea"), "{error}");
    // The slot is recycled all the same.
    lab.try_git(&at, ["rebase", "other"]);
    slots.prepare(SLOT, &branch("musher/next/1"), &from_main()).await.unwrap();
    assert_eq!(lab.git_in(&at, ["status", "--porcelain", "--branch"]), "## musher/next/1");
    assert!(!lab.git_in(&at, ["status"]).contains("rebas"));
}

#[tokio::test]
async fn a_failed_prepare_leaves_nothing_behind() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let nowhere = SlotStart::Base { branch: branch("nowhere") };
    let before = lab.traces();
    let error = slots.prepare(SLOT, &story, &nowhere).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Git(GitError::NoBranch { .. })), "{error}");
    assert_eq!(lab.traces(), before);

    // A filter that fails in the middle of the checkout.
    lab.write("z.bin", "x\n");
    lab.write(".gitattributes", "z.bin filter=broken\n");
    lab.commit("filtered");
    lab.git(["config", "--global", "filter.broken.smudge", "false"]);
    lab.git(["config", "--global", "filter.broken.required", "true"]);
    let before = lab.traces();
    let error = slots.prepare(SLOT, &story, &from_main()).await.unwrap_err();
    assert!(error.to_string().contains("filter"), "{error}");
    assert_eq!(lab.traces(), before);

    // A register that cannot be written; a file stops root too.
    lab.git(["config", "--global", "--remove-section", "filter.broken"]);
    fs::remove_dir_all(lab.repo().join(".git/worktrees")).ok();
    lab.write(".git/worktrees", "in the way");
    slots.prepare(SLOT, &story, &from_main()).await.unwrap_err();
    fs::remove_file(lab.repo().join(".git/worktrees")).unwrap();
    assert_eq!(lab.traces(), before);
    slots.prepare(SLOT, &story, &from_main()).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_told() {
    let lab = Lab::new();
    write(&lab.path(""), "file", "");
    let error =
        WorktreeSlots::new(lab.open().await, &lab.path("file/worktrees"), SlotFiles::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("make it writable or name another"), "{error}");
    // Permissions stop everyone but root.
    let slots = lab.slots().await;
    let folder = lab.path("worktrees");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    if fs::write(folder.join("probe"), "").is_err() {
        let before = lab.traces();
        slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap_err();
        assert_eq!(lab.traces(), before);
    }
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn what_git_does_not_know_is_set_aside_and_never_removed() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    write(&lab.path("worktrees/1"), "precious", "x\n");
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    assert_eq!(read(&lab.path("worktrees/lost-1-1"), "precious"), "x\n");
    // The entry of a slot is gone, or its HEAD is torn: the files are all that can be saved.
    write(&lab.path("worktrees/1"), "work", "x\n");
    fs::remove_dir_all(lab.repo().join(".git/worktrees/1")).unwrap();
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    assert_eq!(read(&lab.path("worktrees/lost-1-2"), "work"), "x\n");
    write(&lab.path("worktrees/1"), "work", "y\n");
    lab.write(".git/worktrees/1/HEAD", "torn");
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    let saved = lab.path("worktrees/lost-1-3").join("work");
    let kept = lab.try_git(&lab.repo(), ["cat-file", "blob", "refs/musher/recovery/slot-1:work"]);
    assert!(saved.exists() || kept.status.success());
}

#[tokio::test]
async fn after_a_crash_stale_entries_go_and_unknown_folders_are_named() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    for n in 1..=3 {
        slots
            .prepare(SlotId(n), &branch(&format!("musher/story/{n}")), &from_main())
            .await
            .unwrap();
    }
    fs::remove_dir_all(slots.path(SlotId(2))).unwrap();
    write(&lab.path("worktrees/stray"), "x", "");
    lab.git(["worktree", "add", "-q", "../by-hand"]);
    fs::remove_dir_all(lab.path("by-hand")).unwrap();
    let found = slots.reconcile(&[SlotId(1), SlotId(2), SlotId(4)]).await.unwrap();
    assert_eq!(found.pruned, [slots.path(SlotId(2))]);
    assert_eq!(found.missing, [SlotId(2), SlotId(4)]);
    assert_eq!(found.unknown, [slots.path(SlotId(3)), lab.path("worktrees/stray")]);
    assert!(lab.git(["worktree", "list"]).contains("by-hand"), "the person's entries are not ours");
}

#[tokio::test]
async fn read_only_folders_do_not_stop_a_removal() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    write(&at, "cache/mod/x", "x\n");
    for name in ["cache/mod", "cache"] {
        fs::set_permissions(at.join(name), PermissionsExt::from_mode(0o555)).unwrap();
    }
    slots.remove(SLOT, &kept("story/1")).await.unwrap();
    assert!(!at.exists());
}

#[tokio::test]
async fn kept_paths_with_signs_in_them_match_themselves_alone() {
    let lab = Lab::new();
    let names = ["a*b", "[x]", "!not", "#no", "-e", "sp ace", "back\\slash"];
    let keep: Vec<RelPath> = names.iter().map(|name| rel(name)).collect();
    let slots = lab.slots_with(SlotFiles { keep, copy: Vec::new() }).await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    for name in names.iter().chain(&["aXb", "x", "not"]) {
        write(&at, &format!("{name}/f"), "x\n");
    }
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    for name in names {
        assert!(at.join(name).join("f").exists(), "{name}");
    }
    for name in ["aXb", "x", "not"] {
        assert!(!at.join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_pieces_of_work_at_once_do_not_wait_for_each_other_for_ever() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    // The pool of threads that the work itself waits for has 512.
    let work = (1..=1_000).map(|number| {
        let lane = Lane::Slot(SlotId(number));
        slots.apart(lane, "work", async |_: WorktreeSlots| {
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            Ok::<_, WorktreeError>(())
        })
    });
    let all = tokio::time::timeout(Duration::from_secs(60), join_all(work)).await;
    assert!(all.expect("they wait for each other").iter().all(Result::is_ok));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_hangs_leaves_room_for_the_work_of_others() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = Arc::new(std::sync::Mutex::new(ended));
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let hang = |number| {
        let (slots, ended, begin) = (slots.clone(), Arc::clone(&ended), begin.clone());
        tokio::spawn(async move {
            let lane = Lane::Look(SlotId(number));
            let hang = async move |_: WorktreeSlots| {
                begin.send(()).unwrap();
                // As a look at a disk that never answers: the thread is gone.
                let _ended = ended.lock().unwrap().recv();
                Ok::<_, WorktreeError>(())
            };
            slots.apart(lane, "hang", hang).await
        })
    };
    let hung: Vec<_> = (1..=40).map(hang).collect();
    // All of them get to hang, more than may be under way at once.
    for _ in &hung {
        begun.recv().await.unwrap();
    }
    let lane = Lane::Slot(SlotId(50));
    let other = slots.apart(lane, "work", async |_: WorktreeSlots| Ok::<_, WorktreeError>(()));
    let done = tokio::time::timeout(Duration::from_secs(30), other).await;
    done.expect("it waits for those that hang").unwrap();
    drop(end);
    for hung in hung {
        hung.await.unwrap().unwrap();
    }
}
