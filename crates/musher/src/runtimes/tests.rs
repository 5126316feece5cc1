//! The tables of what each runtime can do, in the documents that people read.

use std::path::{Path, PathBuf};

use musher_runtime::Capabilities;

use super::*;

const BEGIN: &str =
    "<!-- The table is written from the runtimes themselves; a test says how. -->\n";
const END: &str = "<!-- The end of the table. -->";

type Power = (&'static str, fn(&Capabilities) -> bool);

/// What is told of a runtime, in the words of the documents.
const POWERS: &[Power] = &[
    ("approvals", |it| it.approvals),
    ("questions", |it| it.questions),
    ("interrupt", |it| it.interrupt),
    ("message in mid-turn", |it| it.steer),
    ("resume", |it| it.resume),
    ("fork", |it| it.fork),
    ("fork from a turn", |it| it.turns),
    ("live model", |it| it.set_model),
    ("live mode", |it| it.set_mode),
    ("effort", |it| it.effort),
    ("images", |it| it.images),
    ("tokens", |it| it.usage),
    ("cost", |it| it.cost),
];

fn table(names: &[&str]) -> String {
    let mut lines = vec![
        format!(
            "| runtime | {} |",
            POWERS.iter().map(|power| power.0).collect::<Vec<_>>().join(" | ")
        ),
        format!("|---|{}", "---|".repeat(POWERS.len())),
    ];
    for name in names {
        let can = find(name, &Environment::default()).unwrap().capabilities();
        let marks = POWERS.iter().map(|(_, has)| if has(&can) { "yes" } else { "–" });
        let untested = preset(name).is_some_and(|preset| !preset.is_tested());
        let note = if untested { " (untested)" } else { "" };
        lines.push(format!("| `{name}`{note} | {} |", marks.collect::<Vec<_>>().join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// What a person must run, if the table of a file is out of date.
fn check(file: &Path, names: &[&str]) -> Option<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let place = file.display();
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{place} has no table"));
    let (there, after) = rest.split_once(END).unwrap_or_else(|| panic!("{place} has no end"));
    let wanted = format!("\n{}\n", table(names));
    if there == wanted {
        return None;
    }
    let fresh = format!("{before}{BEGIN}{wanted}{END}{after}");
    let beside = file.with_extension("md.new");
    std::fs::write(&beside, fresh).unwrap();
    Some(format!("mv {} {place}", beside.display()))
}

#[test]
fn the_tables_in_the_documents_are_what_the_runtimes_say() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all: Vec<&str> = built().iter().map(|known| known.name).collect();
    let tested = |name: &&str| preset(name).is_none_or(|preset| preset.is_tested());
    let tested: Vec<&str> = all.iter().copied().filter(tested).collect();
    let stale =
        [check(&root.join("docs/runtimes.md"), &all), check(&root.join("README.md"), &tested)];
    let moves: Vec<String> = stale.into_iter().flatten().collect();
    assert!(moves.is_empty(), "tables are out of date; run:\n{}", moves.join("\n"));
}

#[test]
fn every_runtime_with_a_program_says_how_it_is_installed() {
    for (runtime, _) in programs() {
        let install = care(runtime).and_then(|care| care.install);
        assert!(
            install.is_some(),
            "{runtime}: say it in `care` (crates/musher/src/runtimes.rs), or in `install` of its preset"
        );
    }
}

#[test]
fn the_hosts_that_a_runtime_needs_are_rules_that_can_be_read() {
    let mut named = 0;
    for known in built() {
        let runtime = choose(known.name, None, &Environment::default()).unwrap();
        for host in runtime.hosts() {
            host.parse::<musher_sandbox::HostRule>().unwrap();
            named += 1;
        }
    }
    assert!(named >= 6, "{named}");
}
