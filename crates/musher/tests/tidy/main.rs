//! Keeps the shape of the tree: what ARCHITECTURE.md forbids and no compiler refuses is refused here.

mod architecture;
mod decisions;
mod docs;
mod library;
mod logging;
mod names;
mod routes;
mod seams;
mod security;
mod tables;
mod untrusted;
mod voice;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tables::{
    API, Exception, IMPORTS, LEAVES, Lines, OF_THE_TOP, PRODUCT_IMPORTS, SHIPPED,
    VENDOR_EXCEPTIONS, VENDOR_FOLDERS, VENDORS,
};

/// Files are read from the top, in one sitting.
const LONGEST: usize = 500;
/// The cap for script of the web UI; a style sheet may be as long as a file of Rust.
const LONGEST_WEB: usize = 300;

/// Names that say nothing of what a file is for.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helpers", "common", "types", "imp", "manager"];

/// Written in two pieces, so that this file does not find itself.
const BANNED_CODE: &[(&str, &str)] = &[
    (concat!("#[", "allow("), "write `expect` with a reason, which goes stale loudly"),
    (concat!("#![", "allow("), "write `expect` with a reason, which goes stale loudly"),
    (concat!("#[", "ignore"), "a test that does not run proves nothing"),
    (concat!("todo", "!("), "finish it, or leave it out"),
    (concat!("unimplemented", "!("), "finish it, or leave it out"),
];

#[test]
fn every_file_begins_with_a_line_that_says_what_it_is_for() {
    let broken = rust_files()
        .into_iter()
        .filter(|path| !read(path).starts_with("//! "))
        .map(|path| format!("{}: begin with `//! ` and one sentence", shown(&path)));
    none(broken);
}

#[test]
fn no_file_is_too_long_to_read() {
    let broken = rust_files().into_iter().filter_map(|path| {
        let lines = read(&path).lines().count();
        (lines > LONGEST).then(|| {
            let file = shown(&path);
            format!("{file}: {lines} lines; split it, {LONGEST} is the cap")
        })
    });
    none(broken);
}

#[test]
fn every_file_of_the_web_ui_says_what_it_is_for_and_is_read_in_one_sitting() {
    let broken = web_files("").into_iter().filter_map(|path| {
        let text = read(&path);
        let lines = text.lines().count();
        let about = text.starts_with("// ") || text.starts_with("/* ");
        let file = shown(&path);
        let cap = if file.ends_with(".css") { LONGEST } else { LONGEST_WEB };
        match (about, lines <= cap) {
            (false, _) => Some(format!("{file}: begin with a comment of one sentence")),
            (true, false) => Some(format!("{file}: {lines} lines; split it, {cap} is the cap")),
            (true, true) => None,
        }
    });
    none(broken);
}

#[test]
fn the_web_ui_has_no_file_whose_name_says_nothing() {
    let broken = web_files("").into_iter().filter(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| EMPTY_NAMES.contains(&stem.to_lowercase().as_str()))
    });
    none(broken.map(|path| format!("{}: name it after what it does", shown(&path))));
}

#[test]
fn no_module_hides_in_a_mod_rs() {
    let broken = rust_files()
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "mod.rs"))
        .map(|path| format!("{}: name it after its module", shown(&path)));
    none(broken);
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let broken = rust_files()
        .into_iter()
        .filter(|path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            stem.is_some_and(|stem| EMPTY_NAMES.contains(&stem))
        })
        .map(|path| format!("{}: name it after what it does", shown(&path)));
    none(broken);
}

#[test]
fn no_lint_is_silenced_no_test_is_skipped_and_nothing_is_left_unfinished() {
    let mut broken = Vec::new();
    for path in rust_files() {
        for (number, line) in numbered(&read(&path)) {
            for (code, why) in BANNED_CODE {
                if line.contains(code) {
                    broken.push(format!("{}:{number}: `{code}`: {why}", shown(&path)));
                }
            }
        }
    }
    none(broken);
}

#[test]
fn no_vendor_is_named_outside_its_own_folder() {
    let mut used = vec![false; VENDOR_EXCEPTIONS.len()];
    let mut broken = Vec::new();
    let sources = SHIPPED
        .iter()
        .flat_map(|(package, _)| files(&root().join("crates").join(package).join("src")));
    for path in sources.chain(web_files("src")) {
        let file = shown(&path);
        let inside = |folder: &&str| {
            let rest = file.strip_prefix("crates/musher-runtime/src/");
            let rest = rest.and_then(|rest| rest.strip_prefix(*folder));
            rest.is_some_and(|rest| rest.starts_with(['/', '.']))
        };
        if VENDOR_FOLDERS.iter().any(inside) {
            continue;
        }
        for (number, line) in numbered(&read(&path)) {
            let lower = line.to_lowercase();
            let Some(vendor) = VENDORS.iter().find(|vendor| lower.contains(**vendor)) else {
                continue;
            };
            let excused =
                VENDOR_EXCEPTIONS.iter().position(|exception| exception.covers(&file, line));
            match excused {
                Some(index) => used[index] = true,
                None => broken.push(format!(
                    "{file}:{number}: `{vendor}`: move it into the vendor's own folder"
                )),
            }
        }
    }
    let stale =
        VENDOR_EXCEPTIONS.iter().zip(used).filter(|(_, used)| !used).map(|(exception, _)| {
            let Exception { file, reason, .. } = exception;
            format!("{file}: the exception ({reason}) is no longer needed; remove it")
        });
    none(broken.into_iter().chain(stale));
}

