//! What a patch changes in files, in words that no vendor owns.

use musher_core::Edit;

use super::super::frame::FileChange;

/// The edits of a change: one for each stretch of a file.
pub(super) fn edits(changes: &[FileChange]) -> Vec<Edit> {
    changes.iter().flat_map(edits_of).collect()
}

fn edits_of(change: &FileChange) -> Vec<Edit> {
    let edit =
        |old: Option<String>, new: String| Edit { path: change.path.clone(), old, new, all: false };
    match change.kind["type"].as_str() {
        Some("add") => vec![edit(None, change.diff.clone())],
        Some("delete") => vec![edit(Some(change.diff.clone()), String::new())],
        _ => hunks(&change.diff).into_iter().map(|(old, new)| edit(Some(old), new)).collect(),
    }
}

/// Before and after of each stretch of a unified diff.
fn hunks(diff: &str) -> Vec<(String, String)> {
    let mut hunks: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in diff.lines() {
        if line.starts_with("@@") {
            hunks.push((String::new(), String::new()));
            inside = true;
            continue;
        }
        let Some((old, new)) = hunks.last_mut().filter(|_| inside) else { continue };
        let add = |to: &mut String, text: &str| {
            to.push_str(text);
            to.push('\n');
        };
        match (line.get(..1), line.get(1..)) {
            (Some("-"), Some(text)) => add(old, text),
            (Some("+"), Some(text)) => add(new, text),
            (Some(" "), Some(text)) => {
                add(old, text);
                add(new, text);
            }
            _ => {}
        }
    }
    hunks
}

/// The files of a change, each once.
pub(super) fn paths(changes: &[FileChange]) -> Vec<&str> {
    let mut paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(kind: &str, diff: &str) -> FileChange {
        FileChange { path: "/w/a".into(), kind: json!({ "type": kind }), diff: diff.into() }
    }

    #[test]
    fn a_patch_becomes_what_stood_there_and_what_stands_there_now() {
        let edit = |old: Option<&str>, new: &str| Edit {
            path: "/w/a".into(),
            old: old.map(str::to_owned),
            new: new.to_owned(),
            all: false,
        };
        assert_eq!(edits(&[change("add", "one\n")]), [edit(None, "one\n")]);
        assert_eq!(edits(&[change("delete", "one\n")]), [edit(Some("one\n"), "")]);
        let diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline\n";
        let wanted = [edit(Some("one\ntwo\n"), "one\nzwei\n"), edit(Some("nine\n"), "nine\nten\n")];
        assert_eq!(edits(&[change("update", diff)]), wanted);
    }
}
