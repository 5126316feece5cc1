//! Frames that are broken, odd or of a kind that nobody knows.

use musher_core::ItemBody;
use serde_json::json;

use super::frames::ready;
use super::*;

#[test]
fn deep_json_and_lines_that_are_no_json_are_kept_as_unparsed() {
    let deep = "[".repeat(100_000);
    for text in
        [deep.as_str(), "plain words", "{\"type\":", "{\"no\":\"type\"}", "[1]", "\0\u{fffd}"]
    {
        let steps = feed(&mut ready(), text.as_bytes());
        assert!(matches!(events(&steps)[..], [EventKind::Unparsed { .. }]), "{text:.20}");
    }
}

#[test]
fn a_frame_that_breaks_off_after_its_kind_is_no_frame() {
    for kind in ["assistant", "user", "result", "system", "stream_event", "new_kind"] {
        let line = format!(r#"{{"type":"{kind}","message":{{"content":"wor"#);
        let steps = feed(&mut ready(), line.as_bytes());
        let events = events(&steps);
        assert!(matches!(events[..], [EventKind::Unparsed { .. }]), "{kind}: {events:?}");
    }
}

#[test]
fn half_a_character_in_a_text_costs_only_itself() {
    let line = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    let steps = feed(&mut ready(), line.as_bytes());
    let found = events(&steps);
    let text = "cut \u{fffd}";
    assert!(
        matches!(found[..], [EventKind::ItemDone { body: ItemBody::Text { text: said }, .. }] if said == text),
        "{found:?}"
    );
}

#[test]
fn a_block_of_an_unknown_kind_or_of_no_kind_is_kept_as_it_came() {
    let blocks = json!([{ "type": "text", "text": 7 }, { "type": "new", "x": [1.5] }, 3, "words"]);
    let said = json!({ "type": "assistant", "message": { "id": "m", "content": blocks } });
    let step = one(&mut ready(), said);
    let others: Vec<(&str, &Json)> = events(std::slice::from_ref(&step))
        .into_iter()
        .filter_map(|kind| match kind {
            EventKind::ItemDone { body: ItemBody::Other { name, value }, .. } => {
                Some((name.as_str(), value))
            }
            _ => None,
        })
        .collect();
    assert_eq!(others, [("new", &blocks[1]), ("", &blocks[2]), ("", &blocks[3])]);
    let told = json!({ "type": "user", "message": { "content": blocks } });
    let step = one(&mut ready(), told);
    let kinds = events(std::slice::from_ref(&step));
    assert!(matches!(kinds[1], EventKind::Native { frame: Some(f), .. } if *f == blocks[1]));
}

#[test]
fn a_message_whose_content_is_neither_text_nor_blocks_is_kept_whole() {
    for content in [json!(7), json!({ "text": "x" }), json!(true)] {
        for kind in ["assistant", "user"] {
            let frame = json!({ "type": kind, "message": { "id": "m", "content": content } });
            let step = one(&mut ready(), frame.clone());
            let found = events(std::slice::from_ref(&step));
            assert!(
                matches!(found[..], [EventKind::Native { frame: Some(kept), .. }] if *kept == frame),
                "{found:?}"
            );
        }
    }
}
