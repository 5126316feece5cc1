//! Where the history of a shallow clone ends.
//!
//! The file that says so lies where an agent can write, and one line in it cuts off the history behind a commit. So a
//! line counts only if what is behind its commit is really not there.

use std::os::unix::fs::MetadataExt;

use musher_os::untrusted;

use super::Git;
use super::call::WRITE_CALL_TIMEOUT;
use super::error::GitError;
use super::name::Commit;

/// The file holds one line for each commit at which a history ends.
const MAX_SHALLOW_FILE_BYTES: u64 = 16 << 20;

/// When a file was last written, and which one it was.
pub(super) type FileStamp = Option<(u64, u64, i64, i64)>;

impl Git {
    /// Brings what calls know about the ends of history up to date.
    pub(super) async fn refresh_ends(&self) -> Result<(), GitError> {
        let path = self.inner.common.join("shallow");
        let about = path.symlink_metadata().ok();
        let now: FileStamp = about.map(|it| (it.ino(), it.size(), it.mtime(), it.mtime_nsec()));
        let mut seen = self.inner.ends.lock().await;
        if *seen == now {
            return Ok(());
        }
        // Without the file, git looks at all the history that is there.
        self.inner.stand_in.take("shallow")?;
        let told = untrusted::read_if_there(&path, MAX_SHALLOW_FILE_BYTES)?.unwrap_or_default();
        let told = String::from_utf8_lossy(&told);
        let told: Vec<Commit> = told.lines().filter_map(|line| Commit::new(line).ok()).collect();
        let ends = self.true_ends(&told).await?;
        if !ends.is_empty() {
            let text: String = ends.iter().map(|end| format!("{end}\n")).collect();
            self.inner.stand_in.put("shallow", text.as_bytes())?;
        }
        *seen = now;
        Ok(())
    }

    /// The commits among these behind which something is missing.
    async fn true_ends(&self, told: &[Commit]) -> Result<Vec<Commit>, GitError> {
        if told.is_empty() {
            return Ok(Vec::new());
        }
        let names = |commits: &mut dyn Iterator<Item = &str>| {
            commits.map(|name| format!("{name}\n")).collect::<String>()
        };
        let all = self.plain(&self.main()).args(["cat-file", "--batch"]).limit(WRITE_CALL_TIMEOUT);
        let all = all.input(names(&mut told.iter().map(Commit::as_str))).run().await?.stdout;
        let parents = parents(&all);
        let ask = ["cat-file", "--batch-check=%(objectname)"];
        let asked = names(&mut parents.iter().map(|(_, parent)| parent.as_str()));
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.plain(&self.main()).args(ask).limit(WRITE_CALL_TIMEOUT).input(asked);
        let found = found.run().await?.stdout;
        let found = String::from_utf8_lossy(&found);
        let missing = parents.into_iter().zip(found.lines());
        let missing = missing.filter(|(_, line)| line.ends_with(" missing"));
        let mut ends: Vec<Commit> =
            missing.filter_map(|((commit, _), _)| Commit::new(commit).ok()).collect();
        ends.dedup();
        Ok(ends)
    }
}

/// Each commit of a batch with each of its parents.
fn parents(mut batch: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some(end) = batch.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&batch[..end]).into_owned();
        batch = &batch[end + 1..];
        let words: Vec<&str> = head.split(' ').collect();
        let [name, kind, length] = words.as_slice() else { continue };
        let Some(body) = length.parse().ok().and_then(|length: usize| batch.get(..length)) else {
            break;
        };
        if *kind == "commit" {
            let lines = body.split(|b| *b == b'\n').take_while(|line| !line.is_empty());
            for parent in lines.filter_map(|line| line.strip_prefix(b"parent ")) {
                found.push(((*name).to_owned(), String::from_utf8_lossy(parent).into_owned()));
            }
        }
        batch = batch.get(body.len() + 1..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_parent_is_read_and_a_message_is_not() {
        let body = "tree 1\nparent a\nparent b\nauthor x\n\nparent c\n";
        let batch = format!(
            "k commit {}\n{body}\nx missing\nl blob 3\nabc\nm commit 6\ntree 1\n",
            body.len()
        );
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(parents(batch.as_bytes()), [pair("k", "a"), pair("k", "b")]);
    }

    proptest! {
        #[test]
        fn any_output_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parents(&bytes);
            parents(&[b"k commit 7\n", &bytes[..]].concat());
        }
    }
}
