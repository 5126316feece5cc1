//! A death at any point of a landing: the same call again finishes it or tells that it was done.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use musher_git::queue::{LandOutcome, LandRefusal};
use musher_git::{Git, GitEnv};

use super::super::crash::cut;
use super::super::lab::{Lab, branch, read};
use super::{build, landing, ready, tip};

#[tokio::test]
async fn crash_between_cas_and_fact_is_recognised() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n"), ("a.txt", "theirs\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    let (base, commit) = (&landing.base, &landing.commit);
    let note = format!(r#"{{"branch":"main","base":"{base}","commit":"{commit}"}}"#);
    // Files and branch are there, and the note still says that it is under way.
    git.land(&landing).await.unwrap();
    fs::write(lab.path("scratch/merging.json"), &note).unwrap();
    lab.write("dir/b.txt", "mine\n");
    let git = lab.open().await;
    git.undo_dead_merge().await.unwrap();
    let outcome = git.land(&landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::AlreadyLanded { tip: commit.clone() });
    assert_eq!(lab.git(["status", "--porcelain"]), " M dir/b.txt");
    // Only the files are there: it is undone, and done again.
    lab.git(["update-ref", "refs/heads/main", base.as_str()]);
    fs::write(lab.path("scratch/merging.json"), &note).unwrap();
    let git = lab.open().await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), " M dir/b.txt");
    assert_eq!(read(&lab.repo(), "new"), "x\n");
    // Only the files are there, and the base went elsewhere meanwhile: they go back, and what a person did stays.
    lab.git(["update-ref", "refs/heads/main", base.as_str()]);
    fs::write(lab.path("scratch/merging.json"), &note).unwrap();
    let tree = format!("{base}^{{tree}}");
    let other = lab.git(["commit-tree", "-p", base.as_str(), "-m", "elsewhere", &tree]);
    lab.git(["update-ref", "refs/heads/main", &other]);
    let git = lab.open().await;
    let outcome = git.land(&landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::BaseMoved { tip: lab.tip("main") });
    assert_eq!(lab.git(["status", "--porcelain"]), " M dir/b.txt");
    assert!(!lab.repo().join("new").exists());
}

#[tokio::test]
async fn a_landing_can_be_cut_short_anywhere() {
    for polls in (1..).step_by(3) {
        let lab = Lab::new();
        let long = "line\n".repeat(5000);
        let head = lab.branch_with("one", &[("a.txt", &long), ("one/new", "1\n")]);
        let git = lab.open().await;
        let landing = ready(&lab, &git, &head).await;
        lab.write("dir/b.txt", "staged\n");
        lab.git(["add", "dir/b.txt"]);
        lab.write("untracked", "mine\n");
        let before = lab.git(["status", "--porcelain"]);
        let done = cut(polls, git.land(&landing)).await;
        // Another server begins.
        let git = lab.open().await;
        git.undo_dead_merge().await.unwrap();
        assert_eq!(lab.git(["status", "--porcelain"]), before, "cut after {polls}");
        let outcome = git.land(&landing).await.unwrap();
        let landed = matches!(outcome, LandOutcome::Landed | LandOutcome::AlreadyLanded { .. });
        assert!(landed, "cut after {polls}: {outcome:?}");
        assert_eq!(lab.git(["status", "--porcelain"]), before, "cut after {polls}");
        assert_eq!(lab.tip("main"), landing.commit);
        assert_eq!(read(&lab.repo(), "a.txt"), long);
        if done.is_some() {
            break;
        }
    }
}

#[tokio::test]
async fn a_batch_that_is_cut_short_anywhere_is_built_again_the_same() {
    let lab = Lab::new();
    let one = lab.branch_with("one", &[("1", "x\n")]);
    let two = lab.branch_with("two", &[("2", "x\n")]);
    let base = lab.tip("main");
    let git = lab.open().await;
    let mut whole = None;
    for polls in (1..).step_by(2) {
        let done = cut(polls, build(&git, &base, &[&one, &two])).await;
        let again = build(&git, &base, &[&one, &two]).await;
        assert_eq!(whole.get_or_insert_with(|| again.clone()), &again, "cut after {polls}");
        if done.is_some() {
            break;
        }
    }
    lab.git(["fsck", "--strict"]);
}

