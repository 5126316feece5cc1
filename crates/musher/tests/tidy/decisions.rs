//! Keeps decisions as they were taken: a sealed page changes only by a line that names its successor.

use std::collections::BTreeMap;

use crate::{files, none, numbered, read, root, shown};

/// A line with which a page may say that it is no longer the last word.
const SUCCESSOR: &[&str] = &["Superseded by ", "Amended by "];

#[test]
fn a_decision_is_never_edited_after_it_was_sealed() {
    let folder = root().join("docs/decisions");
    let list = read(&folder.join("sealed.txt"));
    let mut sealed = BTreeMap::new();
    let mut broken = Vec::new();
    for (number, line) in numbered(&list) {
        match line.split_once(' ') {
            Some((page, sum)) => {
                sealed.insert(page.to_owned(), sum.to_owned());
            }
            None => broken.push(format!("docs/decisions/sealed.txt:{number}: write `PAGE SUM`")),
        }
    }
    let last = sealed.keys().next_back().cloned().unwrap_or_default();
    assert!(sealed.len() > 40, "the seals were not found");
    for path in
        files(&folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "md"))
    {
        let page = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let sum = checksum(&read(&path));
        match sealed.remove(&page) {
            Some(known) if known == sum => {}
            Some(_) => broken.push(format!(
                "{}: it was edited; restore it, and write a new page that amends it",
                shown(&path)
            )),
            None if page > last => {}
            None => broken.push(format!("docs/decisions/sealed.txt: add `{page} {sum}`")),
        }
    }
    broken.extend(sealed.into_keys().map(|page| format!("docs/decisions/{page}.md is gone")));
    none(broken);
}

/// FNV-1a over what was decided, without the lines that name a successor and without blank lines.
fn checksum(text: &str) -> String {
    let decided = text.lines().filter(|line| {
        !line.is_empty() && !SUCCESSOR.iter().any(|opening| line.starts_with(opening))
    });
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in decided.flat_map(|line| line.bytes().chain([b'\n'])) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{sum:016x}")
}
