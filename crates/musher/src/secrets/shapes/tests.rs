//! Keys of every shape, made here from parts: no text in the repository looks like one.

use super::*;

const LETTERS: &[u8] = b"Z7Qm2XpL4Kd6Rt3Wb5Hs1Vy8Nc9Jf0GaTeUiOoPz";

/// A text of so many characters that has the variety of a key.
fn random(alphabet: Alphabet, len: usize) -> String {
    let fitting: Vec<u8> = LETTERS.iter().copied().filter(|byte| alphabet.has(*byte)).collect();
    let mut state: u32 = 5;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(fitting[(state >> 16) as usize % fitting.len()])
    };
    (0..len).map(|_| next()).collect()
}

fn keys() -> Vec<(&'static str, String)> {
    let mut keys = Vec::new();
    for shape in SHAPES {
        for prefix in shape.prefixes {
            let random = random(shape.alphabet, shape.len.0 - shape.holds.len());
            let (left, right) = random.split_at(random.len() / 2);
            let rest = [left, shape.holds, right];
            keys.push((shape.kind, format!("{prefix}{}", rest.concat())));
        }
    }
    keys
}

#[test]
fn a_key_of_every_shape_is_known_wherever_it_stands_in_a_line() {
    for (kind, key) in keys() {
        for line in [
            key.clone(),
            format!("export KEY={key}"),
            format!("\"token\": \"{key}\","),
            format!("https://me:{key}@host/x"),
            format!("Authorization: Bearer {key}"),
            format!("é {key} é"),
        ] {
            assert_eq!(kinds_in(&line, None), [kind], "{line}");
        }
    }
}

#[test]
fn what_only_looks_alike_is_not_reported() {
    for (_, key) in keys() {
        for line in
            [format!("x{key}"), key[..key.len() / 2].to_owned(), format!("{key} // {ALLOW_MARK}")]
        {
            assert_eq!(kinds_in(&line, None), [""; 0], "{line}");
        }
    }
    for prefix in ["AKIA", "ghp_", "sk_live_", "xoxb-", "AIza", "npm_"] {
        let placeholders = [
            "X".repeat(40),
            "0".repeat(36),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".to_owned(),
            "abcdefghijklmnopqrstuvwxyz0123456789".to_owned(),
            "IOSFODNN7EXAMPLE".to_owned(),
            "your_token_goes_here_and_nowhere_else_please".to_owned(),
        ];
        for rest in placeholders {
            let line = format!("key = {prefix}{rest}");
            assert_eq!(kinds_in(&line, None), [""; 0], "{line}");
        }
    }
}

#[test]
fn a_private_key_is_known_by_its_head_and_the_line_after_it() {
    let head = ["-----BEGIN", "RSA PRIVATE", "KEY-----"].join(" ");
    let body = random(Alphabet::Alphanumeric, 64);
    assert_eq!(kinds_in(&head, Some(&body)), ["a private key"]);
    assert_eq!(kinds_in(&format!("  {head}"), Some(&format!("  {body}"))), ["a private key"]);
    assert_eq!(kinds_in(&format!("\"{head}\\n{body}\\n\""), None), ["a private key"]);
    let code = format!("if line == \"{head}\" {{");
    assert_eq!(
        kinds_in(&code, Some("    return Some(Kind::PrivateKeyOfThisKindOrAnotherOne);")),
        [""; 0]
    );
    let public = head.replace("RSA PRIVATE", "PUBLIC");
    assert_eq!(kinds_in(&public, Some(&body)), [""; 0]);
}

#[test]
fn ordinary_code_and_documents_hold_no_key() {
    let texts =
        [include_str!("../shapes.rs"), include_str!("tests.rs"), include_str!("../../secrets.rs")];
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(kinds_in(line, lines.get(at + 1).copied()), [""; 0], "{line}");
    }
}

#[test]
fn a_line_that_begins_a_key_again_and_again_is_looked_at_in_time() {
    for beginning in [["sk-", "ant-"].concat(), ["gh", "p_"].concat(), ["ey", "J."].concat()] {
        assert!(kinds_in(&beginning.repeat(30_000), None).is_empty(), "{beginning}");
    }
}
