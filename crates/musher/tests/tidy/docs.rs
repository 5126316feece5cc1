//! Holds the docs to the tree: links lead to files, commands exist, checklists name real files, the glossary stays short.

use std::path::{Path, PathBuf};

use crate::{files, none, numbered, read, root, rust_files, shown};

/// A reader learns at most this many words before the first change.
const MAX_GLOSSARY_ROWS: usize = 50;

#[test]
fn every_link_in_the_docs_leads_to_a_file() {
    let mut broken = Vec::new();
    for page in pages() {
        let folder = page.parent().expect("a page is in a folder").to_owned();
        for (number, line) in numbered(&read(&page)) {
            for target in links(line) {
                let file = target.split('#').next().unwrap_or_default();
                if !file.is_empty() && !folder.join(file).exists() {
                    broken.push(format!("{}:{number}: there is no {target}", shown(&page)));
                }
            }
        }
    }
    none(broken);
}

#[test]
fn every_command_in_the_readme_is_a_verb_of_the_program() {
    let text = read(&root().join("README.md"));
    let cli = root().join("crates/musher/src/cli");
    let mut seen = 0;
    let mut broken = Vec::new();
    for (number, line) in numbered(&text) {
        for (at, found) in line.match_indices("musher ") {
            let starts = line[..at].chars().last().is_none_or(|before| before == '`');
            let verb = line[at + found.len()..].split([' ', '`']).next().unwrap_or_default();
            if !starts || verb.is_empty() || verb.starts_with('-') {
                continue;
            }
            seen += 1;
            if !cli.join(verb.replace('-', "_")).with_extension("rs").is_file() {
                broken.push(format!("README.md:{number}: there is no verb `{verb}`"));
            }
        }
    }
    assert!(seen > 10, "the README's commands were not found");
    none(broken);
}

#[test]
fn the_glossary_is_short_and_each_of_its_words_is_used() {
    let text = read(&root().join("GLOSSARY.md"));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| **")).collect();
    assert!(
        (20..=MAX_GLOSSARY_ROWS).contains(&rows.len()),
        "GLOSSARY.md has {} rows; {MAX_GLOSSARY_ROWS} is the cap: use a word that the field has",
        rows.len()
    );
    let sources: String =
        rust_files().iter().map(|path| read(path).to_lowercase()).collect::<Vec<_>>().join("\n");
    let mut seen = Vec::new();
    let mut broken = Vec::new();
    for row in rows {
        let cell = row.split('|').nth(1).unwrap_or_default();
        for word in cell.split("**").skip(1).step_by(2) {
            if seen.contains(&word) {
                broken.push(format!("GLOSSARY.md: `{word}` has two rows"));
            }
            let code = word.replace(' ', "_");
            if !sources.contains(word) && !sources.contains(&code) {
                broken.push(format!("GLOSSARY.md: `{word}` is a word of no source; remove it"));
            }
            seen.push(word);
        }
    }
    none(broken);
}

#[test]
fn every_file_that_a_checklist_of_contributing_names_exists() {
    let text = read(&root().join("CONTRIBUTING.md"));
    let lists: Vec<&str> = text.split("\n## ").filter(|part| part.starts_with("Add a")).collect();
    assert!(lists.len() >= 4, "the checklists were not found");
    let mut broken = Vec::new();
    for list in lists {
        let title = list.lines().next().unwrap_or_default();
        let paths: Vec<&str> = quoted(list).filter(|word| is_path(word)).collect();
        if paths.len() < 3 {
            broken.push(format!("CONTRIBUTING.md, {title}: name every file by its whole path"));
        }
        let missing = paths.into_iter().filter(|path| !there(path));
        broken.extend(missing.map(|path| format!("CONTRIBUTING.md, {title}: there is no {path}")));
    }
    none(broken);
}

