//! Keeps what people read in the field's own words: phrases that sound translated are refused in texts, help and pages.

use crate::docs;
use crate::{files, none, numbered, read, root, shown, web_files};

/// What must not be said, and what to say instead.
const REFUSED: &[(&str, &str)] = &[
    ("whoever", "name who it is"),
    ("whatever", "name what it is"),
    ("mend", "fix, repair, resolve"),
    ("heed", "apply, handle, follow"),
    ("hand back", "return"),
    ("hands back", "returns"),
    ("the like of", "similar"),
    ("for good", "always, saved, permanently"),
    ("go on", "continue, keep working"),
    ("goes on", "continues, keeps working"),
    ("gone on", "continued, resumed"),
    ("take it back", "revoke it, withdraw it, undo it"),
    ("taken back", "revoked, withdrawn, undone"),
    ("cannot be taken back", "cannot be undone"),
    ("come in", "sign in"),
    ("waits for a place", "Queued"),
];

#[test]
fn no_text_that_people_read_sounds_translated() {
    let mut broken = Vec::new();
    for package in ["musher-core", "musher-runtime", "musher"] {
        for path in files(&root().join("crates").join(package).join("src")) {
            let file = shown(&path);
            if !file.ends_with(".rs") || file.contains("/tests") || file.ends_with("fuzz.rs") {
                continue;
            }
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for (number, line) in numbered(code) {
                // A reason of a lint is read by those who read the code.
                let start = line.trim_start();
                let comment = ["//", "#[expect(", "#![expect(", "reason = "]
                    .iter()
                    .any(|mark| start.starts_with(mark));
                if !comment {
                    let said: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
                    broken.extend(refused(&file, number, &said.join(" \" ")));
                }
            }
        }
    }
    let snapshots = files(&root().join("crates/musher/tests/cli/snapshots"));
    assert!(snapshots.len() > 20, "the help was not found");
    let pages =
        web_files("src").into_iter().filter(|path| path.extension() != Some("css".as_ref()));
    let docs = docs::pages().into_iter().filter(|path| {
        // A changelog and a decision quote what was said before.
        !path.ends_with("CHANGELOG.md") && !path.starts_with(root().join("docs/decisions"))
    });
    for path in snapshots.into_iter().chain(pages).chain(docs) {
        let file = shown(&path);
        for (number, line) in numbered(&read(&path)) {
            let start = line.trim_start();
            let comment = ["//", "/*", "*", "import "].iter().any(|mark| start.starts_with(mark));
            if !comment {
                broken.extend(refused(&file, number, line));
            }
        }
    }
    none(broken);
}

/// What a text says that must not be said.
fn refused(file: &str, number: usize, text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '-');
    let says = |phrase: &str| {
        text.match_indices(phrase).any(|(at, _)| {
            let after = text[at + phrase.len()..].chars().next();
            apart(text[..at].chars().next_back()) && apart(after)
        })
    };
    let found = REFUSED.iter().filter(|(phrase, _)| says(phrase));
    found.map(|(phrase, say)| format!("{file}:{number}: `{phrase}`: say {say}")).collect()
}
