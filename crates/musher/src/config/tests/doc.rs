//! The reference of the project file says what the code does.

use std::collections::BTreeSet;

use super::super::local::{LocalFile, LocalSettings};
use super::*;

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/project-file.md");
    fs::read_to_string(path).unwrap()
}

/// The words in the first cell of the rows of a section's table.
fn documented(heading: &str) -> BTreeSet<String> {
    let text = reference();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect(heading);
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn every_key_is_in_the_reference_and_every_key_of_the_reference_is_known() {
    for (heading, table) in [
        ("The top of the file", keys::TOP),
        ("`[[agent]]`", keys::AGENT),
        ("`[[runtime]]`", keys::RUNTIME),
        ("`rules`", keys::RULES),
        ("`[worktree]`", keys::WORKTREE),
        ("`[limits]`", keys::LIMITS),
        ("`[server]`", keys::SERVER),
    ] {
        let known: BTreeSet<String> = table.keys.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(documented(heading), known, "{heading}");
    }
}

#[test]
fn everything_that_a_template_may_use_is_in_the_reference() {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    let all = [template::VARIABLES, &["set.NAME"]].concat();
    assert_eq!(documented("Templates"), words(&all));
    let text = reference();
    for word in template::FILTERS.iter().chain(template::STATEMENTS) {
        assert!(text.contains(&format!("`{word}`")), "{word}");
    }
    assert!(text.contains(DEFAULT_CONTINUE_PROMPT));
}

#[test]
fn every_example_of_the_reference_is_a_good_file() {
    let text = reference();
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect();
    assert!(examples.len() > 1);
    for example in examples {
        if example.contains("[[grant]]") {
            let state = tempfile::tempdir().unwrap();
            let file = LocalFile::new(state.path());
            fs::write(file.path(), example).unwrap();
            assert_ne!(
                file.read().unwrap_or_else(|errors| panic!("{errors}")),
                LocalSettings::default()
            );
            continue;
        }
        let folder = repo(example);
        fs::write(folder.path().join(".musher/review.md"), "Review {{ branch }}.").unwrap();
        // The reference names real runtimes, of which this module knows nothing.
        let named = example.lines().filter_map(|line| line.strip_prefix("runtime = \""));
        let own = |name: &&str| example.contains(&format!("[[runtime]]\nname = \"{name}\""));
        let known = named.map(|rest| rest.trim_end_matches('"')).filter(|name| !own(name));
        let known = known.map(|name| KnownRuntime { name, wires: &["chat"], effort: true });
        load(folder.path(), &known.collect::<Vec<_>>()).unwrap_or_else(|errors| panic!("{errors}"));
    }
}
