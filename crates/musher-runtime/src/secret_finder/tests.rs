//! Secrets in every form, at every place and cut in every way; and ordinary text, in which nothing is found.

use super::*;

const SECRETS: &[&str] = &[
    "s3cret",
    "sk-live-0123456789abcdef",
    "p@ss/w+rd with \"quotes\" & ümläut",
    "wJalr/K7MDENG+bPxRfiCY",
];

fn finder(secrets: &[&str]) -> Arc<SecretFinder> {
    let named = (0..).zip(secrets).map(|(n, secret)| (format!("KEY_{n}"), (*secret).to_owned()));
    SecretFinder::new(&named.collect::<Vec<_>>()).unwrap()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn text(&mut self, len: usize, of: &str) -> String {
        (0..len).map(|_| char::from(of.as_bytes()[self.below(of.len())])).collect()
    }
}

fn masked(finder: &Arc<SecretFinder>, chunks: &[&[u8]]) -> Vec<u8> {
    let mut stream = MaskedStream::new(Some(finder.clone()));
    let mut all = Vec::new();
    for chunk in chunks {
        stream.push(chunk);
        all.extend(stream.ready());
    }
    all.extend(stream.rest());
    all
}

/// Base64 as an encoder writes it, by another way than the one under test.
fn encoded(bytes: &[u8], alphabet: &str, padded: bool) -> String {
    let mut bits =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).peekable();
    let mut out = String::new();
    while bits.peek().is_some() {
        let six = (0..6).fold(0, |six, _| six << 1 | bits.next().unwrap_or(0));
        out.push(char::from(alphabet.as_bytes()[usize::from(six)]));
    }
    while padded && !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn hides(finder: &SecretFinder, text: &str) {
    assert_eq!(finder.find(text.as_bytes()).len(), 1, "in {text:?}");
    assert!(finder.is_in(text.as_bytes()), "in {text:?}");
}

#[test]
fn every_form_is_found_at_every_place() {
    for secret in SECRETS {
        let finder = finder(&[secret]);
        for form in forms(secret) {
            for lead in 0..40 {
                let text = format!("{}{form}{}", " ".repeat(lead), ".".repeat(lead % 7));
                let found = finder.find(text.as_bytes());
                assert_eq!(found[0].range(), lead..lead + form.len(), "{text:?}");
            }
        }
    }
}

#[test]
fn base64_of_a_text_that_holds_a_random_secret_is_found_at_every_alignment() {
    let mut dice = Dice(7);
    for round in 0..300 {
        let len = 6 + round % 60;
        let secret = dice.text(len, &format!("{ALNUM}+/=-_.:?&"));
        let finder = finder(&[&secret]);
        for lead in 0..6 {
            let whole = format!("{}{secret}{}", dice.text(lead, ALNUM), dice.text(lead / 2, ALNUM));
            for alphabet in [format!("{ALNUM}+/"), format!("{ALNUM}-_")] {
                for padded in [true, false] {
                    hides(
                        &finder,
                        &format!("Basic {}", encoded(whole.as_bytes(), &alphabet, padded)),
                    );
                }
            }
        }
    }
}

#[test]
fn a_secret_is_masked_wherever_a_stream_is_cut() {
    for secret in SECRETS {
        let finder = finder(SECRETS);
        for form in forms(secret) {
            let text = format!("before {form}\nand \"{form}\" after");
            let whole = masked(&finder, &[text.as_bytes()]);
            let mask = "*".repeat(form.len());
            assert_eq!(
                String::from_utf8_lossy(&whole),
                format!("before {mask}\nand \"{mask}\" after")
            );
            for at in 0..text.len() {
                let (left, right) = text.as_bytes().split_at(at);
                assert_eq!(masked(&finder, &[left, right]), whole, "{text:?} cut at {at}");
            }
            for size in 1..6 {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                assert_eq!(masked(&finder, &chunks), whole, "{text:?} by {size}");
            }
        }
    }
}

/// A text in lines of so many characters.
fn folded(text: &str, width: usize, border: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let lines: Vec<String> = chars.chunks(width).map(|line| line.iter().collect()).collect();
    lines.join(border)
}

#[test]
fn a_secret_is_found_and_masked_across_the_borders_of_lines() {
    let secret = "sk-live_0123456789abcdefXYZ";
    let finder = finder(&[secret, "another-one"]);
    let whole = encoded(
        format!("{{\"user\":\"me\",\"key\":\"{secret}\"}}").as_bytes(),
        &format!("{ALNUM}+/"),
        true,
    );
    for border in [
        "\n", "\r\n", "\\\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\n+", "\n> ", "\n  12\t",
        "\n 3→", "\\n 3→", "\n7: ",
    ] {
        for text in [secret, &whole] {
            for width in [1, 2, 3, 7, 13, 20] {
                let text =
                    format!("some words\nkey: {}\nmore words\n", folded(text, width, border));
                let found = finder.find(text.as_bytes());
                assert_eq!(found.len(), 1, "{text:?}: {found:?}");
                let shown = masked(&finder, &[text.as_bytes()]);
                assert_eq!(shown.len(), text.len());
                let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(lines(&shown), lines(text.as_bytes()), "lines stay lines");
                let pieces: usize = found[0].pieces.iter().map(ExactSizeIterator::len).sum();
                assert!(pieces >= secret.len(), "{text:?}: {found:?}");
                for at in 0..text.len() {
                    let (left, right) = text.as_bytes().split_at(at);
                    let cut = masked(&finder, &[left, right]);
                    assert_eq!(cut, shown, "{text:?} cut at {at}");
                }
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
                assert_eq!(masked(&finder, &chunks), shown, "{text:?}");
            }
        }
    }
}

