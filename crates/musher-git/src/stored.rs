//! Reads references from the files in which git stores them, where that is certain: a start waits for it, and a process
//! takes longer than a read.

use std::path::Path;

use musher_os::untrusted;

use super::head::{self, Named};
use super::name::{Branch, Commit};

/// No file with one reference is longer.
const MAX_REF_BYTES: u64 = 4 << 10;
/// Larger files with many references are left to git, which need not read them whole.
const MAX_PACKED_REFS_BYTES: u64 = 1 << 20;

/// What the files say of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    At(Commit),
    Absent,
    /// Git must be asked: references are stored otherwise, or this one stands for another or is damaged.
    Unclear,
}

/// What the files in the folder that all worktrees share say of a branch.
pub(super) fn stored(common: &Path, branch: &Branch) -> Stored {
    if !matches!(head::branch_in_file(common), Some(Named::Branch(_))) {
        return Stored::Unclear;
    }
    let full = branch.full();
    match untrusted::read_if_there(&common.join(&full), MAX_REF_BYTES) {
        Ok(Some(text)) => commit(&text).map_or(Stored::Unclear, Stored::At),
        Ok(None) => packed(common, full.as_bytes()),
        Err(_) => Stored::Unclear,
    }
}

fn packed(common: &Path, full: &[u8]) -> Stored {
    let list = match untrusted::read_if_there(&common.join("packed-refs"), MAX_PACKED_REFS_BYTES) {
        Ok(Some(list)) => list,
        Ok(None) => return Stored::Absent,
        Err(_) => return Stored::Unclear,
    };
    let lines = list.split(|byte| *byte == b'\n');
    let mut refs = lines.filter_map(|line| line.strip_suffix(full)?.strip_suffix(b" "));
    match refs.next() {
        Some(id) => commit(id).map_or(Stored::Unclear, Stored::At),
        None => Stored::Absent,
    }
}

fn commit(id: &[u8]) -> Option<Commit> {
    let id = id.strip_suffix(b"\n").unwrap_or(id);
    Commit::new(std::str::from_utf8(id).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn at(id: &str) -> Stored {
        Stored::At(Commit::new(id).unwrap())
    }

    #[test]
    fn a_branch_is_read_from_its_own_file_before_the_file_of_all() {
        let head = ("HEAD", "ref: refs/heads/main\n");
        let own = ("refs/heads/main", &*format!("{ONE}\n"));
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted\n{TWO} refs/heads/main\n\
             {ONE} refs/heads/musher/s1/1\n^{TWO}\n{TWO} refs/remotes/x/refs/heads/gone\n"
        );
        let packed = ("packed-refs", &*packed);
        let look = |files: &[(&str, &str)], name: &str| {
            let folder = folder(files);
            stored(folder.path(), &Branch::new(name).unwrap())
        };
        assert_eq!(look(&[head, own, packed], "main"), at(ONE));
        assert_eq!(look(&[head, packed], "main"), at(TWO));
        assert_eq!(look(&[head, packed], "musher/s1/1"), at(ONE));
        assert_eq!(look(&[head, packed], "s1/1"), Stored::Absent, "a part of a name is another");
        assert_eq!(look(&[head, packed], "gone"), Stored::Absent);
        assert_eq!(look(&[head], "main"), Stored::Absent);
    }

    #[test]
    fn what_is_not_certain_is_left_to_git() {
        let head = ("HEAD", "ref: refs/heads/main\n");
        let own = ("refs/heads/main", &*format!("{ONE}\n"));
        let cases: [&[(&str, &str)]; 5] = [
            &[("HEAD", "ref: refs/heads/.invalid\n"), own],
            &[own],
            &[head, ("refs/heads/main", "ref: refs/heads/other\n")],
            &[head, ("refs/heads/main", "")],
            &[head, ("packed-refs", &format!("{} refs/heads/main\n", &ONE[1..]))],
        ];
        for files in cases {
            let folder = folder(files);
            let found = stored(folder.path(), &Branch::new("main").unwrap());
            assert_eq!(found, Stored::Unclear, "{files:?}");
        }
    }
}
