//! A slot that goes from one story to the next: what is kept, what is gone, and how little of it git is asked for.

use std::fs;
use std::path::{Path, PathBuf};

use musher_git::worktree::{SlotFiles, WorktreeSlots};
use musher_git::{Git, RecoveryName};

use super::lab::{Lab, SLOT, branch, from_main, make_executable, read, rel, write};

/// What an agent leaves: commits, and work of every plain kind that is in none of them.
fn work(lab: &Lab, at: &Path) {
    write(at, "mine", "the agent's\n");
    write(at, "dir/more.txt", "more\n");
    lab.commit_in(at, "the agent's own commit");
    write(at, "a.txt", "uncommitted\n");
    fs::remove_file(at.join("dir/b.txt")).unwrap();
    write(at, "dir/b.txt/inside", "a folder in the place of a file\n");
    write(at, "staged", "staged\n");
    lab.git_in(at, ["add", "staged"]);
    fs::remove_file(at.join("dir/more.txt")).unwrap();
    write(at, "new folder/untracked", "untracked\n");
    make_executable(&at.join("mine"));
    fs::create_dir_all(at.join("nothing/in/it")).unwrap();
    write(at, "some.log", "ignored\n");
}

fn assert_is_kept(lab: &Lab, name: &str) {
    let kept = lab.tip(name);
    let files =
        [".gitignore", "a.txt", "dir/b.txt/inside", "mine", "new folder/untracked", "staged"];
    assert_eq!(lab.files_of(&kept), files);
    assert_eq!(lab.text_of(&kept, "a.txt"), "uncommitted");
    assert!(lab.git(["ls-tree", name, "mine"]).starts_with("100755"));
}

/// The verbs of all calls of git that are made with such an environment.
struct Heard<'a>(&'a Lab);

impl Heard<'_> {
    async fn slots(&self) -> WorktreeSlots {
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let real = real.into_iter().find(|git| git.is_file()).unwrap();
        let (log, real) = (self.0.path("calls"), real.display().to_string());
        let script =
            format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec '{real}' \"$@\"\n", log.display());
        write(&self.0.path("heard"), "git", script);
        make_executable(&self.0.path("heard/git"));
        let folders = std::iter::once(self.0.path("heard")).chain(std::env::split_paths(&path));
        let env = self.0.env().with("PATH", std::env::join_paths(folders).unwrap());
        let git = Git::open(&self.0.repo(), env, &self.0.path("scratch")).await.unwrap();
        let files = SlotFiles { keep: vec![rel("cache")], copy: Vec::new() };
        WorktreeSlots::new(git, &self.0.path("worktrees"), files).unwrap()
    }

    fn forget(&self) {
        fs::remove_file(self.0.path("calls")).unwrap();
    }

    fn count(&self, verb: &str) -> usize {
        let calls = read(&self.0.path(""), "calls");
        calls.lines().filter(|call| call.contains(verb)).count()
    }
}

#[tokio::test]
async fn uncommitted_work_is_kept_and_the_next_story_finds_none_of_it() {
    let lab = Lab::new();
    let heard = Heard(&lab);
    let slots = heard.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    work(&lab, &at);
    lab.write("base", "went on\n");
    let base = lab.commit("base went on");
    heard.forget();

    let ready = slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert!(!ready.fresh && ready.head == base);
    // One look at the files, and none of them is written that is as it should be.
    assert_eq!([heard.count(" status "), heard.count(" checkout ")], [1, 0]);
    assert!(heard.count("") <= 15, "{}", read(&lab.path(""), "calls"));
    assert_eq!(
        lab.git_in(&at, ["status", "--porcelain", "--branch", "--ignored"]),
        "## musher/new/1"
    );
    assert_eq!(lab.git_in(&at, ["write-tree"]), lab.git(["rev-parse", "main^{tree}"]));
    assert_eq!((read(&at, "dir/b.txt"), read(&at, "base")), ("b\n".into(), "went on\n".into()));
    assert!(!at.join("nothing").exists() && !at.join("new folder").exists());
    assert_is_kept(&lab, "refs/musher/recovery/old/1");
    assert_eq!(lab.tip("refs/musher/recovery/old/1^"), lab.tip("musher/old/1"));
}

