//! Keeps one guard around files that an agent can write: nothing that meets such files opens them in another way.

use crate::{files, none, numbered, read, root, shown, without_comments};

/// The parts that meet files which an agent can write: worktrees, the repository, the folders of runs, the state directory.
const PARTS: &[&str] = &[
    "musher-git/src",
    "musher-log/src",
    "musher-os/src/reserved_space",
    "musher/src/api",
    "musher/src/bus",
    "musher/src/config",
    "musher/src/home",
    "musher/src/runner",
    "musher/src/settings",
    "musher/src/supervisor",
    "musher/src/watch",
];

/// Ways to open a file that wait for it, or follow where it leads. Written in two pieces, so that no search finds itself.
const BLIND: &[&str] = &[
    concat!("fs::", "read("),
    concat!("fs::", "read_to_string("),
    concat!("fs::", "write("),
    concat!("fs::", "copy("),
    concat!("File::", "open("),
    concat!("File::", "create("),
    concat!("File::", "options("),
    concat!("OpenOptions", "::new("),
];

/// Where one of them stands all the same, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "musher-git/src/standin.rs",
        "the folder was made a moment ago, under a name that nobody knew",
    ),
    ("musher-git/src/shadow.rs", "the folder was made a moment ago, under a name that nobody knew"),
    ("musher/src/home/binary.rs", "the program is the one that runs, and its copy is made anew"),
];

#[test]
fn what_an_agent_can_write_is_opened_by_the_guard_alone() {
    let source = root().join("crates");
    let mut used = vec![false; EXCEPTIONS.len()];
    let mut broken = Vec::new();
    for part in PARTS {
        let mut paths = files(&source.join(part));
        paths.push(source.join(part).with_extension("rs"));
        paths
            .retain(|path| path.exists() && !path.components().any(|it| it.as_os_str() == "tests"));
        paths.retain(|path| !path.ends_with("tests.rs") && path.extension() == Some("rs".as_ref()));
        assert!(!paths.is_empty(), "there is no {part}");
        for path in paths {
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let file = path.strip_prefix(&source).unwrap_or(&path).display().to_string();
            for (number, line) in numbered(&without_comments(code)) {
                if !BLIND.iter().any(|way| line.contains(way)) {
                    continue;
                }
                match EXCEPTIONS.iter().position(|(excused, _)| *excused == file) {
                    Some(at) => used[at] = true,
                    None => broken.push(format!(
                        "{}:{number}: open it with musher_os::untrusted, which follows and waits for nothing",
                        shown(&path)
                    )),
                }
            }
        }
    }
    let stale = EXCEPTIONS.iter().zip(used).filter(|(_, used)| !used);
    none(broken.into_iter().chain(
        stale.map(|((file, reason), _)| format!("{file}: the exception ({reason}) is not needed")),
    ));
}

#[test]
fn work_with_git_and_worktrees_is_done_apart_from_the_servers_own_threads() {
    let source = root().join("crates/musher/src");
    let quick = ["path(", "holding(", "apart(", "git()", "root(", "common(", "clone()"];
    let mut broken = Vec::new();
    for part in ["api", "supervisor", "watch"] {
        let mut paths = files(&source.join(part));
        paths.push(source.join(part).with_extension("rs"));
        for path in paths {
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in numbered(&without_comments(code)) {
                for owner in [
                    "api.git.",
                    "api.slots.",
                    "ground.git.",
                    "ground.slots.",
                    "self.git.",
                    "self.slots.",
                ] {
                    let rest = line.split(owner).nth(1);
                    if rest.is_some_and(|rest| !quick.iter().any(|way| rest.starts_with(way))) {
                        let file = shown(&path);
                        broken.push(format!("{file}:{number}: wait for it with `Slots::apart`"));
                    }
                }
            }
        }
    }
    none(broken);
}
