//! What an agent writes into a repository never makes Musher's git start a program.

use std::fs;
use std::path::{Path, PathBuf};

use musher_git::DiffLimits;
use musher_git::worktree::{SlotStart, WorktreeSlots};

use super::lab::{Lab, SLOT, author, branch, from_main, kept, make_executable, read, write};

/// A script that leaves a sign when it is started.
struct Trap {
    script: PathBuf,
    sign: PathBuf,
}

impl Trap {
    fn new(lab: &Lab) -> Self {
        let (script, sign) = (lab.path("trap"), lab.path("sprung"));
        // It passes its input on, so that whatever started it goes on and springs the next.
        let text = format!("#!/bin/sh\necho \"$0 $@\" >> {}\nexec cat\n", sign.display());
        fs::write(&script, text).unwrap();
        make_executable(&script);
        Self { script, sign }
    }

    fn assert_unsprung(&self, after: &str) {
        let sprung = fs::read_to_string(&self.sign).unwrap_or_default();
        assert!(sprung.is_empty(), "after {after}: {sprung}");
    }

    fn assert_live(&self) {
        assert!(self.sign.exists(), "the trap is dull, so the test proves nothing");
        fs::remove_file(&self.sign).unwrap();
    }

    /// Every setting and file that can make some git command start a program.
    fn set(&self, lab: &Lab, worktree: &Path) {
        let script = self.script.to_str().unwrap();
        let repo = lab.repo();
        for key in [
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "core.editor",
            "core.askPass",
            "core.gitProxy",
            "core.alternateRefsCommand",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "merge.evil.driver",
            "filter.evil.clean",
            "filter.evil.smudge",
            "gpg.program",
            "gpg.ssh.program",
            "credential.helper",
            "sequence.editor",
            "uploadpack.packObjectsHook",
            "interactive.diffFilter",
            "alias.status",
            "alias.diff-tree",
        ] {
            lab.git(["config", key, script]);
        }
        lab.git(["config", "alias.merge-tree", &format!("!{script}")]);
        lab.git(["config", "commit.gpgSign", "true"]);
        lab.git(["config", "merge.default", "evil"]);
        lab.git(["config", "remote.origin.url", &format!("ext::{script}")]);
        lab.git(["config", "remote.origin.promisor", "true"]);
        lab.git(["config", "protocol.ext.allow", "always"]);
        write(&lab.path(""), "hooks/post-checkout", "");
        for folder in [repo.join(".git/hooks"), lab.path("hooks")] {
            for hook in [
                "pre-commit",
                "post-commit",
                "commit-msg",
                "prepare-commit-msg",
                "post-checkout",
                "post-merge",
                "pre-merge-commit",
                "reference-transaction",
                "post-index-change",
                "fsmonitor-watchman",
                "pre-auto-gc",
                "post-rewrite",
            ] {
                fs::copy(&self.script, folder.join(hook)).unwrap();
            }
        }
        lab.git(["config", "core.hooksPath", lab.path("hooks").to_str().unwrap()]);
        let included = format!("[filter \"more\"]\n\tprocess = {script}\n");
        write(&lab.path(""), "included", included);
        lab.git(["config", "include.path", lab.path("included").to_str().unwrap()]);
        let attributes = "* filter=evil diff=evil merge=evil\n*.more filter=more\n";
        lab.write(".git/info/attributes", attributes);
        write(worktree, ".gitattributes", attributes);
        lab.git(["config", "extensions.worktreeConfig", "true"]);
        let own =
            format!("[core]\n\tfsmonitor = {script}\n[filter \"evil\"]\n\tclean = {script}\n");
        lab.write(".git/worktrees/1/config.worktree", own);
    }
}

struct Scene {
    lab: Lab,
    trap: Trap,
    slots: WorktreeSlots,
    at: PathBuf,
}

/// A slot in which an agent has worked and set its traps.
async fn scene() -> Scene {
    let lab = Lab::new();
    lab.branch_with("other", &[("a.txt", "1\n2\n3\n"), ("o", "x\n")]);
    let trap = Trap::new(&lab);
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    write(&at, "dir/b.txt", "changed\n");
    write(&at, "x.more", "new\n");
    trap.set(&lab, &at);
    Scene { lab, trap, slots, at }
}

