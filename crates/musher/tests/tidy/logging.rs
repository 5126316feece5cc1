//! What a server does is in its log: nothing prints past it, no error is dropped without a word, no retry is silent.

use super::tables::SHIPPED;
use super::{none, numbered, read, root, rust_files, shown, without_comments};

/// Files that wait in a loop and try nothing again, or whose callers tell it.
const NO_RETRIES: &[(&str, &str)] = &[
    ("watch/conflicts.rs", "it rests between two looks, so that others get the machine"),
    ("api/runs/follow.rs", "it waits for a log that has not begun"),
    ("watch/lines.rs", "it rests between two looks, so that others get the machine"),
    ("musher-git/odd.rs", "it looks after a git that is at work"),
    (
        "home.rs",
        "a server that was killed may hold the lock for half a second; then the error is told",
    ),
    ("logging/file.rs", "the log is not there yet"),
    ("logging/sink.rs", "the log is ending"),
    ("mcp/tool_server.rs", "it sends signs of life"),
    ("musher-log/lock.rs", "it waits for a moment; then the error is told"),
    ("musher-runtime/process/tree.rs", "it waits for the death of what it has killed"),
    ("musher-runtime/tools/commands.rs", "an agent waits for the output of its command"),
    ("runner/force.rs", "it waits for the death of what it has killed; then the error is told"),
    ("supervisor.rs", "it looks at the clock and at the journal"),
];

/// The code of a file without comments and tests.
fn shipped(text: &str) -> String {
    let code = without_comments(text);
    let end = code.find("#[cfg(test)]").unwrap_or(code.len());
    code[..end].to_owned()
}

/// The files of the server and of runners, each with its place: below `crates/musher/src`, or with the name of its crate.
fn server_files() -> impl Iterator<Item = (String, String)> {
    let crates = root().join("crates");
    rust_files().into_iter().filter_map(move |path| {
        let path_in_crates = path.strip_prefix(&crates).ok()?.to_string_lossy().into_owned();
        let (package, place) = path_in_crates.split_once("/src/")?;
        let place = match package {
            "musher" => place.to_owned(),
            "musher-git" | "musher-log" | "musher-os" | "musher-runtime" => {
                format!("{package}/{place}")
            }
            _ => return None,
        };
        let aside = place.starts_with("cli") || place.contains("/tests");
        (!aside).then(|| (place, shipped(&read(&path))))
    })
}

#[test]
fn what_a_server_has_to_say_is_a_line_of_its_log() {
    let prints = ["println!", "eprintln!", "print!(", "eprint!("];
    none(server_files().flat_map(|(place, code)| {
        let found: Vec<String> = numbered(&code)
            .filter(|(_, line)| prints.iter().any(|print| line.contains(print)))
            .map(|(number, _)| format!("{place}:{number}: write it with `tracing`"))
            .collect();
        found
    }));
}

#[test]
fn an_error_that_is_dropped_says_why_in_its_name() {
    let ours = |path: &String| {
        SHIPPED.iter().any(|(package, _)| path.starts_with(&format!("crates/{package}/src")))
            && !path.contains("/tests")
    };
    let files = rust_files().into_iter().filter(|path| ours(&shown(path)));
    none(files.flat_map(|path| {
        let code = shipped(&read(&path));
        let found: Vec<String> = numbered(&code)
            .filter(|(_, line)| line.trim_start().starts_with("let _ ="))
            .map(|(number, _)| {
                let file = shown(&path);
                format!("{file}:{number}: log the error, or name why it is none: `let _gone = …`")
            })
            .collect();
        found
    }));
}

fn sleeps(code: &str) -> bool {
    let of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices("sleep(").any(|(at, _)| !code[..at].ends_with(of_a_name))
}

#[test]
fn a_retry_is_told_with_its_attempt() {
    let silent: Vec<String> = server_files()
        .filter(|(_, code)| sleeps(code) && !code.contains("attempt"))
        .map(|(place, _)| place)
        .collect();
    let known = |place: &&String| NO_RETRIES.iter().all(|(known, _)| known != place);
    none(silent.iter().filter(known).map(|place| {
        format!(
            "{place}: it sleeps; log each retry with `attempt`, or say in NO_RETRIES why it is none"
        )
    }));
    let stale = NO_RETRIES.iter().filter(|(place, _)| silent.iter().all(|it| it != place));
    none(stale.map(|(place, _)| format!("{place}: it is no exception any more")));
}