#[tokio::test]
async fn a_slot_that_its_story_has_left_waits_for_the_next_one() {
    let lab = Lab::new();
    let heard = Heard(&lab);
    let slots = heard.slots().await;
    let (old, main) = (branch("musher/old/1"), branch("main"));
    let at = slots.prepare(SLOT, &old, &from_main()).await.unwrap().path;
    work(&lab, &at);
    let kept = slots.release(SLOT, &RecoveryName::of(&old), &main).await.unwrap();
    assert_eq!(kept.unwrap().name, "refs/musher/recovery/old/1");
    assert_is_kept(&lab, "refs/musher/recovery/old/1");
    assert_eq!(lab.git_in(&at, ["status", "--porcelain", "--ignored"]), "");
    assert_eq!(lab.at(&at, "HEAD"), lab.tip("main"));
    assert_eq!(slots.holding(SLOT, "musher/old/1"), None);
    // Nothing keeps the person from the story's branch any more.
    lab.git(["switch", "-q", "musher/old/1"]);
    lab.git(["switch", "-q", "main"]);
    // What is done twice is done once.
    assert_eq!(slots.release(SLOT, &RecoveryName::of(&old), &main).await.unwrap(), None);

    heard.forget();
    let ready = slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert!(!ready.fresh && ready.head == lab.tip("main"));
    // One look at the files, to see that they are still as they were left.
    assert_eq!([heard.count(" status "), heard.count(" read-tree ")], [1, 0]);
    assert!(heard.count("") <= 7, "{}", read(&lab.path(""), "calls"));
    let status = lab.git_in(&at, ["status", "--porcelain", "--branch", "--ignored"]);
    assert_eq!(status, "## musher/new/1");
    assert_eq!(lab.git(["for-each-ref", "refs/musher"]).lines().count(), 1);
}

#[tokio::test]
async fn what_is_put_into_a_slot_that_nobody_has_is_kept_and_not_in_the_next_story() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let old = branch("musher/old/1");
    let at = slots.prepare(SLOT, &old, &from_main()).await.unwrap().path;
    let name = RecoveryName::of(&old);
    assert_eq!(slots.release(SLOT, &name, &branch("main")).await.unwrap(), None);
    write(&at, "note", "by hand\n");
    write(&at, "a.txt", "by hand\n");
    write(&at, "x.log", "ignored\n");
    lab.write("base", "went on\n");
    let base = lab.commit("base went on");
    let ready = slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert!(!ready.fresh && ready.head == base);
    let status = lab.git_in(&at, ["status", "--porcelain", "--branch", "--ignored"]);
    assert_eq!(status, "## musher/new/1");
    let kept = lab.tip("refs/musher/recovery/slot-1");
    assert_eq!(lab.text_of(&kept, "note"), "by hand");
    assert_eq!(lab.text_of(&kept, "a.txt"), "by hand");
}

#[tokio::test]
async fn a_slot_that_cannot_be_cleared_leaves_its_story_with_the_work_kept() {
    let lab = Lab::new();
    let slots = lab.slots().await;
    let old = branch("musher/old/1");
    let at = slots.prepare(SLOT, &old, &from_main()).await.unwrap().path;
    write(&at, "work", "x\n");
    // No lock that a killed git could leave.
    let lock = lab.repo().join(".git/worktrees/1/index.lock");
    fs::create_dir(&lock).unwrap();
    let name = RecoveryName::of(&old);
    let kept = slots.release(SLOT, &name, &branch("main")).await.unwrap().unwrap();
    assert_eq!((lab.text_of(&kept.commit, "work"), read(&at, "work")), ("x".into(), "x\n".into()));
    // Without the branch it was to be turned to, it stays as it is.
    let again = slots.release(SLOT, &name, &branch("gone")).await.unwrap().unwrap();
    assert_eq!((again.name, read(&at, "work")), (kept.name, "x\n".into()));
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap_err();
    fs::remove_dir(&lock).unwrap();
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert!(!at.join("work").exists());
}

/// All that is in a folder, but for git's own file at its top.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.push(entry.path().strip_prefix(folder).unwrap().to_owned());
        }
    }
    found.retain(|path| path != Path::new(".git"));
    found.sort();
    found
}

