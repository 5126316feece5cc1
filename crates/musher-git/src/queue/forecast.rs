//! Which heads would collide with the base and with each other, found out without leaving an object behind.

use serde::Serialize;

use crate::call::WRITE_CALL_TIMEOUT;
use crate::name::Commit;
use crate::path::GitPath;
use crate::shadow::Shadow;
use crate::{Git, GitError};

/// What a merge of all heads would meet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QueueForecast {
    /// For each head the files that do not merge into the base.
    pub with_base: Vec<Vec<GitPath>>,
    /// The pairs of heads that do not merge.
    pub collisions: Vec<Collision>,
}

/// Two heads that do not merge, by their places in the list that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collision {
    pub first: usize,
    pub second: usize,
    pub files: Vec<GitPath>,
}

impl Git {
    /// Merges every head with the base and with every other head, and tells which files do not merge. All of it is one
    /// process, and its objects are thrown away. Heads without a common history are refused.
    pub async fn forecast(
        &self,
        base: &Commit,
        heads: &[Commit],
    ) -> Result<QueueForecast, GitError> {
        self.check_queue().await?;
        self.check_commit(base).await?;
        let all: Vec<&Commit> = heads.iter().collect();
        if let Some(at) = self.missing(&all).await?.iter().position(|missing| *missing) {
            let path = self.root().to_owned();
            return Err(GitError::NoCommit { commit: heads[at].clone(), path });
        }
        let pairs =
            (0..heads.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let of_base = heads.iter().map(|head| (base, head));
        let of_pairs = pairs.iter().map(|(first, second)| (&heads[*first], &heads[*second]));
        let shadow = Shadow::of_passing_objects(self).await?;
        let mut files = conflicts(&shadow, base, of_base.chain(of_pairs)).await?;
        let collisions = pairs.into_iter().zip(files.split_off(heads.len()));
        let collisions = collisions.filter(|(_, files)| !files.is_empty());
        let collisions =
            collisions.map(|((first, second), files)| Collision { first, second, files }).collect();
        Ok(QueueForecast { with_base: files, collisions })
    }
}

/// The files of each pair that do not merge, under the attributes of one commit.
pub(super) async fn conflicts<'a>(
    shadow: &Shadow<'_>,
    attributes: &Commit,
    pairs: impl Iterator<Item = (&'a Commit, &'a Commit)>,
) -> Result<Vec<Vec<GitPath>>, GitError> {
    let pairs: Vec<(&Commit, &Commit)> = pairs.collect();
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let input: String = pairs.iter().map(|(one, other)| format!("{one} {other}\n")).collect();
    let call = shadow.call().args(["merge-tree", "--stdin", "--name-only", "--no-messages"]);
    let call = call.env("GIT_ATTR_SOURCE", attributes.as_str()).limit(WRITE_CALL_TIMEOUT);
    let output = match call.input(input).run().await {
        Ok(output) => output.stdout,
        Err(GitError::Failed { said, .. }) if said.contains("unrelated histories") => {
            return Err(unrelated(shadow, &pairs).await?);
        }
        Err(error) => return Err(error),
    };
    let files = parse(&output)?;
    match files.len() == pairs.len() {
        true => Ok(files),
        false => Err(GitError::unexpected("merge-tree", &output)),
    }
}

/// The first pair that has no common history; git does not say which it is.
async fn unrelated(
    shadow: &Shadow<'_>,
    pairs: &[(&Commit, &Commit)],
) -> Result<GitError, GitError> {
    for (base, tip) in pairs {
        let call = shadow.call().args(["merge-base", "--end-of-options"]);
        let output = call.args([base.as_str(), tip.as_str()]).fine(&[0, 1]).run().await?;
        if output.code == 1 {
            return Ok(GitError::Unrelated { base: (*base).clone(), tip: (*tip).clone() });
        }
    }
    Ok(GitError::unexpected("merge-tree", b"unrelated histories"))
}

/// Reads for each pair whether it merges, its tree, and its files up to an empty one.
fn parse(output: &[u8]) -> Result<Vec<Vec<GitPath>>, GitError> {
    let wrong = || GitError::unexpected("merge-tree", output);
    let Some(output) = output.strip_suffix(b"\0") else {
        return if output.is_empty() { Ok(Vec::new()) } else { Err(wrong()) };
    };
    let mut fields = output.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(status) = fields.next() {
        let clean = match status {
            b"1" => true,
            b"0" => false,
            _ => return Err(wrong()),
        };
        fields.next().ok_or_else(wrong)?;
        let mut files: Vec<GitPath> = Vec::new();
        loop {
            match fields.next().ok_or_else(wrong)? {
                [] => break,
                path => files.push(GitPath::new(path)),
            }
        }
        files.dedup();
        if clean != files.is_empty() {
            return Err(wrong());
        }
        found.push(files);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_are_read_with_their_files() {
        let found = parse(b"1\0aaa\0\x000\0bbb\0x y\0z\0\x001\0ccc\0\0").unwrap();
        let path = |name: &str| GitPath::new(name);
        assert_eq!(found, [vec![], vec![path("x y"), path("z")], vec![]]);
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes).ok();
            parse(&[b"0\0a\0", &bytes[..], b"\0"].concat()).ok();
        }
    }
}
