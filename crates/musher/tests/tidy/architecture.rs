//! Holds ARCHITECTURE.md to its word: it is short, every claim names a guard that exists, and every module has its row.

use crate::security::{known_tests, row};
use crate::{none, numbered, read, root};

/// Two pages.
const MAX_LINES: usize = 130;

#[test]
fn every_claim_of_the_architecture_names_a_guard_that_exists() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let lines = page.lines().count();
    assert!(lines <= MAX_LINES, "ARCHITECTURE.md has {lines} lines; {MAX_LINES} is the cap");
    let (tests, bans) = (known_tests(), bans());
    let mut broken = Vec::new();
    let (mut guarded, mut claims) = (false, 0);
    for (number, line) in numbered(&page) {
        let Some(cells) = row(line) else {
            guarded = false;
            continue;
        };
        let last = cells.last().copied().unwrap_or_default();
        if last.starts_with("guard") {
            guarded = true;
            continue;
        }
        if !guarded || last.starts_with("---") {
            continue;
        }
        claims += 1;
        let guards: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if guards.is_empty() {
            broken.push(format!("ARCHITECTURE.md:{number}: name its guard, or remove the claim"));
        }
        for guard in guards.iter().filter(|guard| !tests.contains(guard)) {
            if !bans.iter().any(|ban| ban == guard) {
                broken.push(format!("ARCHITECTURE.md:{number}: no test, lint or ban is `{guard}`"));
            }
        }
    }
    assert!(claims > 30, "the claims were not found");
    none(broken);
}

#[test]
fn every_module_of_musher_has_its_row_in_the_architecture() {
    let page = read(&root().join("ARCHITECTURE.md"));
    let table = page.split("| module of `musher` |").nth(1).unwrap_or_default();
    let table = table.split("\n\n").next().unwrap_or_default();
    let rows: Vec<&str> = table.lines().filter_map(|line| row(line)?.first().copied()).collect();
    let named: Vec<&str> =
        rows.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let library = read(&root().join("crates/musher/src/lib.rs"));
    let modules: Vec<&str> = library
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert!(modules.len() > 10, "the modules were not found");
    let missing = modules.iter().filter(|module| !named.contains(module));
    let gone = named.iter().filter(|name| !modules.contains(name));
    none(
        missing
            .map(|module| format!("ARCHITECTURE.md: say what the module `{module}` is for"))
            .chain(gone.map(|name| format!("ARCHITECTURE.md: there is no module `{name}`"))),
    );
}

/// The lints that are on in the whole workspace, and the functions that clippy bans.
fn bans() -> Vec<String> {
    let manifest = read(&root().join("Cargo.toml"));
    let lints = manifest.split("[workspace.lints").skip(1).flat_map(str::lines);
    let lints = lints.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned());
    let clippy = read(&root().join("clippy.toml"));
    let banned = clippy.split("path = \"").skip(1).filter_map(|rest| rest.split('"').next());
    lints.chain(banned.map(str::to_owned)).collect()
}
