//! Whatever is shortened is JSON afterwards, with all its short fields, wherever the line was split.

use musher_core::is_cut;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn in_pieces(line: &[u8], cuts: &[usize]) -> Option<Vec<u8>> {
    let mut shortener = Shortener::default();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (line.len() + 1)).collect();
    cuts.sort_unstable();
    let mut start = 0;
    for cut in cuts {
        shortener.push(&line[start..cut]);
        start = cut;
    }
    shortener.push(&line[start..]);
    shortener.finish()
}

fn read(line: &[u8]) -> Json {
    let text = std::str::from_utf8(line).expect("no character is split");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:.200}"))
}

fn shortened(value: &Json) -> Json {
    read(&shorten(value.to_string().as_bytes()).expect("it is JSON"))
}

/// Whether `short` is `whole` with nothing but its long texts cut.
fn is_same(whole: &Json, short: &Json) -> bool {
    match (whole, short) {
        (Json::String(whole), Json::String(short)) if is_cut(short) => {
            let (head, rest) = short.split_once(" … [").unwrap();
            let (gone, tail) = rest.split_once(" bytes cut here] … ").unwrap();
            let gone: usize = gone.parse().unwrap();
            let escaped = |text: &str| serde_json::to_string(text).unwrap().len() - 2;
            whole.starts_with(head)
                && whole.ends_with(tail)
                && escaped(head) + gone + escaped(tail) == escaped(whole)
        }
        (Json::Array(whole), Json::Array(short)) => {
            let full = || serde_json::to_string(short).unwrap().len() >= LIST;
            (whole.len() == short.len() || full())
                && whole.iter().zip(short).all(|(w, s)| is_same(w, s))
        }
        (Json::Object(whole), Json::Object(short)) => {
            whole.len() == short.len()
                && whole.iter().all(|(name, w)| short.get(name).is_some_and(|s| is_same(w, s)))
        }
        (whole, short) => whole == short,
    }
}

fn text() -> impl Strategy<Value = String> {
    let unit = "(\\PC|[\\x00-\\x1f\"\\\\]|😀){1,6}";
    prop_oneof![
        4 => unit.prop_map(String::from),
        1 => (unit, 0..9_usize).prop_map(|(unit, more)| {
            let escaped = serde_json::to_string(&unit).unwrap().len() - 2;
            unit.repeat(MAX_SHORTENED_TEXT_BYTES / escaped + more)
        }),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9_f64).prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            proptest::collection::btree_map("\\PC{0,6}", inner, 0..5)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn promise_10_short_fields_stay_and_long_texts_keep_their_ends_wherever_the_line_is_split(
        fields in proptest::collection::btree_map("\\PC{0,6}", value(), 0..6),
        cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ascii in any::<bool>(),
        pretty in any::<bool>(),
    ) {
        let whole = Json::Object(fields.into_iter().collect());
        let mut line = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        if ascii {
            // As programs write that escape all that is not ASCII.
            line = line.chars().map(|c| match c.is_ascii() {
                true => c.to_string(),
                false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            }).collect();
        }
        let at_once = shorten(line.as_bytes()).expect("it is JSON");
        prop_assert_eq!(&in_pieces(line.as_bytes(), &cuts).unwrap(), &at_once);
        if !ascii {
            prop_assert!(is_same(&whole, &read(&at_once)));
        } else {
            read(&at_once);
        }
    }

    #[test]
    fn any_bytes_at_all_are_either_shortened_to_json_or_given_up(
        bytes in proptest::collection::vec(
            prop_oneof![2 => any::<u8>(), 8 => proptest::sample::select(&b"{}[]\",:\\u0-1e tnf"[..])], 0..60),
        cuts in proptest::collection::vec(any::<usize>(), 0..4),
    ) {
        let line = [b"{\"a\":".as_slice(), &bytes].concat();
        let at_once = shorten(&line);
        prop_assert_eq!(in_pieces(&line, &cuts), at_once);
    }
}

#[test]
fn a_field_of_endless_small_pieces_takes_no_room_from_the_others() {
    let many: Vec<u32> = (0..2_000_000).collect();
    let lines: Vec<String> = (0..100_000).map(|n| format!("line {n}")).collect();
    let frame = json!({
        "a_first": many,
        "b_patch": [{ "lines": lines, "start": 7 }],
        "message": { "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [{ "text": "x".repeat(5 << 20) }] },
            { "type": "tool_result", "tool_use_id": "t2", "content": lines },
            { "type": "tool_result", "tool_use_id": "t3", "is_error": true },
        ]},
        "type": "user",
    });
    let line = frame.to_string();
    let out = shorten(line.as_bytes()).unwrap();
    assert!(out.len() < MAX_SHORTENED_LINE_BYTES, "{}", out.len());
    let short = read(&out);
    assert_eq!(short["type"], "user");
    assert_eq!(short["b_patch"][0]["start"], 7);
    let blocks = short["message"]["content"].as_array().unwrap();
    let ids: Vec<&Json> = blocks.iter().map(|block| &block["tool_use_id"]).collect();
    assert_eq!(ids, ["t1", "t2", "t3"]);
    assert_eq!(blocks[2]["is_error"], true);
    let first = short["a_first"].as_array().unwrap();
    assert!(
        first.len() < many.len()
            && first.iter().eq(json!(many).as_array().unwrap()[..first.len()].iter())
    );
}

#[test]
fn a_full_field_still_has_its_names_and_ids() {
    let texts: serde_json::Map<String, Json> =
        (0..100).map(|n| (format!("text {n}"), "t".repeat(30_000).into())).collect();
    let frame = json!({ "request": {
        "a_input": { "all": texts, "b": { "c": "left out" } },
        "subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": "t1", "z_long": "z".repeat(4_000) } });
    let short = shortened(&frame);
    let request = &short["request"];
    for name in ["subtype", "tool_name", "tool_use_id"] {
        assert_eq!(request[name], frame["request"][name], "{name}");
    }
    assert!(is_cut(request["z_long"].as_str().unwrap()));
}

#[test]
fn what_is_nested_too_deep_is_left_out_and_the_rest_stays() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let line = format!(r#"{{"a":{deep},"type":"result","b":{{"c":[1]}}}}"#);
    let out = shorten(line.as_bytes()).unwrap();
    assert!(!super::super::is_too_deep(std::str::from_utf8(&out).unwrap()));
    let short = read(&out);
    assert_eq!((&short["type"], &short["b"]["c"]), (&json!("result"), &json!([1])));
}

#[test]
fn what_is_no_object_broken_off_or_endless_is_given_up_and_holds_nothing() {
    for line in [
        "",
        "x",
        "[1]",
        "7",
        "\"text\"",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1}}",
        "{\"a\":1]",
        "{\"a\":[1}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{\"a\":[1,]}",
        "{,}",
        "{\"a\":\"",
        "{} {}",
        "{\"a\":[,1]}",
    ] {
        assert_eq!(shorten(line.as_bytes()), None, "{line}");
    }
    let mut shortener = Shortener::default();
    for piece in [b"{\"a\":".as_slice(), &[b'['; 1 << 20], &[b'1'; 1 << 20]] {
        shortener.push(piece);
    }
    assert!(
        shortener.is_hopeless() && shortener.out.capacity() == 0 && shortener.open.capacity() == 0
    );
    let names: String = (0..300_000).map(|n| format!("\"n{n}\":0,")).collect();
    assert_eq!(
        shorten(format!("{{{names}\"z\":1}}").as_bytes()),
        None,
        "too much that may not be left out"
    );
}
