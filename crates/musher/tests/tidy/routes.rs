//! A route is found by its address: it stands in the folder, or in the file, of the noun that its path begins with.

use crate::{files, none, numbered, read, root, shown};

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

#[test]
fn the_journal_and_the_bus_know_nothing_of_http() {
    let source = root().join("crates/musher/src");
    let mut paths = files(&source.join("journal"));
    paths.extend(["journal.rs", "bus.rs"].map(|file| source.join(file)));
    let mut broken = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        for (number, line) in numbered(&read(path)) {
            if ["utoipa", "axum", "musher_client"].iter().any(|name| line.contains(name)) {
                broken.push(format!("{}:{number}: {}", shown(path), line.trim()));
            }
        }
    }
    none(broken);
}

/// What the client reads is what the server writes: no reply of the API has a second definition.
#[test]
fn no_type_of_the_api_that_the_client_reads_is_defined_by_the_server() {
    let written = |folder: &str| {
        let mut names = Vec::new();
        for path in files(&root().join(folder)) {
            for (_, line) in numbered(&read(&path)) {
                let name = line.trim().strip_prefix("#[schema(as = ");
                names.extend(name.and_then(|name| name.split(')').next()).map(str::to_owned));
            }
        }
        names
    };
    let shared = written("crates/musher-client/src");
    assert!(shared.len() > 20, "the types were not found: {shared:?}");
    let twice = written("crates/musher/src").into_iter().filter(|name| shared.contains(name));
    none(twice.map(|name| format!("`{name}` is a type of musher-client; use that")));
}