/// What a text has between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_path(word: &str) -> bool {
    let top = ["crates/", "docs/", "scripts/", "web/"];
    let page = word.ends_with(".md") && !word.contains(' ');
    page || top.iter().any(|folder| word.starts_with(folder))
}

/// Whether a path is there; of one with a word to fill in, the folder around that word.
fn there(path: &str) -> bool {
    let known = path.split('<').next().unwrap_or_default();
    root().join(known).exists()
}

/// What people read first, and every page of docs.
pub(crate) fn pages() -> Vec<PathBuf> {
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md", "CHANGELOG.md"];
    let mut found: Vec<PathBuf> = top.iter().map(|name| root().join(name)).collect();
    found.extend(files(&root().join("docs")).into_iter().filter(|path| ends(path, "md")));
    assert!(found.len() > 15, "the docs were not found");
    found
}

fn ends(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|end| end == ending)
}

/// The targets of a line's links that lead to files of this repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("](").skip(1).chain(line.split("src=\"").skip(1));
    after
        .filter_map(|rest| rest.split([')', '"']).next())
        .filter(|target| !target.contains("://") && !target.contains(' '))
}

#[test]
fn every_hop_of_the_walk_names_a_function_that_its_file_holds() {
    let page = read(&root().join("docs/walk.md"));
    let mut broken = Vec::new();
    let mut walks = 0;
    let sources: Vec<String> = rust_files().iter().map(|path| read(path)).collect();
    for walk in page.split("\n## ").skip(1) {
        walks += 1;
        let title = walk.lines().next().unwrap_or_default();
        let rows: Vec<Vec<&str>> = walk
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| hop"))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        if !title.ends_with(&format!(": {} hops", rows.len())) {
            broken.push(format!("docs/walk.md, {title}: it has {} hops", rows.len()));
        }
        for (number, row) in (1..).zip(&rows) {
            let [hop, file, function, what] = row[..] else {
                broken.push(format!("docs/walk.md, {title}: hop {number} has four cells"));
                continue;
            };
            let (file, function) = (file.trim_matches('`'), function.trim_matches('`'));
            if hop != number.to_string() || what.is_empty() {
                broken.push(format!("docs/walk.md, {title}: this is hop {number}, not {hop}"));
            }
            let unknown = quoted(what).filter(|word| {
                word.contains("::") && !sources.iter().any(|source| source.contains(word))
            });
            broken
                .extend(unknown.map(|word| {
                    format!("docs/walk.md, {title}, hop {hop}: no source says {word}")
                }));
            match root().join(file).is_file() {
                false => broken.push(format!("docs/walk.md, {title}, hop {hop}: no file {file}")),
                true if holds(&read(&root().join(file)), function) => {}
                true => broken.push(format!(
                    "docs/walk.md, {title}, hop {hop}: {file} has no function {function}"
                )),
            }
        }
    }
    assert_eq!(walks, 2, "the walks were not found");
    none(broken);
}

/// Whether code has this function, `name` or `Type::name`.
fn holds(code: &str, function: &str) -> bool {
    let (owner, name) = match function.split_once("::") {
        Some((owner, name)) => (Some(owner), name),
        None => (None, function),
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts_apart = |text: &str| !text.starts_with(is_word);
    // The functions of an owner stand in an `impl` block of its own, which ends at the margin.
    let blocks: Vec<&str> = match owner {
        None => vec![code],
        Some(owner) => code
            .split("\nimpl")
            .skip(1)
            .filter_map(|block| block.split("\n}").next())
            .filter(|block| {
                let head = block.split('{').next().unwrap_or_default();
                head.match_indices(owner).any(|(at, _)| {
                    starts_apart(&head[at + owner.len()..]) && !head[..at].ends_with(is_word)
                })
            })
            .collect(),
    };
    let wanted = format!("fn {name}");
    blocks.iter().any(|block| {
        block.match_indices(&wanted).any(|(at, _)| starts_apart(&block[at + wanted.len()..]))
    })
}
