//! Keeps a proof beside a commit as a git note, which people can read without Musher.
//!
//! Git's own `notes add` moves the reference without a look at where it is, and of two at once one is lost. So the new
//! tree of notes is made in a stand-in, and the reference is moved by compare-and-swap.

use tracing::debug;

use crate::name::Commit;
use crate::refs::Expected;
use crate::shadow::Shadow;
use crate::{Git, GitError};

/// Where the notes are.
const NOTES: &str = "refs/notes/musher";
/// How often a note is written anew because another was written at the same moment.
const MAX_NOTE_TRIES: u32 = 20;
/// As much is read of a note.
const MAX_PROOF_BYTES: usize = 1 << 20;

impl Git {
    /// Writes the note of a commit, in the place of one that it has. Notes of other commits stay, and are on the disk
    /// with it.
    pub async fn write_note(&self, commit: &Commit, text: &str) -> Result<(), GitError> {
        self.check_commit(commit).await?;
        let mut attempt = 1;
        loop {
            match self.try_note(commit, text).await {
                Err(error @ GitError::Moved { .. }) if attempt < MAX_NOTE_TRIES => {
                    debug!(attempt, commit = %commit, cause = %error, "writing a note again");
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    async fn try_note(&self, commit: &Commit, text: &str) -> Result<(), GitError> {
        let old = self.find(NOTES).await?;
        let shadow = Shadow::of_objects(self).await?;
        if let Some(old) = &old {
            let line = format!("# pack-refs with: peeled fully-peeled sorted \n{old} {NOTES}\n");
            shadow.write("packed-refs", line.as_bytes())?;
        }
        // Git would tidy up a text; a blob is taken as it is. Git takes no empty one.
        let text = if text.is_empty() { "\n" } else { text };
        let blob = shadow.call().args(["hash-object", "-w", "--stdin"]).input(text).line().await?;
        let call = shadow.call().args(["notes", "--ref", NOTES, "add", "--force", "-C", &blob]);
        call.arg(commit.as_str())
            .env("GIT_AUTHOR_NAME", "Musher")
            .env("GIT_AUTHOR_EMAIL", "musher@localhost")
            .env("GIT_COMMITTER_NAME", "Musher")
            .env("GIT_COMMITTER_EMAIL", "musher@localhost")
            .run()
            .await?;
        let new = shadow.call().args(["rev-parse", "--verify", NOTES]).line().await?;
        let expected = old.as_ref().map_or(Expected::Absent, Expected::At);
        let why = format!("musher: note of {}", commit.short());
        self.move_ref(&self.main(), NOTES, &Commit::new(new)?, expected, &why).await?;
        self.settle().await
    }

    /// The note of a commit, if it has one. A very long one is cut.
    pub async fn read_note(&self, commit: &Commit) -> Result<Option<String>, GitError> {
        let plain = || self.plain(&self.main());
        let call = plain().args(["notes", "--ref", NOTES, "list", commit.as_str()]);
        let listed = call.fine(&[0, 1]).run().await?;
        let blob = String::from_utf8_lossy(&listed.stdout).trim_end().to_owned();
        if listed.code == 1 || blob.is_empty() {
            return Ok(None);
        }
        let text = plain().args(["cat-file", "blob", &blob]).cut_at(MAX_PROOF_BYTES).run().await?;
        Ok(Some(String::from_utf8_lossy(&text.stdout).into_owned()))
    }
}
