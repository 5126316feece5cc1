//! From a line to the commit and the merge that brought it.

use std::num::NonZeroU32;

use super::super::lab::{Lab, rel, write};
use super::{build, landing, ready, tip};

fn line(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

#[tokio::test]
async fn blame_finds_story_and_run_through_merges() {
    let lab = Lab::new();
    let first = lab.tip("main");
    // A story of two commits, which merged the base in between, and another one in the same batch.
    lab.git(["worktree", "add", "-q", "-b", "one", "../one", "main"]);
    write(&lab.path("one"), "src/api.rs", "fn a() {}\nfn b() {}\n");
    let wrote = lab.commit_in(&lab.path("one"), "first of two");
    lab.write("base", "went on\n");
    let by_hand = lab.commit("base");
    lab.git_in(&lab.path("one"), ["merge", "-q", "-m", "take in the base", "main"]);
    write(&lab.path("one"), "src/api.rs", "fn a() {}\nfn b() { c() }\n");
    let rewrote = lab.commit_in(&lab.path("one"), "second of two");
    let two = lab.branch_with("two", &[("two", "x\n")]);
    let base = lab.tip("main");
    let git = lab.open().await;
    let batch = build(&git, &base, &[&rewrote, &two]).await;
    git.land(&landing(&base, &tip(&batch))).await.unwrap();
    let merge = batch.commits().next().unwrap().1.commit.clone();
    // Later landings do not hide it.
    let three = lab.branch_with("three", &[("src/api.rs", "// top\nfn a() {}\nfn b() { c() }\n")]);
    let landing = ready(&lab, &git, &three).await;
    git.land(&landing).await.unwrap();
    let at = lab.tip("main");
    let path = rel("src/api.rs");
    let origin = git.line_origin(&at, &path, line(2)).await.unwrap().unwrap();
    assert_eq!((&origin.commit, origin.line, origin.text.as_str()), (&wrote, 1, "fn a() {}"));
    assert_eq!(origin.merge.as_ref(), Some(&merge));
    let origin = git.line_origin(&at, &path, line(3)).await.unwrap().unwrap();
    assert_eq!((&origin.commit, &origin.merge), (&rewrote, &Some(merge)));
    let origin = git.line_origin(&at, &path, line(1)).await.unwrap().unwrap();
    assert_eq!((&origin.commit, &origin.merge), (&three, &Some(landing.commit)));
    // What was committed to the base itself was brought by no merge.
    let origin = git.line_origin(&at, &rel("base"), line(1)).await.unwrap().unwrap();
    assert_eq!((&origin.commit, &origin.merge), (&by_hand, &None));
    let origin = git.line_origin(&at, &rel("a.txt"), line(3)).await.unwrap().unwrap();
    assert_eq!((&origin.commit, &origin.merge), (&first, &None));
}

#[tokio::test]
async fn a_line_that_is_not_there_is_no_failure_and_settings_of_the_person_are_none() {
    let lab = Lab::new();
    lab.git(["config", "--global", "blame.ignoreRevsFile", ".git-blame-ignore-revs"]);
    lab.write("ä\tb.txt", "x\n");
    lab.git(["mv", "a.txt", "moved"]);
    let at = lab.commit("odd name");
    let git = lab.open().await;
    let missing = [("moved", 4), ("gone", 1), ("dir", 1)];
    for (file, number) in missing {
        let origin = git.line_origin(&at, &rel(file), line(number)).await;
        assert!(matches!(origin, Ok(None)), "{file}: {origin:?}");
    }
    let origin = git.line_origin(&at, &rel("moved"), line(1)).await.unwrap().unwrap();
    assert_eq!(origin.path.to_string(), "a.txt");
}
