//! Holds docs/security.md to its word: every trick in its tables names tests, and those tests exist.

use crate::{files, none, read, root, rust_files};

#[test]
fn every_trick_in_the_security_table_names_a_test_that_exists() {
    let page = read(&root().join("docs/security.md"));
    let known = known_tests();
    let mut broken = Vec::new();
    for (number, line) in crate::numbered(&page) {
        let Some(cells) = row(line) else { continue };
        let [trick, does, tests] = cells[..] else {
            broken.push(format!("docs/security.md:{number}: a row has three cells"));
            continue;
        };
        if trick == "trick" || trick.starts_with("---") {
            continue;
        }
        if does.is_empty() {
            broken.push(format!("docs/security.md:{number}: say what Musher does"));
        }
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            broken.push(format!("docs/security.md:{number}: name the test in backticks"));
        }
        for name in named.into_iter().filter(|name| !known.contains(name)) {
            broken.push(format!("docs/security.md:{number}: there is no test `{name}`"));
        }
    }
    none(broken);
}

/// The cells of a table's row.
pub(crate) fn row(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// Every test of the crates by its function, and of the web UI by its title, as one text each with a mark around it.
pub(crate) fn known_tests() -> Known {
    let rust = rust_files().iter().map(|path| read(path)).collect();
    let mut web = files(&root().join("web/tests"));
    web.retain(|path| path.extension().is_some_and(|end| end == "ts" || end == "mjs"));
    Known { rust, web: web.iter().map(|path| read(path)).collect() }
}

pub(crate) struct Known {
    rust: Vec<String>,
    web: Vec<String>,
}

impl Known {
    pub(crate) fn contains(&self, name: &str) -> bool {
        let function = format!("fn {name}(");
        let title = format!("\"{name}\"");
        let is_test = |text: &String| {
            text.match_indices(&function).any(|(at, _)| {
                let before = &text[..at];
                let lines = before.rsplit('\n').skip(1);
                let above = lines.take_while(|line| {
                    let line = line.trim();
                    line.starts_with("#[") || line.starts_with("//")
                });
                above.into_iter().any(|line| line.contains("test"))
            })
        };
        self.rust.iter().any(is_test) || self.web.iter().any(|text| text.contains(&title))
    }
}