#[tokio::test]
async fn a_slot_is_cleared_as_git_would_clear_it() {
    let lab = Lab::new();
    lab.write("deep/er/known", "x\n");
    lab.write("-odd *\n[name]", "x\n");
    std::os::unix::fs::symlink("dir", lab.repo().join("link")).unwrap();
    lab.commit("more");
    let keep = ["cache", "deep/er/warm", "far/away/warm", "gone/away"].map(rel).to_vec();
    let slots = lab.slots_with(SlotFiles { keep, copy: Vec::new() }).await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    let by_hand = lab.path("by-hand");
    lab.git(["worktree", "add", "-q", "--detach", by_hand.to_str().unwrap(), "main"]);
    let outside = lab.path("outside");
    write(&outside, "precious", "x\n");
    for folder in [&at, &by_hand] {
        for name in ["cache/x.log", "deep/er/warm/x.log", "far/away/warm/x.log"] {
            write(folder, name, "stays\n");
        }
        let gone = ["x.log", "deep/x.log", "deep/er/cold/x.log", "far/x.log", "far/away/cold.log"];
        let odd = ["dir/.log/x.log", "sp ace\n.log", "cach.log", ".GIT/x.log"];
        for name in gone.into_iter().chain(odd) {
            write(folder, name, "goes\n");
        }
        for name in ["empty/in/it", "dir/empty", "gone", "far/empty"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let links = [(Path::new("nowhere"), "dir/dead.log"), (&outside, "out.log")];
        for (to, name) in links {
            std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        }
        lab.git_in(folder, ["init", "-q", "nested.log"]);
    }
    let clean =
        ["clean", "-ffdxq", "-e/cache", "-e/deep/er/warm", "-e/far/away/warm", "-e/gone/away"];
    lab.git_in(&by_hand, clean);
    // Git does not see sockets, and the agent that listened there is gone.
    drop(std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap());
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert_eq!(everything(&at), everything(&by_hand));
    assert!(outside.join("precious").exists());
}

#[tokio::test]
async fn a_submodule_stays_and_repositories_that_hide_in_it_go() {
    let lab = Lab::new();
    let first = lab.tip("main");
    let entry = format!("160000,{first},parts/sub");
    lab.git(["update-index", "--add", "--cacheinfo", &entry]);
    lab.git(["commit", "-qm", "a submodule"]);
    let slots = lab.slots().await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    let repo = lab.repo();
    lab.git_in(&at, ["clone", "-q", repo.to_str().unwrap(), "parts/sub"]);
    lab.git_in(&at.join("parts/sub"), ["reset", "-q", "--hard", first.as_str()]);
    write(&at, "parts/sub/x.log", "its own\n");
    write(&at, "parts/sub/inner/.git/config", "[core]\n");
    write(&at, "parts/x.log", "goes\n");
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert_eq!(read(&at, "parts/sub/x.log"), "its own\n");
    assert!(at.join("parts/sub/.git/HEAD").exists() && at.join("parts/sub/inner").exists());
    assert!(!at.join("parts/sub/inner/.git").exists() && !at.join("parts/x.log").exists());
}

#[tokio::test]
async fn a_fresh_slot_takes_few_calls_of_git() {
    let lab = Lab::new();
    let heard = Heard(&lab);
    let slots = heard.slots().await;
    heard.forget();
    slots.prepare(SLOT, &branch("musher/story/1"), &from_main()).await.unwrap();
    assert!(heard.count("") <= 6, "{}", read(&lab.path(""), "calls"));
}

#[tokio::test]
async fn what_is_to_stay_stays_though_git_does_not_ignore_it() {
    let lab = Lab::new();
    let files = SlotFiles { keep: vec![rel("build")], copy: Vec::new() };
    let slots = lab.slots_with(files).await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    write(&at, "build/object", "warm\n");
    write(&at, "untracked", "x\n");
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert_eq!(read(&at, "build/object"), "warm\n");
    assert_eq!(lab.git_in(&at, ["status", "--porcelain"]), "?? build/");
    assert_eq!(lab.text_of(&lab.tip("refs/musher/recovery/old/1"), "untracked"), "x");
}

#[tokio::test]
async fn a_known_file_that_was_copied_over_is_as_the_base_has_it() {
    let lab = Lab::new();
    let files = SlotFiles { keep: Vec::new(), copy: vec![rel("a.txt")] };
    let slots = lab.slots_with(files).await;
    let at = slots.prepare(SLOT, &branch("musher/old/1"), &from_main()).await.unwrap().path;
    write(&at, "a.txt", "SECRET=1\n");
    write(&at, "untracked", "x\n");
    slots.prepare(SLOT, &branch("musher/new/1"), &from_main()).await.unwrap();
    assert_eq!(read(&at, "a.txt"), "one\ntwo\nthree\n");
    assert_eq!(lab.git_in(&at, ["status", "--porcelain"]), "");
    let kept = lab.tip("refs/musher/recovery/old/1");
    assert_eq!(lab.text_of(&kept, "a.txt"), "one\ntwo\nthree");
}
