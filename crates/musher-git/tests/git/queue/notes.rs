//! Proofs beside commits.

use futures_util::future::join_all;
use musher_git::Git;
use musher_git::queue::BatchEntry;

use super::super::lab::Lab;
use super::{entry, landing, text, tip};

#[tokio::test]
async fn notes_and_trailers_tell_the_proof() {
    let lab = Lab::new();
    let head = lab.branch_with("one", &[("new", "x\n")]);
    let message = "Merge s4: a title\n\nMusher-Story: s4\nMusher-Approved-By: dana\n";
    let entry = BatchEntry { text: text(message), ..entry(&head) };
    let git = lab.open().await;
    let base = lab.tip("main");
    let tested = tip(&git.build_batch(&base, &[entry]).await.unwrap());
    git.land(&landing(&base, &tested)).await.unwrap();
    let commit = &tested.commit;
    assert_eq!(git.read_note(commit).await.unwrap(), None);
    let proof = "base: x\n\n# test: green (r18)\n  two blanks  \n\n\n";
    git.write_note(commit, proof).await.unwrap();
    assert_eq!(git.read_note(commit).await.unwrap().as_deref(), Some(proof));
    // A person reads both with git alone.
    let shown = lab.git(["log", "-1", "--notes=musher", "--format=%N", "main"]);
    assert!(shown.contains("# test: green (r18)"), "{shown}");
    let trailers = ["log", "-1", "--format=%(trailers:key=Musher-Story,valueonly)", "main"];
    assert_eq!(lab.git(trailers).trim(), "s4");
    git.write_note(commit, "another\n").await.unwrap();
    assert_eq!(git.read_note(commit).await.unwrap().as_deref(), Some("another\n"));
    assert_eq!(lab.tip("main"), *commit, "the commit is the tested one");
    assert!(git.write_note(&musher_git::Commit::new("1".repeat(40)).unwrap(), "x").await.is_err());
}

#[tokio::test]
async fn notes_written_at_once_are_all_there() {
    let lab = Lab::new();
    let mut commits = Vec::new();
    for n in 0..8 {
        lab.write("n", format!("{n}\n"));
        commits.push(lab.commit(&format!("{n}")));
    }
    // One of a person's own is among them.
    lab.git(["notes", "--ref=musher", "add", "-m", "by hand", "HEAD~8"]);
    let mut gits: Vec<Git> = Vec::new();
    for n in 0..8 {
        let scratch = lab.path(&format!("scratch-{n}"));
        gits.push(Git::open(&lab.repo(), lab.env(), &scratch).await.unwrap());
    }
    let writes =
        gits.iter().zip(&commits).map(|(git, commit)| git.write_note(commit, commit.as_str()));
    for written in join_all(writes).await {
        written.unwrap();
    }
    for commit in &commits {
        let note = gits[0].read_note(commit).await.unwrap();
        assert_eq!(note.as_deref(), Some(commit.as_str()));
    }
    assert_eq!(lab.git(["notes", "--ref=musher", "show", "HEAD~8"]), "by hand");
}