#[test]
fn musher_core_depends_on_nothing_but_serde_serde_json_and_thiserror() {
    assert_eq!(
        dependencies("musher-core"),
        ["serde", "serde_json", "thiserror"],
        "core holds words and rules; whatever needs more belongs to another crate"
    );
}

#[test]
fn the_rules_of_the_pool_know_nothing_of_tests() {
    let pool = root().join("crates/musher-core/src/pool");
    let rules = files(&pool.join("decide")).into_iter().chain([pool.join("decide.rs")]);
    let mut broken = Vec::new();
    for path in rules {
        for (number, line) in numbered(&read(&path)) {
            if line.contains("test)") {
                let fix = "play a broken rule in pool/tests/broken.rs instead";
                broken.push(format!("{}:{number}: {}: {fix}", shown(&path), line.trim()));
            }
        }
    }
    none(broken);
}

#[test]
fn musher_core_touches_no_file_no_clock_no_environment_and_no_process() {
    let outside =
        ["std::fs", "std::env", "std::net", "std::process", "std::thread", "SystemTime", "Instant"];
    let mut broken = Vec::new();
    for path in files(&root().join("crates/musher-core/src")) {
        for (number, line) in numbered(&read(&path)) {
            if outside.iter().any(|name| line.contains(name)) {
                broken.push(format!("{}:{number}: {}", shown(&path), line.trim()));
            }
        }
    }
    none(broken);
}

#[test]
fn musher_runtime_does_not_know_the_product() {
    let known = dependencies("musher-runtime");
    assert!(
        !known.iter().any(|name| name == "musher"),
        "musher-runtime is embedded by others and must build without the product: {known:?}"
    );
}

#[test]
fn a_crate_that_ships_knows_only_those_that_stand_below_it() {
    let mut broken = Vec::new();
    for (package, allowed) in SHIPPED {
        let known = dependencies(package).into_iter().filter(|name| name.starts_with("musher"));
        let more = known.filter(|name| !allowed.contains(&name.as_str()));
        broken.extend(more.map(|name| format!("{package} must not know {name}")));
    }
    none(broken);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "cargo is asked, and it ends by itself")]
fn no_leaf_crate_knows_the_network_a_database_or_the_command_line() {
    let mut broken = Vec::new();
    for leaf in LEAVES {
        let tree = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none"])
            .args(["--format", "{p}", "--package", leaf])
            .current_dir(root())
            .output()
            .expect("cargo can be asked");
        let listed = String::from_utf8_lossy(&tree.stdout);
        assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
        assert!(listed.starts_with(leaf), "{listed}");
        let names = listed.lines().filter_map(|line| line.split(' ').next());
        let found = names.filter(|name| OF_THE_TOP.contains(name));
        broken.extend(found.map(|name| format!("{leaf} must not know {name}")));
    }
    none(broken);
}

#[test]
fn nothing_that_ships_depends_on_the_testkit_or_the_benchmark() {
    for (shipped, _) in SHIPPED {
        let known = dependencies(shipped);
        assert!(
            !known.iter().any(|name| name == "musher-testkit"),
            "{shipped} may have musher-testkit among its dev-dependencies only: {known:?}"
        );
        assert!(!known.iter().any(|name| name == "musher-bench"), "{shipped}: {known:?}");
    }
}

#[test]
fn no_part_of_musher_runtime_imports_one_that_stands_above_or_beside_it() {
    check_imports("musher-runtime", IMPORTS);
}

#[test]
fn no_part_of_musher_imports_one_that_stands_above_or_beside_it() {
    check_imports("musher", PRODUCT_IMPORTS);
}