#[tokio::test]
async fn no_operation_springs_a_trap_that_an_agent_set() {
    let Scene { lab, trap, slots, at } = scene().await;
    lab.try_git(&at, ["add", "-A"]);
    trap.assert_live();
    lab.try_git(&at, ["status"]);
    trap.assert_live();
    fs::remove_file(&trap.sign).ok();

    // The handle that knew the repository before, and one that is opened afterwards.
    let git = lab.open().await;
    trap.assert_unsprung("open");
    let checkout = git.checkout_at(&at).unwrap();
    let limits = DiffLimits::default();
    git.status(&checkout).await.unwrap();
    trap.assert_unsprung("status");
    slots.snapshot(SLOT).await.unwrap();
    trap.assert_unsprung("snapshot");
    slots.diff(SLOT, &branch("main"), limits).await.unwrap();
    trap.assert_unsprung("diff");
    let story = branch("musher/story/1");
    let tip = slots.finish(SLOT, &story, "work", &author()).await.unwrap().unwrap();
    trap.assert_unsprung("finish");
    assert_eq!(lab.git(["log", "-1", "--format=%G?", tip.as_str()]), "N");
    fs::remove_file(&trap.sign).ok();
    let (base, other) = (git.resolve(&branch("main")).await.unwrap(), lab.tip("other"));
    git.diff(&base, &tip, limits).await.unwrap();
    git.merge_check(&other, &tip).await.unwrap();
    trap.assert_unsprung("merge_check");
    git.merge(&branch("other"), &tip, "merge", &author()).await.unwrap();
    trap.assert_unsprung("merge");
    write(&at, "dir/b.txt", "changed again\n");
    slots.prepare(SLOT, &branch("musher/next/1"), &from_main()).await.unwrap();
    trap.assert_unsprung("recycling");
    assert_eq!(read(&at, "dir/b.txt"), "b\n");
    git.worktrees().await.unwrap();
    git.recovery_refs().await.unwrap();
    git.default_branch().await.unwrap();
    slots.reconcile(&[SLOT]).await.unwrap();
    slots.remove(SLOT, &kept("story/1")).await.unwrap();
    trap.assert_unsprung("remove");
}

#[tokio::test]
async fn settings_written_after_the_repository_was_opened_do_not_reach_a_fresh_slot_or_the_main_checkout()
 {
    let Scene { trap, slots, at, lab: _lab } = scene().await;
    let story = branch("musher/story/1");
    let tip = slots.finish(SLOT, &story, "work", &author()).await.unwrap().unwrap();
    // This handle was opened before the traps were set.
    slots.remove(SLOT, &kept("story/1")).await.unwrap();
    assert!(!at.exists());
    slots.prepare(SLOT, &branch("musher/next/1"), &SlotStart::Commit(tip)).await.unwrap();
    trap.assert_unsprung("a fresh slot");
    assert_eq!(read(&at, "dir/b.txt"), "changed\n");
}

#[tokio::test]
async fn settings_that_an_agent_wrote_before_a_restart_reach_no_fresh_slot_and_no_main_checkout() {
    let Scene { trap, slots, at, lab } = scene().await;
    let story = branch("musher/story/1");
    let tip = slots.finish(SLOT, &story, "work", &author()).await.unwrap().unwrap();
    slots.remove(SLOT, &kept("story/1")).await.unwrap();
    // The next server opens the repository with all that the agent has written.
    let slots = lab.slots().await;
    trap.assert_unsprung("opening");
    slots.prepare(SLOT, &branch("musher/next/1"), &SlotStart::Commit(tip.clone())).await.unwrap();
    trap.assert_unsprung("a fresh slot");
    assert_eq!(read(&at, "dir/b.txt"), "changed\n");
    let git = slots.git();
    git.status(&git.main()).await.unwrap();
    trap.assert_unsprung("a look at the main checkout");
    git.merge(&branch("main"), &tip, "merge", &author()).await.unwrap();
    trap.assert_unsprung("a merge into the main checkout");
    assert_eq!(read(&lab.repo(), "dir/b.txt"), "changed\n");
}

