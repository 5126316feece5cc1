//! Secrets in every dress, and innocent text that must survive.

use musher_core::{EventKind, Level, SessionEnded};

use super::*;

const ODD: &str = "a\"b\\c\nd-secret";

fn hiding(secrets: &[(&str, &str)]) -> Redactor {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let secrets: Vec<(String, String)> = secrets.iter().map(owned).collect();
    let finder = SecretFinder::new(&secrets);
    Redactor::new(secrets, finder)
}

fn redactor() -> Redactor {
    hiding(&[
        ("API_KEY", "sk-live-1234"),
        ("ODD_TOKEN", ODD),
        ("LONG_TOKEN", "sk-live-1234-and-more"),
        ("WORD_KEY", "session"),
    ])
}

fn event(kind: EventKind) -> Event {
    Event { seq: 128_000, at: 0, kind, turn: None, scope: EventScope::Main, raw: None }
}

fn notice(text: &str) -> Event {
    event(EventKind::Notice { level: Level::Info, code: None, text: text.into() })
}

fn stream(redactor: &mut Redactor, text: &str, size: usize) -> String {
    let mut shown = String::new();
    for piece in text.as_bytes().chunks(size) {
        let delta = Delta {
            item: "i".into(),
            channel: Channel::Text,
            text: String::from_utf8(piece.to_vec()).unwrap(),
            scope: EventScope::Main,
        };
        shown.extend(redactor.delta(delta).map(|delta| delta.text));
    }
    shown.extend(redactor.done("i", &EventScope::Main).into_iter().map(|delta| delta.text));
    shown
}

#[test]
fn a_secret_never_reaches_an_event_plain_or_escaped_or_escaped_twice() {
    let nested = serde_json::json!({ "out": ODD }).to_string();
    for text in ["key sk-live-1234.", ODD, &nested, "sk-live-1234-and-more"] {
        let line = serde_json::to_string(&redactor().event(notice(text))).unwrap();
        for leak in ["sk-live", "d-secret", "and-more"] {
            assert!(!line.contains(leak), "{line}");
        }
        assert!(line.contains("[redacted "), "{line}");
    }
}

#[test]
fn what_an_event_is_survives_a_secret_that_looks_like_it() {
    let json = r#"{"seq":3,"at":0,"type":"session_ended","outcome":"completed","session":"session",
        "origin":"fresh","usage":{"input":128000},"cost_usd":0.5,"turns":1,"model_calls":1,"duration_ms":1,
        "stderr_tail":"my session"}"#;
    let redactor = hiding(&[("WORD_KEY", "session"), ("NUMBER_KEY", "128000")]);
    let clean = redactor.event(serde_json::from_str(json).unwrap());
    let EventKind::SessionEnded(end) = clean.kind else { panic!("the end is gone") };
    let SessionEnded { session, usage, stderr_tail, .. } = *end;
    assert_eq!(session.unwrap().as_str(), "session", "an id stays what it is");
    assert_eq!(usage.input, 128_000);
    assert_eq!(stderr_tail.as_deref(), Some("my [redacted WORD_KEY]"));
}

#[test]
fn a_secret_in_the_name_of_a_field_is_caught() {
    let frame = serde_json::json!({ "answers": { "use sk-live-1234 ?": "yes" } });
    let clean = redactor().event(event(EventKind::Native { name: "x".into(), frame: Some(frame) }));
    let line = serde_json::to_string(&clean).unwrap();
    assert!(line.contains(r#""use [redacted API_KEY] ?":"yes""#), "{line}");
}

#[test]
fn a_secret_split_over_deltas_is_caught_and_innocent_text_is_not_lost() {
    let text = "the key is sk-live-1234, and sk-li is innocent, sk-live-1234-and-more is not";
    let expected =
        "the key is [redacted API_KEY], and sk-li is innocent, [redacted LONG_TOKEN] is not";
    for size in 1..40 {
        assert_eq!(stream(&mut redactor(), text, size), expected, "by {size}");
    }
}

#[test]
fn a_secret_that_ends_as_it_begins_is_not_cut_in_two() {
    let mut redactor = hiding(&[("ECHO_KEY", "abcabc")]);
    for size in 1..8 {
        assert_eq!(
            stream(&mut redactor, "xabcabcx abc abcab", size),
            "x[redacted ECHO_KEY]x abc abcab"
        );
    }
}

#[test]
fn a_secret_in_the_json_of_a_delta_is_caught() {
    let text = serde_json::json!({ "command": format!("echo {ODD}") }).to_string();
    for size in 1..12 {
        let shown = stream(&mut redactor(), &text, size);
        assert!(!shown.contains("d-secret"), "by {size}: {shown}");
    }
}

#[test]
fn what_was_held_back_is_said_when_the_content_is_whole() {
    let mut redactor = redactor();
    assert_eq!(stream(&mut redactor, "it begins with sk-li", 7), "it begins with sk-li");
    assert_eq!(
        stream(&mut redactor, "it ends with sk-live-1234", 7),
        "it ends with [redacted API_KEY]"
    );
    assert!(redactor.held.is_empty());
}

/// A secret as it looks when others encode it or wrap it over lines.
fn encoded() -> Vec<(&'static str, String)> {
    // `me:sk-live-1234` and ODD in base64, and both in addresses and hexadecimal digits.
    let texts = [
        ("basic", "Authorization: Basic bWU6c2stbGl2ZS0xMjM0"),
        ("hex", "736b2d6c6976652d31323334"),
        ("percent", "?key=a%22b%5Cc%0Ad-secret&x"),
        ("wrapped", "the key is sk-li\n    ve-1234."),
        ("continued", "KEY=sk-live\\\n-1234"),
        ("wrapped base64", "bWU6c2stbGl2\nZS0xMjM0\n"),
        ("diff", "+bWU6c2stbGl2\n+ZS0xMjM0\n"),
    ];
    texts.map(|(name, text)| (name, text.to_owned())).to_vec()
}

#[test]
fn an_encoded_or_wrapped_secret_reaches_no_event_and_no_delta_however_it_is_cut() {
    for (name, text) in encoded() {
        let line = serde_json::to_string(&redactor().event(notice(&text))).unwrap();
        assert!(line.contains("[redacted "), "{name}: {line}");
        let whole = redactor().text(text.clone());
        for leak in
            ["GU6c2st", "2stbGl2", "ZS0xMj", "736b2d", "d-secret", "sk-li", "ve-1234", "-1234"]
        {
            assert!(!line.contains(leak), "{name}: {line}");
            assert!(!whole.contains(leak), "{name}: {whole}");
        }
        for size in 1..text.len() + 1 {
            assert_eq!(stream(&mut redactor(), &text, size), whole, "{name} by {size}");
        }
    }
}

#[test]
fn a_wrapped_secret_leaves_its_lines_where_they_are() {
    let shown = redactor().text("one\nsk-live\n-1234\nthree".into());
    assert_eq!(shown, "one\n[redacted API_KEY]\n[redacted API_KEY]\nthree");
}