fn check_imports(package: &str, table: &[(&str, &[&str])]) {
    let source = root().join("crates").join(package).join("src");
    let mut broken = Vec::new();
    for entry in fs::read_dir(&source).expect("a crate has sources").flatten() {
        let path = entry.path();
        let part = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // The command line is the top.
        let is_top = ["lib", "main", "cli"].contains(&part.as_str());
        if !is_top && !table.iter().any(|(known, _)| *known == part) {
            broken.push(format!("{}: it has no row of what it may use", shown(&path)));
        }
    }
    for (part, allowed) in table {
        let mut paths = files(&source.join(part));
        paths.push(source.join(part).with_extension("rs"));
        paths.retain(|path| path.extension().is_some_and(|end| end == "rs"));
        for path in paths {
            let file = shown(&path);
            let text = read(&path);
            // Tests inside a file may look at what they like.
            let code = text.split("#[cfg(test)]\nmod tests {").next();
            let depth = path.strip_prefix(&source).map_or(1, |path| path.components().count());
            let code = without_comments(code.unwrap_or_default());
            for (number, name) in imported(&code) {
                let name = match name.starts_with(char::is_uppercase) {
                    true => API,
                    false => name,
                };
                if !allowed.contains(&name) {
                    broken.push(format!("{file}:{number}: {part} must not use {name}"));
                }
            }
            for (number, line) in numbered(&code) {
                if line.contains(&"super::".repeat(depth)) {
                    broken.push(format!(
                        "{file}:{number}: write `crate::`, so that this table can see it"
                    ));
                }
            }
        }
    }
    none(broken);
}

#[test]
fn every_script_can_be_executed() {
    let mut scripts = files(&root().join("scripts"));
    scripts.push(root().join(".ci/run"));
    let executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 == 0o111)
    };
    let broken = scripts
        .into_iter()
        .filter(|path| !executable(path))
        .map(|path| format!("{}: chmod +x", shown(&path)));
    none(broken);
}

impl Exception {
    fn covers(&self, file: &str, line: &str) -> bool {
        file == self.file
            && match self.lines {
                Lines::All => true,
                Lines::Docs => line.trim_start().starts_with("///"),
                Lines::Containing(text) => line.contains(text),
            }
    }
}

/// The top of the repository.
fn root() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    top.canonicalize().expect("the repository has a top")
}

/// Every file below a folder, in order; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn rust_files() -> Vec<PathBuf> {
    let mut found = files(&root().join("crates"));
    found.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    assert!(found.len() > 50, "the sources were not found");
    found
}

/// What people wrote of the web UI, below a folder of it.
fn web_files(below: &str) -> Vec<PathBuf> {
    let web = root().join("web");
    let outside = [web.join("node_modules"), web.join("dist"), web.join("test-results")];
    let mut found = Vec::new();
    let mut folders = vec![web.join(below)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the web UI is there") {
            let path = entry.expect("a folder can be listed").path();
            match path.is_dir() {
                true if outside.contains(&path) => {}
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    let written = ["ts", "tsx", "mjs", "css"];
    found.retain(|path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let made = path.ends_with("api/schema.d.ts");
        ending.is_some_and(|ending| written.contains(&ending)) && !made
    });
    found.sort();
    assert!(found.len() > 30, "the web UI was not found");
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", shown(path)))
}

/// The path as seen from the top.
fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.display().to_string()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// The text with its comments blanked, line for line.
fn without_comments(text: &str) -> String {
    let code = |line: &str| match line.trim_start().starts_with("//") {
        true => "\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(code).collect()
}

/// What code takes from the root of its crate, with the number of the line.
fn imported(code: &str) -> Vec<(usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let first = |text| str::split(text, |c| !is_name(c)).next().unwrap_or_default();
    let mut names = Vec::new();
    for (at, found) in code.match_indices("crate::") {
        // The end of a longer name, such as `my_crate`.
        if code[..at].ends_with(is_name) {
            continue;
        }
        let number = code[..at].matches('\n').count() + 1;
        let rest = &code[at + found.len()..];
        match rest.strip_prefix('{') {
            None => names.push((number, first(rest))),
            Some(group) => names.extend(outermost(group).map(|item| (number, first(item)))),
        }
    }
    names.retain(|(_, name)| !name.is_empty());
    names
}

/// The items of a group of imports, each with whatever is nested in it.
fn outermost(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 1;
    let mut starts = vec![0];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => starts.push(at + 1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    starts.into_iter().map(|start| group[start..].trim_start())
}

/// The names that a crate of ours needs to be built, without those of its tests.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = read(&root().join("crates").join(package).join("Cargo.toml"));
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let (tables, last) = header.rsplit_once('.').unwrap_or(("", header));
            inside = needed(last);
            // A dependency may have a table of its own.
            if needed(tables.rsplit('.').next().unwrap_or_default()) {
                names.push(last.to_owned());
            }
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            names.extend(line.split(['.', '=', ' ']).next().map(str::to_owned));
        }
    }
    names.sort();
    names
}

fn needed(table: &str) -> bool {
    matches!(table, "dependencies" | "build-dependencies")
}

/// Fails with every line of the list, if there is one.
fn none(broken: impl IntoIterator<Item = String>) {
    let broken: Vec<String> = broken.into_iter().collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}
