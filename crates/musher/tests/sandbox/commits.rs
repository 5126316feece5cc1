//! How commits come over, and what an agent cannot make of that.

use std::fs;

use musher_git::worktree::{SlotStart, WorktreeError};
use musher_git::{Author, Branch, RecoveryName};

use crate::lab::{BRANCH, Lab, SLOT};

fn branch() -> Branch {
    Branch::new(BRANCH).unwrap()
}

fn finish(lab: &Lab) -> Result<Option<musher_git::Commit>, WorktreeError> {
    lab.block_on(lab.slots.finish(SLOT, &branch(), "left\n", &Author::musher()))
}

#[test]
fn what_is_left_uncommitted_is_committed_on_top_of_what_came_over() {
    let lab = Lab::new();
    lab.inside("echo x > new; git add new; git commit -qm one; echo y > left");
    assert!(finish(&lab).unwrap().is_some());
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "left\none\nfirst");
    // A later look brings nothing back that has gone on since.
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "left\none\nfirst");
    // The next run finds it all.
    lab.block_on(lab.slots.prepare(SLOT, &branch(), &SlotStart::Keep)).unwrap();
    lab.block_on(lab.slots.enclose(SLOT)).unwrap();
    let told = lab.inside("git log --format=%s; git status --short; echo END");
    assert!(told.contains("left\none\nfirst\nEND"), "{told}");
}

#[test]
fn a_history_that_was_written_anew_comes_over_as_it_is() {
    let lab = Lab::new();
    lab.inside("echo x > new; git add new; git commit -qm one");
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    lab.inside("git commit --amend -qm other");
    finish(&lab).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "other\nfirst");
}

#[test]
fn branches_of_the_agents_own_are_kept_and_there_again_for_its_next_run() {
    let lab = Lab::new();
    lab.inside(
        "git checkout -qb side; echo x > s; git add s; git commit -qm side; git checkout -q -",
    );
    finish(&lab).unwrap();
    let kept = lab.git(&["for-each-ref", "--format=%(subject)", "refs/musher/recovery/"]);
    assert_eq!(kept, "side");
    assert_eq!(lab.git(&["branch", "--list", "side"]), "");
    lab.block_on(lab.slots.enclose(SLOT)).unwrap();
    assert_eq!(lab.inside("git log -1 --format=%s side").lines().next(), Some("side"));
    assert_eq!(lab.inside("git rev-parse --verify side | wc -c").lines().next(), Some("41"));
}

#[test]
fn commits_of_a_person_on_the_same_branch_are_not_lost() {
    let lab = Lab::new();
    lab.inside("echo x > new; git add new; git commit -qm agent");
    let made = lab.git(&["commit-tree", "-p", BRANCH, "-m", "person", "main^{tree}"]);
    lab.git(&["update-ref", "refs/heads/musher/s1/1", &made]);
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "-1", "--format=%s", BRANCH]), "person");
    let kept = lab.git(&["for-each-ref", "--format=%(subject)", "refs/musher/recovery/"]);
    assert_eq!(kept, "agent");
}

#[test]
fn a_crash_in_the_middle_of_bringing_over_leaves_the_branch_to_the_agent() {
    let lab = Lab::new();
    let note = |text: String| fs::write(lab.path("state/sandboxes/1/seen"), text).unwrap();
    let first = lab.main.clone();
    lab.inside("echo x > new; git add new; git commit -qm one");
    let one = lab.inside("git rev-parse HEAD").lines().next().unwrap().to_owned();
    // It ended before the branch was moved.
    note(format!("{first}\n{one}\n"));
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "-1", "--format=%s", BRANCH]), "one");
    // It ended after the branch was moved and before that was noted.
    note(format!("{first}\n{one}\n"));
    lab.inside("echo y > new; git commit -qam two");
    lab.block_on(lab.slots.snapshot(SLOT)).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "two\none\nfirst");
    assert_eq!(lab.git(&["for-each-ref", "refs/musher/recovery/"]), "");
}

#[test]
fn a_home_that_cannot_be_entered_is_cleared_all_the_same() {
    let lab = Lab::new();
    lab.inside("mkdir -p $HOME/a/b; touch $HOME/a/b/c; chmod 000 $HOME/a/b; chmod 000 $HOME/a");
    let base = SlotStart::Base { branch: Branch::new("main").unwrap() };
    lab.block_on(lab.slots.prepare(SLOT, &Branch::new("musher/s2/1").unwrap(), &base)).unwrap();
    assert!(!lab.path("state/sandboxes/1/home/a").exists());
}

#[test]
fn a_commit_that_needs_a_forged_object_is_refused() {
    let lab = Lab::new();
    let told = lab.inside(
        "echo real > f; o=$(git hash-object -w f); git init -q /tmp/f; echo forged > /tmp/f/x; w=$(git -C /tmp/f hash-object -w x); \
         t=.; p=$GIT/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); rm -f $p; \
         cp /tmp/f/.git/objects/$(echo $w | cut -c1-2)/$(echo $w | cut -c3-) $p; \
         git update-index --add --cacheinfo 100644,$o,f; git commit -qm forged && echo DONE",
    );
    assert!(told.contains("DONE"), "{told}");
    let refused = lab.block_on(lab.slots.snapshot(SLOT));
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "first");
}