#[tokio::test]
async fn settings_that_say_how_files_are_looked_at_hide_nothing() {
    let Scene { slots, at, lab, .. } = scene().await;
    lab.git(["config", "core.ignoreCase", "true"]);
    lab.git(["config", "core.fileMode", "false"]);
    lab.git(["config", "core.sparseCheckout", "true"]);
    lab.git(["config", "core.autocrlf", "true"]);
    lab.write(".git/worktrees/1/info/sparse-checkout", "/nothing\n");
    write(&at, "A.TXT", "another\n");
    write(&at, "lines", "one\r\ntwo\r\n");
    make_executable(&at.join("a.txt"));
    write(&at, "dir/b.txt", "hidden\n");
    lab.try_git(&at, ["update-index", "--skip-worktree", "dir/b.txt"]);
    let snapshot = slots.snapshot(SLOT).await.unwrap();
    assert!(lab.files_of(&snapshot).contains(&"A.TXT".to_owned()));
    assert_eq!(lab.text_of(&snapshot, "dir/b.txt"), "hidden");
    assert!(lab.git(["ls-tree", snapshot.as_str(), "a.txt"]).starts_with("100755"));
    assert_eq!(lab.text_of(&snapshot, "lines"), "one\r\ntwo");
}

#[tokio::test]
async fn a_forged_history_hides_no_work() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    write(&at, "work", "x\n");
    let tip = slots.finish(SLOT, &story, "work", &author()).await.unwrap().unwrap();
    // The main branch is said to come after the agent's work, which would be safe then.
    lab.write(".git/info/grafts", format!("{} {tip}\n", lab.tip("main")));
    let git = lab.open().await;
    assert!(!git.contains(&lab.tip("main"), &tip).await.unwrap());
    // Work that is a beginning of its own cannot be merged.
    lab.write(".git/shallow", format!("{tip}\n"));
    let git = lab.open().await;
    assert!(git.contains(&tip, &lab.tip("main")).await.unwrap());
    git.merge(&branch("main"), &tip, "merge", &author()).await.unwrap();
}

#[tokio::test]
async fn a_worktree_that_points_elsewhere_is_not_followed() {
    let Scene { lab, trap, slots, at } = scene().await;
    let git = lab.open().await;
    // A repository of the agent's own, with its own settings, in the place of ours.
    lab.git(["init", "-q", "../evil"]);
    let evil = lab.path("evil");
    lab.git_in(&evil, ["config", "core.fsmonitor", trap.script.to_str().unwrap()]);
    fs::write(at.join(".git"), format!("gitdir: {}\n", evil.join(".git").display())).unwrap();
    lab.write(".git/worktrees/1/commondir", evil.join(".git").to_str().unwrap());
    lab.try_git(&at, ["status"]);
    trap.assert_live();
    let checkout = git.checkout_at(&at).unwrap();
    git.status(&checkout).await.unwrap();
    let snapshot = slots.snapshot(SLOT).await.unwrap();
    assert_eq!(
        lab.at(&evil.join("../repo"), &format!("{snapshot}^")),
        git.resolve(&branch("main")).await.unwrap()
    );
    trap.assert_unsprung("a snapshot");
    slots.remove(SLOT, &kept("x")).await.unwrap();
    trap.assert_unsprung("a removal");
    assert!(!at.exists());
}

#[tokio::test]
async fn repositories_inside_the_folder_start_nothing() {
    let Scene { lab, trap, slots, at } = scene().await;
    let script = trap.script.to_str().unwrap();
    lab.git_in(&at, ["init", "-q", "inner"]);
    let inner = at.join("inner");
    write(&inner, "x", "x\n");
    for key in ["core.fsmonitor", "filter.evil.clean"] {
        lab.git_in(&inner, ["config", key, script]);
    }
    // One that the agent has made known to git as a commit, with changes in it.
    lab.git(["init", "-q", "../linked"]);
    write(&lab.path("linked"), "y", "y\n");
    lab.commit_in(&lab.path("linked"), "inside");
    fs::rename(lab.path("linked"), at.join("linked")).unwrap();
    lab.try_git(&at, ["-c", "core.fsmonitor=", "add", "linked"]);
    let linked = at.join("linked");
    write(&linked, ".gitattributes", "* filter=evil\n");
    write(&linked, "y", "changed\n");
    for key in ["core.fsmonitor", "filter.evil.clean"] {
        lab.git_in(&linked, ["config", key, script]);
    }
    assert!(lab.git_in(&at, ["ls-files", "-s"]).contains("160000"));
    // A bare repository that hides as a plain folder.
    lab.git_in(&at, ["init", "-q", "--bare", "bare"]);
    lab.git_in(&at.join("bare"), ["config", "core.fsmonitor", script]);
    lab.git_in(&at.join("bare"), ["config", "core.worktree", "."]);
    fs::remove_file(&trap.sign).ok();
    slots.snapshot(SLOT).await.unwrap();
    slots.diff(SLOT, &branch("main"), DiffLimits::default()).await.unwrap();
    slots.finish(SLOT, &branch("musher/story/1"), "x", &author()).await.unwrap().unwrap();
    slots.finish(SLOT, &branch("musher/story/1"), "x", &author()).await.unwrap();
    slots.prepare(SLOT, &branch("musher/next/1"), &from_main()).await.unwrap();
    trap.assert_unsprung("working around them");
    assert!(!inner.exists() && !linked.exists());
    // One beside known files, which git's own cleaning leaves for the next agent to fall into.
    lab.git_in(&at, ["-c", "core.fsmonitor=", "init", "-q", "dir"]);
    write(&at, "cache/repo/.git", "gitdir: elsewhere\n");
    slots.prepare(SLOT, &branch("musher/third/1"), &from_main()).await.unwrap();
    assert!(at.join("dir/b.txt").exists() && !at.join("dir/.git").exists());
    assert!(at.join("cache/repo/.git").exists(), "a path to keep is kept whole");
    assert!(at.join(".git").exists());
}

