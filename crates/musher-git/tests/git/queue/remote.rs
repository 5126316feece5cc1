//! Landing on a branch of a remote.

use std::fs;
use std::path::PathBuf;

use musher_git::queue::{LandOutcome, LandRefusal, Landing, RemoteBase};
use musher_git::{Commit, Git, GitError, TreeId};

use super::super::lab::{Lab, branch, make_executable, write};
use super::ready;

/// A bare repository as `origin`.
fn with_remote(lab: &Lab) -> PathBuf {
    let remote = lab.path("remote.git");
    lab.git(["clone", "-q", "--bare", lab.repo().to_str().unwrap(), remote.to_str().unwrap()]);
    lab.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    remote
}

/// A commit that somebody else pushes.
fn by_others(lab: &Lab, name: &str) -> Commit {
    let at = lab.path("others");
    if !at.exists() {
        lab.git_in(&lab.path(""), ["clone", "-q", "remote.git", "others"]);
    }
    lab.git_in(&at, ["pull", "-q", "--ff-only"]);
    write(&at, name, "x\n");
    let commit = lab.commit_in(&at, name);
    lab.git_in(&at, ["push", "-q"]);
    commit
}

fn hook(lab: &Lab, name: &str, script: &str) {
    let path = lab.path("remote.git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    make_executable(&path);
}

fn at_remote(lab: &Lab) -> Commit {
    lab.at(&lab.path("remote.git"), "main")
}

fn origin(git: &Git) -> RemoteBase {
    let address = git.remote_address("origin").unwrap();
    RemoteBase::new("origin", &branch("main"), address).unwrap()
}

#[tokio::test]
async fn a_push_moves_the_remote_and_the_local_branch_follows() {
    let lab = Lab::new();
    with_remote(&lab);
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let base = origin(&git);
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.fetch_base(&base).await.unwrap(), landing.base);
    assert_eq!(git.land_remote(&base, &landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(at_remote(&lab), landing.commit);
    assert_eq!(lab.tip("refs/remotes/origin/main"), landing.commit);
    assert_eq!(lab.tip("main"), landing.base, "the local branch is another step");
    let again = git.land_remote(&base, &landing).await.unwrap();
    assert_eq!(again, LandOutcome::AlreadyLanded { tip: landing.commit.clone() });
    let main = branch("main");
    assert_eq!(git.fast_forward(&main, &landing.commit).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.git(["status", "--porcelain"]), "");
    // What others pushed is fetched with all its objects, and told.
    let theirs = by_others(&lab, "theirs");
    assert_eq!(git.fetch_base(&base).await.unwrap(), theirs);
    assert_eq!(lab.text_of(&theirs, "theirs"), "x");
    let outcome = git.land_remote(&base, &landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::AlreadyLanded { tip: theirs });
    assert!(!lab.repo().join(".git/FETCH_HEAD").exists());
}

#[tokio::test]
async fn push_with_lease_refuses_a_moved_remote() {
    let lab = Lab::new();
    with_remote(&lab);
    let head = lab.branch_with("one", &[("new", "x\n")]);
    // The person's own `ssh`, which somebody else is quicker than: the remote moves between the look and the push.
    let (script, moving) = (lab.path("ssh"), lab.path("moving"));
    let remote = lab.path("remote.git");
    let text = format!(
        "#!/bin/sh\nshift\ncase \"$1\" in git-receive-pack*) [ -e {0} ] && git -C {1} update-ref refs/heads/main $(cat {0});; esac\nexec sh -c \"$1\"\n",
        moving.display(),
        remote.display()
    );
    fs::write(&script, text).unwrap();
    make_executable(&script);
    lab.git(["config", "--global", "core.sshCommand", script.to_str().unwrap()]);
    lab.git(["config", "--global", "ssh.variant", "simple"]);
    lab.git(["config", "remote.origin.url", &format!("ssh://host{}", remote.display())]);
    let git = lab.open().await;
    let base = origin(&git);
    let landing = ready(&lab, &git, &head).await;
    // To an ancestor of what is pushed, which a push without a lease would take for its own.
    let tree = format!("{}^{{tree}}", landing.base);
    let side = lab.git(["commit-tree", "-p", landing.base.as_str(), "-m", "quicker", &tree]);
    lab.git_in(&remote, ["fetch", "-q", lab.repo().to_str().unwrap(), "one"]);
    lab.git(["update-ref", "refs/heads/side", &side]);
    lab.git_in(&remote, ["fetch", "-q", lab.repo().to_str().unwrap(), "side"]);
    for quicker in [head.clone(), Commit::new(side).unwrap()] {
        fs::write(&moving, quicker.as_str()).unwrap();
        let outcome = git.land_remote(&base, &landing).await.unwrap();
        assert_eq!(outcome, LandOutcome::BaseMoved { tip: quicker.clone() });
        assert_eq!(at_remote(&lab), quicker);
        lab.git_in(&remote, ["update-ref", "refs/heads/main", landing.base.as_str()]);
    }
    fs::remove_file(&moving).unwrap();
    assert_eq!(git.land_remote(&base, &landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(at_remote(&lab), landing.commit);
}

#[tokio::test]
async fn a_remote_that_moved_before_is_told_and_nothing_is_pushed() {
    let lab = Lab::new();
    with_remote(&lab);
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    let theirs = by_others(&lab, "theirs");
    let outcome = git.land_remote(&origin(&git), &landing).await.unwrap();
    assert_eq!(outcome, LandOutcome::BaseMoved { tip: theirs.clone() });
    assert_eq!(at_remote(&lab), theirs);
}

#[tokio::test]
async fn push_never_forces_unrelated() {
    let lab = Lab::new();
    with_remote(&lab);
    let base_commit = lab.tip("main");
    lab.write("second", "x\n");
    let second = lab.commit("second");
    lab.git(["push", "-q", "origin", "main"]);
    lab.git(["switch", "-q", "--orphan", "stranger"]);
    lab.write("stranger", "x\n");
    let stranger = lab.commit("stranger");
    let git = lab.open().await;
    let side = lab.git(["commit-tree", "-p", base_commit.as_str(), "-m", "x", "main^{tree}"]);
    // The lease fits each time, and git alone would rewrite the branch.
    for commit in [stranger, Commit::new(side).unwrap()] {
        let tree = lab.git(["rev-parse", &format!("{commit}^{{tree}}")]);
        let tree = TreeId::new(tree).unwrap();
        let landing = Landing { branch: branch("main"), base: second.clone(), commit, tree };
        let outcome = git.land_remote(&origin(&git), &landing).await.unwrap();
        assert_eq!(outcome, LandOutcome::Refused(LandRefusal::NotOnBase));
        assert_eq!(at_remote(&lab), second);
    }
}

#[tokio::test]
async fn protected_remote_holds_the_queue() {
    let lab = Lab::new();
    with_remote(&lab);
    hook(&lab, "pre-receive", "echo 'GH006: Protected branch update failed.' >&2; exit 1");
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    let outcome = git.land_remote(&origin(&git), &landing).await.unwrap();
    let LandOutcome::Refused(LandRefusal::Rejected { said }) = &outcome else {
        panic!("{outcome:?}")
    };
    assert!(said.contains("GH006: Protected branch") && said.contains("pre-receive"), "{said}");
    assert_eq!(at_remote(&lab), landing.base);
    fs::remove_file(lab.path("remote.git/hooks/pre-receive")).unwrap();
    assert_eq!(git.land_remote(&origin(&git), &landing).await.unwrap(), LandOutcome::Landed);
}

#[tokio::test]
async fn remote_accepted_but_reply_lost() {
    let lab = Lab::new();
    with_remote(&lab);
    // It dies with the branch moved and nothing said.
    hook(&lab, "post-receive", "kill -9 $PPID");
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land_remote(&origin(&git), &landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(at_remote(&lab), landing.commit);
    // And if it died before it was moved, that is told as a failure of the remote.
    hook(&lab, "pre-receive", "kill -9 $PPID");
    let two = lab.branch_with("two", &[("two", "x\n")]);
    git.fast_forward(&branch("main"), &landing.commit).await.unwrap();
    let landing = ready(&lab, &git, &two).await;
    let error = git.land_remote(&origin(&git), &landing).await.unwrap_err();
    assert!(matches!(error, GitError::Remote { .. }) && error.is_retryable(), "{error}");
    assert_eq!(at_remote(&lab), landing.base);
    // Somebody else builds upon what was accepted before anybody has looked.
    fs::remove_file(lab.path("remote.git/hooks/pre-receive")).unwrap();
    hook(
        &lab,
        "post-receive",
        "unset GIT_QUARANTINE_PATH; new=$(git -c user.name=x -c user.email=x@x commit-tree -p main -m upon main^{tree}); git update-ref refs/heads/main $new; kill -9 $PPID",
    );
    assert_eq!(git.land_remote(&origin(&git), &landing).await.unwrap(), LandOutcome::Landed);
    assert_eq!(lab.at(&lab.path("remote.git"), "main^"), landing.commit);
}

#[tokio::test]
async fn settings_of_the_repository_run_nothing_in_a_push() {
    let lab = Lab::new();
    with_remote(&lab);
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let (script, sign) = (lab.path("trap"), lab.path("sprung"));
    fs::write(&script, format!("#!/bin/sh\necho \"$0\" >> {}\nexit 1\n", sign.display())).unwrap();
    make_executable(&script);
    let program = script.to_str().unwrap();
    for key in [
        "core.sshCommand",
        "credential.helper",
        "core.askPass",
        "core.gitProxy",
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
        "gpg.program",
    ] {
        lab.git(["config", key, program]);
    }
    lab.git(["config", "push.gpgSign", "if-asked"]);
    lab.git(["config", "remote.origin.mirror", "true"]);
    lab.git(["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let evil = format!("url.{}.insteadOf", lab.path("evil.git").display());
    lab.git(["config", &evil, lab.path("remote.git").to_str().unwrap()]);
    for hook in ["pre-push", "reference-transaction"] {
        fs::copy(&script, lab.repo().join(".git/hooks").join(hook)).unwrap();
    }
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land_remote(&origin(&git), &landing).await.unwrap(), LandOutcome::Landed);
    assert!(!sign.exists(), "{}", fs::read_to_string(&sign).unwrap());
    let refs = lab.git_in(&lab.path("remote.git"), ["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main", "no other branch went along");
    lab.try_git(&lab.repo(), ["push", "origin"]);
    assert!(sign.exists(), "the trap is dull, so the test proves nothing");
}

#[tokio::test]
async fn a_push_goes_to_the_address_that_was_agreed_to_and_never_to_a_command() {
    let lab = Lab::new();
    with_remote(&lab);
    let git = lab.open().await;
    let known = origin(&git);
    // An agent names a repository of its own, with hooks in it.
    lab.git(["clone", "-q", "--bare", "../remote.git", "../evil.git"]);
    fs::create_dir_all(lab.path("evil.git/hooks")).unwrap();
    let sign = lab.path("sprung");
    let script = lab.path("evil.git/hooks/pre-receive");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", sign.display())).unwrap();
    make_executable(&script);
    lab.git(["config", "remote.origin.url", lab.path("evil.git").to_str().unwrap()]);
    let git = lab.open().await;
    assert_ne!(origin(&git), known, "the caller sees that it is another one");
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land_remote(&known, &landing).await.unwrap(), LandOutcome::Landed);
    assert!(!sign.exists() && at_remote(&lab) == landing.commit);
    lab.git(["config", "remote.origin.url", "ext::sh -c 'touch /tmp/never'"]);
    let error = lab.open().await.remote_address("origin").unwrap_err();
    assert!(matches!(error, GitError::BadAddress { .. }), "{error}");
    let error = git.remote_address("upstream").unwrap_err();
    assert!(error.to_string().contains("git remote add"), "{error}");
    let address = known.address().clone();
    assert!(RemoteBase::new("../x", &branch("main"), address.clone()).is_err());
    let gone = RemoteBase::new("origin", &branch("gone"), address).unwrap();
    let error = git.fetch_base(&gone).await.unwrap_err();
    assert!(matches!(error, GitError::NoRemoteBranch { .. }), "{error}");
    fs::rename(lab.path("remote.git"), lab.path("moved.git")).unwrap();
    let error = git.fetch_base(&known).await.unwrap_err();
    assert!(matches!(error, GitError::Remote { .. }), "{error}");
    lab.git(["config", "remote.origin.url", "https://ada:hunter2@127.0.0.1:1/x.git"]);
    let git = lab.open().await;
    let error = git.fetch_base(&origin(&git)).await.unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(origin(&git).address().shown(), "https://127.0.0.1:1/x.git");
}
