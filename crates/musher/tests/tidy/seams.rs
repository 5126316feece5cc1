//! Holds the seams: what an action needs it carries, what is granted is decided by the pool, and runs have one place.

use crate::{none, numbered, read, root, rust_files, shown, without_comments};

/// Lines below a folder of the product that hold one of these words, told with a reason.
fn naming(folder: &str, words: &[&str], instead: &str) -> Vec<String> {
    let folder = root().join("crates/musher/src").join(folder);
    let file = folder.with_extension("rs");
    let mut broken = Vec::new();
    let mut seen = 0;
    for path in rust_files() {
        if path != file && !path.starts_with(&folder) {
            continue;
        }
        seen += 1;
        // Tests may look where they like.
        let text = without_comments(&read(&path));
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in numbered(shipped) {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                broken.push(format!("{}:{number}: `{word}`; {instead}", shown(&path)));
            }
        }
    }
    assert!(seen > 0, "{} was not found", shown(&folder));
    broken
}

#[test]
fn no_action_asks_the_pool_for_what_it_carries() {
    let instead = "let the action carry it, from the state alone";
    none(naming("supervisor/act", &[".inspect("], instead));
    none(naming("supervisor/place", &[".inspect(", ".pool"], instead));
}

#[test]
fn no_door_grants_a_rule() {
    none(naming("api", &["local().grant("], "let the pool decide it and `act` save it"));
}

#[test]
fn whoever_takes_an_action_reaches_a_run_through_its_place_alone() {
    let words = ["home.run(", "home.make_run(", "close_dead", "launch::", "slots.prepare("];
    none(naming("supervisor/act", &words, "add it to every `RunPlace`"));
}

#[test]
fn no_door_and_no_read_model_knows_in_which_folder_a_log_is() {
    let words = [".folder(", "LogReader::open", "RunSpec::read", "raw::read", "last_written(&"];
    for folder in ["api", "watch", "mcp"] {
        none(naming(folder, &words, "open it by run and cursor, with `RunLogs`"));
    }
    let words = ["LogReader::open", "RunSpec::read"];
    none(naming("supervisor/attend", &words, "open it by run and cursor, with `RunLogs`"));
}
