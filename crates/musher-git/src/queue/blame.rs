//! Where a line comes from: the commit that wrote it, and the merge that brought it into the base.

use std::collections::HashSet;
use std::num::NonZeroU32;

use serde::Serialize;

use crate::call::WRITE_CALL_TIMEOUT;
use crate::name::Commit;
use crate::path::{GitPath, RelPath};
use crate::shadow::Shadow;
use crate::{Git, GitError};

/// Where a line comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineOrigin {
    /// The commit that wrote the line as it is.
    pub commit: Commit,
    /// The file and the line there, which may have been moved since.
    pub path: GitPath,
    pub line: u32,
    /// The line without its end; bytes that are no text are replaced.
    pub text: String,
    /// The first commit on the first-parent line that has the commit in its history; none if it is on that line itself.
    pub merge: Option<Commit>,
}

impl Git {
    /// Tells where a line of a file comes from, as it is at a revision; `None` if there is no such file or line.
    pub async fn line_origin(
        &self,
        at: &Commit,
        path: &RelPath,
        line: NonZeroU32,
    ) -> Result<Option<LineOrigin>, GitError> {
        self.check_commit(at).await?;
        let shadow = Shadow::of_objects(self).await?;
        // The user's own settings may name a file of commits to leave out, which git looks for beside files; there are none.
        let call =
            shadow.call().env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let call = call.args(["blame", "--porcelain", &format!("-L{line},{line}"), at.as_str()]);
        let call = call.args(["--", path.as_str()]).limit(WRITE_CALL_TIMEOUT);
        let said = match call.run().await {
            Ok(output) => output.stdout,
            Err(GitError::Failed { said, .. })
                if said.contains("has only") || said.contains("no such path") =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut origin = parse(&said).ok_or_else(|| GitError::unexpected("blame", &said))?;
        origin.merge = self.brought_in(&shadow, &origin.commit, at).await?;
        Ok(Some(origin))
    }

    /// The first commit on the first-parent line of `at` that has a commit in its history.
    async fn brought_in(
        &self,
        shadow: &Shadow<'_>,
        commit: &Commit,
        at: &Commit,
    ) -> Result<Option<Commit>, GitError> {
        let range = format!("{commit}..{at}");
        let list = |option: &str| {
            let call = shadow.call().args(["rev-list", option, &range]);
            self.commit_lines(call.limit(WRITE_CALL_TIMEOUT))
        };
        let (descendants, mainline) =
            tokio::try_join!(list("--ancestry-path"), list("--first-parent"))?;
        let descendants: HashSet<String> = descendants.into_iter().collect();
        let Some(first) = mainline.into_iter().rfind(|commit| descendants.contains(commit)) else {
            return Ok(None);
        };
        // On the first-parent line, it was brought in by nothing but itself.
        let call = shadow.call().args(["rev-list", "--no-walk", "--parents", &first]);
        let line = call.line().await?;
        let own = line.split(' ').nth(1) == Some(commit.as_str());
        Ok(if own { None } else { Some(Commit::new(first)?) })
    }
}

/// Reads the one line that was asked for.
fn parse(said: &[u8]) -> Option<LineOrigin> {
    let mut lines = said.split(|byte| *byte == b'\n');
    let head = String::from_utf8_lossy(lines.next()?);
    let mut words = head.split(' ');
    let commit = Commit::new(words.next()?).ok()?;
    let line = words.next()?.parse().ok()?;
    let (mut path, mut text) = (None, None);
    for row in lines {
        match row.split_first() {
            Some((b'\t', rest)) => text = Some(String::from_utf8_lossy(rest).into_owned()),
            _ if text.is_some() => {}
            _ => path = path.or_else(|| row.strip_prefix(b"filename ").map(unquoted)),
        }
    }
    Some(LineOrigin { commit, path: path?, line, text: text?, merge: None })
}

/// A path as git writes it in a line: in quotes, with its odd bytes as octal digits, if it has any.
fn unquoted(written: &[u8]) -> GitPath {
    let inner = written.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let Some(inner) = inner else { return GitPath::new(written) };
    let mut bytes = Vec::new();
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(first @ b'0'..=b'3') => {
                let digits = [Some(first), rest.next(), rest.next()];
                let value = digits.into_iter().flatten().fold(0_u8, |value, digit| {
                    value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'))
                });
                bytes.push(value);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    GitPath::new(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_with_its_commit_and_file() {
        let id = "a".repeat(40);
        let said = format!(
            "{id} 7 9 1\nauthor Ada\nsummary filename x\nfilename \"a\\tb\\303\\251\"\n\ttext\n"
        );
        let origin = parse(said.as_bytes()).unwrap();
        assert_eq!((origin.line, origin.text.as_str()), (7, "text"));
        assert_eq!(origin.path.as_bytes(), "a\tbé".as_bytes());
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
            parse(&[&[b'a'; 40][..], b" 1 1\nfilename \"", &bytes, b"\"\n\t\n"].concat());
        }
    }
}