/// A small disk of its own, if this user may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let umounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(umounted.is_ok_and(|status| status.success()), "{} is left", self.0.display());
    }
}

#[tokio::test]
async fn disk_full_while_landing() {
    let lab = Lab::new();
    let Some(disk) = SmallDisk::mount(&lab.path("disk")) else {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    };
    // The repository is elsewhere; the files that are brought along, and their index, are on the small disk.
    let long = "0123456789abcdef\n".repeat(60_000);
    let head =
        lab.branch_with("one", &[("long-1", &long), ("long-2", &long), ("a.txt", "theirs\n")]);
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    lab.git(["worktree", "add", "-q", "../disk/main", "main"]);
    let checkout = disk.0.join("main");
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    super::super::lab::write(&checkout, "dir/b.txt", "mine\n");
    let filler = disk.0.join("filler");
    fs::write(&filler, vec![1_u8; (16 << 20) - (3 << 19)]).unwrap();
    let error = git.land(&landing).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(lab.tip("main"), landing.base);
    fs::remove_file(&filler).unwrap();
    // With room again, another server finds the checkout as it was, and the same landing succeeds.
    let git = lab.open().await;
    git.undo_dead_merge().await.unwrap();
    assert_eq!(lab.git_in(&checkout, ["status", "--porcelain"]), " M dir/b.txt");
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git_in(&checkout, ["status", "--porcelain"]), " M dir/b.txt");
    assert_eq!(read(&checkout, "long-2"), long);
    // The same where the repository itself is on the full disk, and the branch cannot be moved.
    let repo = disk.0.join("repo");
    let clone = ["clone", "-q", "--no-hardlinks", "--branch", "elsewhere", "--no-tags"];
    lab.git(clone.into_iter().chain([lab.repo().to_str().unwrap(), repo.to_str().unwrap()]));
    lab.git_in(&repo, ["branch", "-q", "main", landing.base.as_str()]);
    let git = Git::open(&repo, lab.env(), &lab.path("scratch-of-disk")).await.unwrap();
    fill(&filler);
    let error = git.land(&landing).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(lab.at(&repo, "main"), landing.base);
    fs::remove_file(&filler).unwrap();
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
    lab.git_in(&repo, ["fsck"]);
}

/// Takes all that is left on a disk.
fn fill(file: &Path) {
    let mut filler = fs::File::create(file).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
}

#[tokio::test]
async fn a_lock_on_the_branch_that_nobody_lets_go_is_told_as_one_to_try_again() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    lab.git(["switch", "-q", "-c", "elsewhere"]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    // A lock that a killed git of the person's left: nobody may say whose it is.
    lab.write(".git/refs/heads/main.lock", "");
    let error = git.land(&landing).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(lab.tip("main"), landing.base);
    fs::remove_file(lab.repo().join(".git/refs/heads/main.lock")).unwrap();
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
}

#[tokio::test]
async fn a_branch_that_moves_while_files_are_brought_along_leaves_the_checkout_as_it_was() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n"), ("a.txt", "theirs\n")]);
    let env: GitEnv = lab.env();
    let git = Git::open(&lab.repo(), env, &lab.path("scratch")).await.unwrap();
    let base = lab.tip("main");
    let landing = landing(&base, &tip(&build(&git, &base, &[&head]).await));
    // The lock of another process on the branch lets the files come along, and the branch stay.
    lab.write(".git/refs/heads/main.lock", "");
    lab.write("dir/b.txt", "mine\n");
    let error = git.land(&landing).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(lab.git(["status", "--porcelain"]), " M dir/b.txt");
    assert!(!lab.repo().join("new").exists());
    assert!(!lab.path("scratch/merging.json").exists(), "nothing is left to undo");
    fs::remove_file(lab.repo().join(".git/refs/heads/main.lock")).unwrap();
    lab.write("a.txt", "mine\n");
    let outcome = git.land(&landing).await.unwrap();
    assert!(matches!(outcome, LandOutcome::Refused(LandRefusal::Overlap { .. })), "{outcome:?}");
    assert!(git.tip(&branch("main")).await.unwrap() == Some(base));
}