#[test]
fn programs_that_an_agent_sets_for_git_run_inside_or_not_at_all() {
    let lab = Lab::new();
    let home = lab.path("home");
    lab.inside(
        "printf '#!/bin/sh\\ntouch $HOME/ran; touch /tmp/ran\\n' > /tmp/x; chmod +x /tmp/x; cp /tmp/x $HOME/x; \
         git config core.fsmonitor $HOME/x; git config core.pager $HOME/x; git config uploadpack.packObjectsHook $HOME/x; \
         mkdir -p $GIT/hooks; cp /tmp/x $GIT/hooks/reference-transaction; echo y > new; git add new; git commit -qm one",
    );
    finish(&lab).unwrap();
    assert_eq!(lab.git(&["log", "--format=%s", BRANCH]), "one\nfirst");
    assert!(!home.join("ran").exists(), "it ran on the machine");
}

#[test]
fn objects_of_another_repository_do_not_come_over() {
    let lab = Lab::new();
    let other = lab.path("home/other-repo");
    lab.git(&["init", "-q", other.to_str().unwrap()]);
    lab.git(&["-C", other.to_str().unwrap(), "add", "-A"]);
    lab.git(&["-C", other.to_str().unwrap(), "commit", "-qm", "private"]);
    let private = lab.git(&["-C", other.to_str().unwrap(), "rev-parse", "HEAD"]);
    lab.inside(&format!(
        "echo {}/.git/objects >> $GIT/objects/info/alternates; echo {private} > $GIT/refs/heads/musher/s1/1",
        other.display()
    ));
    let brought = lab.block_on(lab.slots.snapshot(SLOT));
    assert!(brought.is_err() || lab.git(&["log", "-1", "--format=%s", BRANCH]) == "first");
    assert!(!lab.git(&["log", "--format=%s", "--all"]).contains("private"));
}

#[test]
fn a_pipe_in_the_git_folder_holds_up_nobody_for_long() {
    let lab = Lab::new();
    lab.inside("rm -f $GIT/packed-refs $GIT/config; mkfifo $GIT/packed-refs $GIT/config");
    let began = std::time::Instant::now();
    let brought = lab.block_on(lab.slots.snapshot(SLOT));
    assert!(brought.is_err() && began.elapsed().as_secs() < 50, "{brought:?}");
    // The slot can be used for something else, and what was there is set aside.
    lab.block_on(lab.slots.release(
        SLOT,
        &RecoveryName::of(&branch()),
        &Branch::new("main").unwrap(),
    ))
    .unwrap();
    assert!(lab.path("state/sandboxes/lost-1-1/git").exists());
}

#[test]
fn a_slot_for_another_story_has_nothing_of_the_earlier_one() {
    let lab = Lab::new();
    lab.inside("echo mine > $HOME/note; echo mine > /tmp/note");
    let base = SlotStart::Base { branch: Branch::new("main").unwrap() };
    lab.block_on(lab.slots.prepare(SLOT, &Branch::new("musher/s2/1").unwrap(), &base)).unwrap();
    lab.block_on(lab.slots.enclose(SLOT)).unwrap();
    let told = lab.inside("ls -A $HOME /tmp | grep note; git branch --show-current");
    assert!(!told.contains("note") && told.contains("musher/s2/1"), "{told}");
}

#[test]
fn a_fork_has_the_home_of_the_run_that_it_continues() {
    let lab = Lab::new();
    lab.inside(
        "mkdir -p $HOME/.agent; echo session > $HOME/.agent/s; mkfifo $HOME/pipe; ln -s $STATE/token $HOME/link; \
         truncate -s 100M $HOME/huge",
    );
    let other = musher_core::SlotId(2);
    let base = SlotStart::Base { branch: Branch::new("main").unwrap() };
    lab.block_on(lab.slots.prepare(other, &Branch::new("musher/s1/2").unwrap(), &base)).unwrap();
    lab.block_on(lab.slots.inherit_home(SLOT, other)).unwrap();
    let home = lab.path("state/sandboxes/2/home");
    assert_eq!(fs::read_to_string(home.join(".agent/s")).unwrap(), "session\n");
    for name in ["pipe", "link", "huge"] {
        assert!(home.join(name).symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn repositories_that_cannot_be_shown_are_refused_in_words() {
    let refused = |change: &dyn Fn(&std::path::Path)| {
        let lab = Lab::new();
        change(&lab.worktree());
        change(&lab.repo());
        lab.block_on(lab.slots.enclose(SLOT)).map(|_| ()).unwrap_err().to_string()
    };
    let write = |name: &'static str, text: &'static str| {
        move |folder: &std::path::Path| fs::write(folder.join(name), text).unwrap()
    };
    assert!(refused(&write(".gitmodules", "[submodule \"x\"]\n")).contains("submodules"));
    assert!(refused(&write(".gitattributes", "*.bin filter=lfs\n")).contains("Git LFS"));
    let borrows = |folder: &std::path::Path| {
        if folder.join(".git").is_dir() {
            fs::write(folder.join(".git/objects/info/alternates"), "/x\n").unwrap();
        }
    };
    assert!(refused(&borrows).contains("borrows objects"));
}
