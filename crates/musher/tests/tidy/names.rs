//! Names can be searched for: a public type name has one definition, none is a metaphor, a constant says what it bounds.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tables::SHIPPED;
use crate::{files, none, numbered, read, root, shown, without_comments};

/// Words that stand for something else in the name of a type or a module, and what to write instead.
const METAPHORS: &[(&str, &str)] = &[
    ("ballast", "reserved_space"),
    ("broom", "sweeper"),
    ("crowd", "connections"),
    ("deaf", "failure"),
    ("desk", "workspace, or what is kept there"),
    ("ear", "listener"),
    ("errand", "tool, or request"),
    ("eye", "probe"),
    ("ground", "context"),
    ("office", "client, or client_pool"),
    ("parcel", "batch"),
    ("purse", "budget"),
    ("shop", "context"),
    ("taster", "seed, or parser"),
];

/// Words that tell neither what a constant bounds nor in which unit.
const VAGUE: &[&str] = &[
    "AGAIN", "BIGGEST", "FEW", "FEWEST", "LARGEST", "LEAST", "LONGEST", "LOOK", "LOOKED",
    "LOOKING", "LOOKS", "MOST", "ONCE", "PATIENCE", "SOON",
];

#[test]
fn a_public_type_name_has_one_definition() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, code) in shipped() {
        for (number, line) in numbered(&code) {
            if let Some((Visibility::Public, name)) = defined_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{file}:{number}"));
            }
        }
    }
    assert!(places.len() > 500, "the types were not found");
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    none(twice.map(|(name, places)| {
        let places = places.join(", ");
        format!("`{name}` is defined in {places}; give all but one a name of their own")
    }));
}

#[test]
fn no_type_and_no_module_is_called_by_a_metaphor() {
    let mut broken = Vec::new();
    for (file, code) in shipped() {
        let stem = Path::new(&file).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        for (word, plain) in metaphors(stem.split('_')) {
            broken.push(format!("{file}: `{word}` as a module: write {plain}"));
        }
        for (number, line) in numbered(&code) {
            let Some((_, name)) = defined_type(line) else { continue };
            let words = camel_words(name);
            for (word, plain) in metaphors(words.iter().map(String::as_str)) {
                broken.push(format!("{file}:{number}: `{word}` in `{name}`: write {plain}"));
            }
        }
    }
    none(broken);
}

#[test]
fn a_constant_says_what_it_bounds_and_in_which_unit() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for (file, code) in shipped() {
        for (number, line) in numbered(&code) {
            let Some(name) = defined_constant(line) else { continue };
            seen += 1;
            let vague = name.split('_').find(|word| VAGUE.contains(word));
            let alone = line.contains(&format!("{name}: Duration ")) && !name.contains('_');
            if let Some(word) = vague.or(alone.then_some(name)) {
                broken.push(format!(
                    "{file}:{number}: `{word}` in `{name}`: name what is bounded and the unit, as \
                     in `MAX_LINE_BYTES` or `RELEASE_RETRY_DELAY`"
                ));
            }
        }
    }
    assert!(seen > 300, "the constants were not found");
    none(broken);
}

#[test]
fn definitions_are_told_from_uses() {
    assert_eq!(defined_type("pub struct Run {"), Some((Visibility::Public, "Run")));
    assert_eq!(defined_type("    pub(super) enum End<'a> {"), Some((Visibility::Public, "End")));
    assert_eq!(defined_type("pub(in crate::api) type At = u64;"), Some((Visibility::Public, "At")));
    assert_eq!(defined_type("pub trait Wire: Send {"), Some((Visibility::Public, "Wire")));
    assert_eq!(defined_type("struct Ear(u8);"), Some((Visibility::Private, "Ear")));
    assert_eq!(defined_type("pub use run::Run;"), None);
    assert_eq!(defined_type("let structure = 1;"), None);
    assert_eq!(defined_constant("pub(super) const MOST: usize = 1;"), Some("MOST"));
    assert_eq!(defined_constant("    static LOOK: u8 = 1;"), Some("LOOK"));
    assert_eq!(defined_constant("pub const fn most() -> u8 {"), None);
    assert_eq!(camel_words("EventEar"), ["event", "ear"]);
    assert_eq!(camel_words("Background"), ["background"]);
}

/// Who can see a definition.
#[derive(Debug, PartialEq, Eq)]
enum Visibility {
    /// More than its own module.
    Public,
    Private,
}

/// Every file that ships, without its comments and its tests.
fn shipped() -> impl Iterator<Item = (String, String)> {
    let sources = SHIPPED
        .iter()
        .flat_map(|(package, _)| files(&root().join("crates").join(package).join("src")));
    sources.filter(|path| is_shipped(path)).map(|path| {
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        (shown(&path), without_comments(code))
    })
}

fn is_shipped(path: &Path) -> bool {
    let rust = path.extension().is_some_and(|end| end == "rs");
    rust && !path.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The type, trait or alias that a line defines.
fn defined_type(line: &str) -> Option<(Visibility, &str)> {
    let (visibility, rest) = without_visibility(line);
    let (keyword, rest) = rest.split_once(' ')?;
    let name = first_word(rest);
    // A macro gives its types their names where it is used.
    let named = !name.is_empty();
    (matches!(keyword, "struct" | "enum" | "trait" | "type" | "union") && named)
        .then_some((visibility, name))
}

/// The constant that a line defines.
fn defined_constant(line: &str) -> Option<&str> {
    let (_, rest) = without_visibility(line);
    let (keyword, rest) = rest.split_once(' ')?;
    let name = first_word(rest);
    let upper = name.starts_with(|c: char| c.is_ascii_uppercase());
    (matches!(keyword, "const" | "static") && upper).then_some(name)
}

fn without_visibility(line: &str) -> (Visibility, &str) {
    let line = line.trim_start();
    match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => {
            let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
            (Visibility::Public, rest.trim_start())
        }
        Some(rest) if rest.starts_with(' ') => (Visibility::Public, rest.trim_start()),
        _ => (Visibility::Private, line),
    }
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The words of a name such as `LogReader`, in small letters.
fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_lowercase().collect()),
        }
    }
    words
}

fn metaphors<'a>(
    words: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    words.filter_map(|word| METAPHORS.iter().find(|(metaphor, _)| *metaphor == word))
}

#[test]
fn no_phase_and_no_wait_is_a_string() {
    let mut broken = Vec::new();
    for (file, code) in shipped() {
        for (number, line) in numbered(&code) {
            let line = line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let Some((name, kind)) = line.split_once(": ") else { continue };
            let is_text = ["String", "Option<String>", "&str", "&'static str", "Option<&str>"]
                .contains(&kind.trim_end_matches(','));
            if is_text && (name.ends_with("phase") || name == "wait") {
                broken.push(format!("{file}:{number}: `{name}` as a text: write an enum"));
            }
        }
    }
    none(broken);
}
