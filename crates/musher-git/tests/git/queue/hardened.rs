//! What a candidate says about git, and what it leaves for git to run, counts for nothing.

use std::fs;

use musher_git::GitError;
use musher_git::queue::{BatchMember, LandOutcome};

use super::super::lab::{Lab, make_executable, read};
use super::{build, files_of, landing, ready, tip};

#[tokio::test]
async fn attributes_of_the_candidate_do_not_rule() {
    let lab = Lab::new();
    lab.write("list", "first\n");
    lab.commit("list");
    let union = "list merge=union\n";
    let candidate =
        lab.branch_with("candidate", &[("list", "theirs\n"), (".gitattributes", union)]);
    lab.write("list", "ours\n");
    let base = lab.commit("ours");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&candidate]).await;
    assert_eq!(files_of(&batch.members[0]), ["list"], "it is a conflict all the same");
    // One that lands first does not rule over those that follow in the same batch either.
    let first = lab.branch_with("first", &[(".gitattributes", union), ("list", "one\n")]);
    let second = lab.branch_with("second", &[("list", "two\n")]);
    let batch = build(&git, &base, &[&first, &second]).await;
    assert!(matches!(batch.members[1], BatchMember::ConflictsWithMember { member: 0, .. }));
    // Those of the base do.
    lab.write(".gitattributes", union);
    let base = lab.commit("union");
    let batch = build(&git, &base, &[&candidate]).await;
    assert_eq!(lab.text_of(&tip(&batch).commit, "list"), "ours\ntheirs");
}

#[tokio::test]
async fn hooks_and_filters_of_the_candidate_do_not_run() {
    let lab = Lab::new();
    let (script, sign) = (lab.path("trap"), lab.path("sprung"));
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", sign.display())).unwrap();
    make_executable(&script);
    let attributes = "* filter=evil merge=evil diff=evil\n";
    let candidate =
        lab.branch_with("candidate", &[("a.txt", "x\n"), (".gitattributes", attributes)]);
    let program = script.to_str().unwrap();
    for key in
        ["filter.evil.clean", "filter.evil.smudge", "merge.evil.driver", "diff.evil.textconv"]
    {
        lab.git(["config", key, program]);
    }
    lab.git(["config", "merge.default", "evil"]);
    for hook in
        ["reference-transaction", "post-checkout", "post-merge", "pre-push", "post-index-change"]
    {
        fs::copy(&script, lab.repo().join(".git/hooks").join(hook)).unwrap();
    }
    lab.write("dir/b.txt", "base went on\n");
    lab.try_git(&lab.repo(), ["-c", "core.hooksPath=/dev/null", "commit", "-qam", "base"]);
    let base = lab.tip("main");
    fs::remove_file(&sign).ok();
    let git = lab.open().await;
    let tested = tip(&build(&git, &base, &[&candidate]).await);
    let forecast = git.forecast(&base, std::slice::from_ref(&candidate)).await.unwrap();
    assert!(forecast.with_base[0].is_empty());
    let report = git.check_repair(&candidate, &base, &tested.commit).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(git.land(&landing(&base, &tested)).await.unwrap(), LandOutcome::Landed);
    git.write_note(&tested.commit, "proof\n").await.unwrap();
    assert!(!sign.exists(), "{}", fs::read_to_string(&sign).unwrap());
    assert_eq!(read(&lab.repo(), "a.txt"), "x\n");
    lab.try_git(&lab.repo(), ["checkout", "-f", "HEAD~1"]);
    assert!(sign.exists(), "the trap is dull, so the test proves nothing");
}

#[tokio::test]
async fn shallow_and_partial_clones_are_refused_with_a_hint() {
    let origin = Lab::new();
    origin.write("a.txt", "second\n");
    origin.commit("second");
    origin.git(["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.repo().display());
    let cases: [(&[&str], &str); 2] =
        [(&["--depth=1"], "--unshallow"), (&["--filter=blob:none"], "without `--filter`")];
    for (options, hint) in cases {
        let lab = Lab::empty();
        fs::remove_dir_all(lab.repo()).unwrap();
        let clone = ["clone", "-q"].iter().chain(options).copied().chain([url.as_str(), "repo"]);
        lab.git_in(&lab.path(""), clone);
        let head = lab.branch_with("one", &[("new", "x\n")]);
        let git = lab.open().await;
        let base = lab.tip("main");
        let refused = git.build_batch(&base, &[super::entry(&head)]).await.unwrap_err();
        assert!(refused.to_string().contains(hint), "{refused}");
        let known = matches!(refused, GitError::Shallow { .. } | GitError::PartialClone { .. });
        assert!(known, "{refused}");
        assert!(git.check_queue().await.is_err());
        assert!(git.forecast(&base, &[head]).await.is_err());
    }
    let whole = Lab::new();
    whole.open().await.check_queue().await.unwrap();
    // A line that an agent wrote into the file of a whole clone cuts nothing off.
    let lab = Lab::new();
    lab.write("a.txt", "second\n");
    lab.commit("second");
    let head = lab.branch_with("one", &[("new", "x\n")]);
    lab.write(".git/shallow", format!("{}\n", lab.tip("main")));
    let git = lab.open().await;
    let landing = ready(&lab, &git, &head).await;
    assert_eq!(git.land(&landing).await.unwrap(), LandOutcome::Landed);
}
