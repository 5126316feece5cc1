//! A route is found by its address: it stands in the folder, or in the file, of the noun that its path begins with.

use crate::{files, none, numbered, read, root};

/// A part of a path that is a noun of its own below another.
const NESTED: &[(&str, &str)] = &[("/runs/{run}/asks/", "asks")];

/// The noun of a path.
fn noun(path: &str) -> &str {
    let nested = NESTED.iter().find(|(start, _)| path.starts_with(start));
    let first = || path.trim_start_matches('/').split('/').next().unwrap_or_default();
    nested.map_or_else(first, |(_, noun)| noun)
}

#[test]
fn a_route_stands_in_the_folder_of_its_noun() {
    let api = root().join("crates/musher/src/api");
    let mut broken = Vec::new();
    let mut seen = 0;
    for file in files(&api) {
        let place = file.strip_prefix(&api).unwrap_or(&file).display().to_string();
        let here = place.split(['/', '.']).next().unwrap_or_default();
        for (number, line) in numbered(&read(&file)) {
            let Some(path) = line.trim().strip_prefix("path = \"") else { continue };
            let path = path.split('"').next().unwrap_or_default();
            seen += 1;
            // What stands outside of the API has no nouns: pages, signs of life, assistants.
            let is_outside = matches!(path, "/" | "/healthz" | "/readyz" | "/openapi.json");
            if !is_outside && noun(path) != here {
                let noun = noun(path);
                broken.push(format!("api/{place}:{number}: {path} belongs into api/{noun}"));
            }
        }
    }
    assert!(seen > 40, "the routes were not found");
    none(broken);
}

#[test]
fn the_noun_of_a_path_is_its_first_word() {
    assert_eq!(noun("/stories/{story}/merge"), "stories");
    assert_eq!(noun("/runs/{run}/asks/{ask}/answer"), "asks");
    assert_eq!(noun("/feed"), "feed");
}