#[test]
fn a_file_of_base64_in_lines_of_64_or_76_columns_shows_nothing_of_the_secret() {
    let mut dice = Dice(3);
    let secret = dice.text(40, ALNUM);
    let finder = finder(&[&secret]);
    for lead in 0..90 {
        let text = format!("{}{secret}{}", dice.text(lead, ALNUM), dice.text(80, ALNUM));
        let encoded = encoded(text.as_bytes(), &format!("{ALNUM}+/"), true);
        for (width, border) in [(64, "\n"), (76, "\r\n"), (76, "\n      ")] {
            hides(&finder, &folded(&encoded, width, border));
        }
    }
}

#[test]
fn a_key_of_several_lines_is_found_indented_and_in_one_line() {
    let mut dice = Dice(5);
    let body: Vec<String> = (0..20).map(|_| dice.text(64, ALNUM)).collect();
    let key = format!("-----BEGIN KEY-----\n{}\n-----END KEY-----\n", body.join("\n"));
    let finder = finder(&[&key]);
    hides(&finder, &format!("it is {key}"));
    hides(&finder, &format!("key: |\n  {}", key.trim_end().replace('\n', "\n  ")));
    hides(&finder, &key.trim_end().replace('\n', "\r\n"));
    hides(&finder, &key.replace('\n', "\\n"));
    hides(&finder, &key.replace('\n', ""));
}

#[test]
fn ordinary_text_is_never_altered() {
    let mut dice = Dice(11);
    let secrets: Vec<String> = (0..10).map(|n| dice.text(6 + n * 5, ALNUM)).collect();
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let finder = finder(&secrets);
    let code: String =
        [include_str!("../secret_finder.rs"), include_str!("wrapped.rs"), include_str!("forms.rs")]
            .concat();
    let picture = encoded(
        dice.text(60_000, "\x00\x01\u{7f}abcxyzABC09 +/").as_bytes(),
        &format!("{ALNUM}+/"),
        true,
    );
    let log: String = (0..3_000)
        .map(|n| format!("{n:>6}\tINFO run r{n} took {} ms\n", dice.below(9_999)))
        .collect();
    let json =
        serde_json::json!({ "code": code, "picture": folded(&picture, 76, "\n"), "log": log })
            .to_string();
    for text in [&code, &folded(&picture, 76, "\n"), &picture, &log, &json] {
        assert_eq!(finder.find(text.as_bytes()), [], "nothing is there");
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(777).collect();
        assert_eq!(masked(&finder, &chunks), text.as_bytes());
    }
}

#[test]
fn of_secrets_that_begin_alike_the_longest_is_found_also_over_lines() {
    let finder = finder(&["sk-live-1234", "sk-live-1234-and-more"]);
    let text = "sk-live-1234\n-and-more sk-live-1234 \nsk-live\n-1234\n";
    let found = finder.find(text.as_bytes());
    let names: Vec<&str> = found.iter().map(|found| found.name).collect();
    assert_eq!(names, ["KEY_1", "KEY_0", "KEY_0"], "{found:?}");
    assert_eq!(found[0].pieces, [0..12, 13..22]);
}

#[test]
fn a_finder_of_usual_secrets_is_small() {
    let mut dice = Dice(1);
    let secrets: Vec<String> = (0..10).map(|_| dice.text(40, ALNUM)).collect();
    let finder = finder(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
    let patterns: usize =
        finder.patterns.iter().map(|one| one.bytes.len() + size_of::<Pattern>()).sum();
    let bytes = patterns + finder.heads.len() * size_of::<Head>() + finder.grams.bytes();
    assert!(bytes < 50 * 1024, "{bytes} bytes");
}

#[test]
fn what_is_too_short_to_be_told_apart_is_not_looked_for() {
    assert!(SecretFinder::new(&[("KEY".into(), "ab".into())]).is_none());
    assert!(SecretFinder::new(&[]).is_none());
}

#[test]
fn many_empty_lines_after_the_beginning_of_a_secret_are_looked_at_once() {
    let finder = finder(&["line-one-abcdef\n\n\nline-two-ghijkl"]);
    for end in ["\n", "\r\n", "\\n"] {
        let text = format!("line-one-abcdef{}x", end.repeat(300_000));
        assert!(finder.find(text.as_bytes()).is_empty());
    }
}
