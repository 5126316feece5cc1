//! Promise 17: no id from outside can leave its root or become an option.

use proptest::prelude::*;

use super::*;
use crate::BranchRef;

/// What no id that becomes a path, a branch or an argument may contain.
fn is_harmless(id: &str) {
    assert!(!id.is_empty() && id.len() <= 64, "{id:?}");
    for bad in ["/", "\\", "..", ".", "\0", " ", "~", "^", ":", "?", "*", "[", "@", "\n", "\u{7f}"]
    {
        assert!(!id.contains(bad), "{id:?} contains {bad:?}");
    }
    assert!(!id.starts_with(['-', '.', '_']), "{id:?}");
    assert!(id.is_ascii() && !id.bytes().any(|byte| byte.is_ascii_uppercase()), "{id:?}");
}

fn check(text: &str) {
    if let Ok(id) = StoryId::parse(text) {
        assert_eq!(id.as_str(), text);
        is_harmless(text);
        let branch = BranchRef::plain(id, 1).to_string();
        assert_eq!(branch.split('/').count(), 3, "{branch}");
    }
    if let Ok(id) = Label::parse(text) {
        is_harmless(id.as_str());
    }
    if let Ok(name) = BranchName::parse(text) {
        for part in name.as_str().split('/') {
            assert!(part.starts_with(|c: char| c.is_ascii_alphanumeric()), "{name}");
            assert!(!part.contains("..") && !part.ends_with('.'), "{name}");
        }
        assert!(!name.as_str().starts_with("musher/"), "{name}");
    }
    if let Ok(id) = AgentName::parse(text) {
        assert_eq!(id.as_str(), text);
        is_harmless(text);
    }
    if let Ok(id) = RunId::parse(text) {
        assert_eq!(id.to_string(), text);
        is_harmless(text);
    }
    if CommandId::parse(text).is_ok() {
        assert!((1..=128).contains(&text.len()), "{text:?}");
        assert!(text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{text:?}");
    }
}

/// Reading from JSON applies the same rule as parsing.
fn reads_alike(text: &str) {
    let json = serde_json::to_string(text).unwrap();
    assert_eq!(serde_json::from_str::<StoryId>(&json).is_ok(), StoryId::parse(text).is_ok());
    assert_eq!(serde_json::from_str::<AgentName>(&json).is_ok(), AgentName::parse(text).is_ok());
    assert_eq!(serde_json::from_str::<RunId>(&json).is_ok(), RunId::parse(text).is_ok());
    assert_eq!(serde_json::from_str::<CommandId>(&json).is_ok(), CommandId::parse(text).is_ok());
}

proptest! {
    #[test]
    fn promise_17_a_valid_id_is_never_a_path_nor_an_option(bytes: Vec<u8>) {
        let text = String::from_utf8_lossy(&bytes);
        check(&text);
        reads_alike(&text);
    }

    #[test]
    fn promise_17_an_id_of_almost_the_right_shape_is_still_checked(text in "[-rs./_a0A]{0,70}") {
        check(&text);
        reads_alike(&text);
    }
}

#[test]
fn promise_17_every_byte_at_every_place_is_checked() {
    for byte in 0..=u8::MAX {
        for place in 0..3 {
            let mut bytes = *b"abc";
            bytes[place] = byte;
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            check(&text);
            reads_alike(&text);
        }
    }
}

#[test]
fn ids_of_the_allowed_shapes_are_taken() {
    for good in ["a", "0", "s1", "fix-the-door", &"x".repeat(64)] {
        assert!(StoryId::parse(good).is_ok(), "{good}");
        assert!(AgentName::parse(good).is_ok(), "{good}");
    }
    assert!(AgentName::parse("front_end").is_ok());
    assert!(StoryId::parse("front_end").is_err());
    assert!(StoryId::parse(&"x".repeat(65)).is_err());
    for good in ["r1", "r10", "r999999999999999999"] {
        assert_eq!(RunId::parse(good).unwrap().to_string(), good);
    }
    for bad in ["", "r", "r0", "r01", "R1", "1", "r1000000000000000000", "r+1", "r-1", "r1 "] {
        assert!(RunId::parse(bad).is_err(), "{bad}");
    }
    assert!(CommandId::parse(&"~".repeat(128)).is_ok());
    assert!(CommandId::parse(&"~".repeat(129)).is_err());
    assert!(CommandId::parse("a b").is_err());
}

#[test]
fn a_refused_id_names_its_rule_and_shows_nothing_raw() {
    let error = StoryId::parse("Bad\u{1b}[31m").unwrap_err().to_string();
    assert!(error.contains("small letters") && !error.contains('\u{1b}'), "{error}");
    let long = StoryId::parse(&"X".repeat(10_000)).unwrap_err().to_string();
    assert!(long.len() < 300, "{long}");
}

#[test]
fn runs_are_ordered_by_number() {
    assert!(RunId::parse("r9").unwrap() < RunId::parse("r10").unwrap());
    assert_eq!(RunId::minted(0), RunId::minted(1));
    assert!(RunId::parse(&RunId::minted(u64::MAX).to_string()).is_ok());
}
