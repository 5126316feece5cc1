//! Keeps the product's own words out of the runtime library, and our own code out of what a library does.

use crate::tables::SHIPPED;
use crate::{files, none, numbered, read, root, shown};

#[test]
fn the_runtime_library_speaks_of_no_flag_and_no_command_of_the_product() {
    let mut broken = Vec::new();
    for path in files(&root().join("crates/musher-runtime/src")) {
        let file = shown(&path);
        if !file.ends_with(".rs") || file.contains("/tests") {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in numbered(code) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for said in line.split('"').skip(1).step_by(2) {
                if let Some(word) = product_word(said) {
                    broken.push(format!(
                        "{file}:{number}: `{word}`: give a `HintCode`, and word it in crates/musher/src/runner/hints.rs"
                    ));
                }
            }
        }
    }
    none(broken);
}

/// A flag in the middle of a sentence, a command, or a part of the project file. What begins with a flag is an argument
/// for an agent's program.
fn product_word(said: &str) -> Option<&'static str> {
    let flag = [" --", "(--", "`--"].iter().any(|start| {
        said.split(start).skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let command = said.contains("`musher ");
    let section = said.contains("[worktree]");
    [(flag, "--flag"), (command, "musher"), (section, "[worktree]")]
        .into_iter()
        .find_map(|(found, word)| found.then_some(word))
}

#[test]
fn no_text_is_percent_encoded_by_hand() {
    let mut broken = Vec::new();
    for path in SHIPPED
        .iter()
        .flat_map(|(package, _)| files(&root().join("crates").join(package).join("src")))
    {
        for (number, line) in numbered(&read(&path)) {
            if line.contains("\"%{") && line.contains(":02X}") {
                broken.push(format!(
                    "{}:{number}: use `percent_encoding::utf8_percent_encode`",
                    shown(&path)
                ));
            }
        }
    }
    none(broken);
}