#[tokio::test]
async fn the_persons_own_filters_work_in_slots() {
    let lab = Lab::new();
    // Files are stored in capitals and worked on in small letters.
    lab.git(["config", "--global", "filter.shout.clean", "tr a-z A-Z"]);
    lab.git(["config", "--global", "filter.shout.smudge", "tr A-Z a-z"]);
    lab.git(["config", "filter.local.clean", "tr x y"]);
    lab.git(["config", "filter.local.smudge", "tr y x"]);
    lab.write(".gitattributes", "*.shout filter=shout\n*.local filter=local\n");
    lab.write("w.shout", "hello\n");
    lab.write("w.local", "xxx\n");
    lab.commit("filtered");
    assert_eq!(lab.text_of(&lab.tip("main"), "w.shout"), "HELLO");
    assert_eq!(lab.text_of(&lab.tip("main"), "w.local"), "yyy");
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap().path;
    assert_eq!(read(&at, "w.shout"), "hello\n");
    assert_eq!(read(&at, "w.local"), "yyy\n", "an agent can write the repository's own settings");
    let git = lab.open().await;
    let status = git.status(&git.main()).await.unwrap();
    let changed: Vec<_> = status.entries.iter().map(|it| it.path().to_string()).collect();
    assert!(!changed.contains(&"w.shout".to_owned()), "{changed:?}");
    assert_eq!(git.filters_left_out().await.unwrap(), ["local"]);
    write(&at, "w.shout", "bye\n");
    let snapshot = slots.snapshot(SLOT).await.unwrap();
    assert_eq!(lab.text_of(&snapshot, "w.shout"), "BYE");
}

#[tokio::test]
async fn a_branch_that_stands_for_another_does_not_move_it() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let story = branch("musher/story/1");
    let at = slots.prepare(SLOT, &story, &from_main()).await.unwrap().path;
    lab.git(["symbolic-ref", "refs/heads/musher/story/1", "refs/heads/main"]);
    write(&at, "bad", "x\n");
    let main = lab.tip("main");
    let error = slots.finish(SLOT, &story, "x", &author()).await.unwrap_err().to_string();
    assert!(error.contains("it is on main"), "{error}");
    let next = lab.branch_with("next", &[("x", "x\n")]);
    slots.prepare(SLOT, &story, &SlotStart::Commit(next.clone())).await.unwrap();
    assert_eq!(lab.tip("main"), main);
    assert_eq!(lab.tip("musher/story/1"), next);
}

#[tokio::test]
async fn replaced_objects_do_not_change_what_is_seen() {
    let lab = Lab::new();
    let tip = lab.branch_with("work", &[("bad", "x\n")]);
    // The agent makes git show an innocent commit in the place of its own.
    lab.git(["replace", tip.as_str(), lab.tip("main").as_str()]);
    let git = lab.open().await;
    let diff = git.diff(&lab.tip("main"), &tip, DiffLimits::default()).await.unwrap();
    assert_eq!(diff.files[0].path.to_string(), "bad");
}
