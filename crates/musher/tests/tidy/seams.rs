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

/// The one process of a session that is started outside of its sandbox: the person's own command for a key.
const OUTSIDE_OF_A_SANDBOX: &str = "crates/musher-runtime/src/model/key.rs";

#[test]
fn whatever_is_started_for_an_agent_is_started_in_its_sandbox() {
    let mut broken = Vec::new();
    let mut confined = 0;
    for path in rust_files() {
        let place = shown(&path);
        if !place.starts_with("crates/musher-runtime/src/") || place.contains("/tests") {
            continue;
        }
        let text = without_comments(&read(&path));
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        let ways = ["map(Confinement::of)", "Some(Confinement::holder("];
        confined += ways.iter().map(|way| shipped.matches(way).count()).sum::<usize>();
        for (number, line) in numbered(shipped) {
            if line.contains("confinement: None") && place != OUTSIDE_OF_A_SANDBOX {
                broken.push(format!("{place}:{number}: start it in the sandbox of its session"));
            }
        }
    }
    assert!(confined >= 4, "agent, setup, tools of a model and of a script: {confined} were found");
    none(broken);
}
