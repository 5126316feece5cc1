//! Cuts over-long strings in a line of JSON to their head and tail, in place and without parsing it.

use std::ops::Range;

use memchr::{memchr, memchr2};
use musher_core::{cut_mark, cut_place, escape_len, kept_of_cut};

/// Cuts every string of more than `longest` bytes in the JSON text after `start`; names of fields are left alone.
pub(super) fn cut(text: &mut Vec<u8>, start: usize, longest: usize) {
    let (kept_head, kept_tail) = kept_of_cut(longest);
    let (mut read, mut write) = (start, start);
    while let Some(quote) = memchr(b'"', &text[read..]) {
        let inside = read + quote + 1;
        let end = string_end(text, inside);
        let is_name = text.get(end + 1) == Some(&b':');
        let unended = end == text.len();
        if end - inside <= longest || is_name || unended {
            let next = (end + 1).min(text.len());
            write = shift(text, read..next, write);
            read = next;
            continue;
        }
        let head = cut_place(&text[inside..end], kept_head);
        let tail = cut_place(&text[inside..end], end - inside - kept_tail);
        let gone = decoded_len(&text[inside + head..inside + tail]);
        write = shift(text, read..inside + head, write);
        let marker = cut_mark(gone);
        text[write..write + marker.len()].copy_from_slice(marker.as_bytes());
        write += marker.len();
        read = inside + tail;
        write = shift(text, read..end + 1, write);
        read = end + 1;
    }
    let rest = read..text.len();
    write = shift(text, rest, write);
    text.truncate(write);
}

/// Moves a piece down and returns where it ends.
fn shift(text: &mut [u8], piece: Range<usize>, to: usize) -> usize {
    let len = piece.len();
    if piece.start != to {
        text.copy_within(piece, to);
    }
    to + len
}

/// Where the string that begins at `at` has its closing quote.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}

/// How many bytes the text is long once its escapes are read; an escape of ours stands for one byte.
fn decoded_len(string: &[u8]) -> u64 {
    let (mut len, mut at) = (0, 0);
    while let Some(found) = memchr(b'\\', &string[at..]) {
        len += found + 1;
        at = (at + found + escape_len(string, at + found)).min(string.len());
    }
    (len + string.len() - at) as u64
}

#[cfg(test)]
mod tests {
    use musher_core::is_cut;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const MAX_FIELD_BYTES: usize = 32 * 1024;
    const HEAD: usize = 12 * 1024;
    const TAIL: usize = 4 * 1024;

    fn cut_line(value: &Value) -> Value {
        let mut text = b"before".to_vec();
        text.extend(serde_json::to_vec(value).unwrap());
        cut(&mut text, 6, MAX_FIELD_BYTES);
        assert!(text.starts_with(b"before"));
        serde_json::from_slice(&text[6..]).expect("the cut text is JSON")
    }

    #[test]
    fn a_long_field_keeps_its_head_and_tail_and_says_how_much_is_gone() {
        let long = format!("{}{}{}", "a".repeat(HEAD), "b".repeat(50_000), "c".repeat(TAIL));
        let short = "s".repeat(MAX_FIELD_BYTES);
        let line = json!({"first": short, "long": long, "nested": [{"deep": long}], "last": "x"});
        let after = cut_line(&line);
        assert_eq!(after["first"], line["first"]);
        assert_eq!(after["last"], "x");
        let kept = format!("{} … [50000 bytes cut here] … {}", "a".repeat(HEAD), "c".repeat(TAIL));
        assert_eq!(after["long"], kept);
        assert_eq!(after["nested"][0]["deep"], kept);
        assert!(is_cut(&kept) && !is_cut(&long) && !is_cut("3 bytes cut here] … "));
    }

    #[test]
    fn the_name_of_a_field_is_never_cut() {
        let name = "n".repeat(MAX_FIELD_BYTES + 1);
        let line = json!({ &name: "v" });
        assert_eq!(cut_line(&line), line);
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_string_the_cut_line_is_json_and_no_character_is_split(
            unit in "(\\PC|[\\x00-\\x1f\"\\\\]){1,7}",
            skew in "[a-z\"\\\\\n]{0,9}",
            longer in 0usize..9,
        ) {
            let times = (MAX_FIELD_BYTES + 9) / serde_json::to_string(&unit).unwrap().len().max(3) + 1 + longer;
            let long = format!("{skew}{}", unit.repeat(times * 2));
            let after = cut_line(&json!({"a": "\\\"", "b": long, "c": [1, null]}));
            prop_assert_eq!(&after["a"], "\\\"");
            prop_assert_eq!(&after["c"], &json!([1, null]));
            let text = after["b"].as_str().unwrap();
            match text.split_once(" … [") {
                None => prop_assert_eq!(text, &long),
                Some((head, rest)) => {
                    let (gone, tail) = rest.split_once(" bytes cut here] … ").unwrap();
                    prop_assert!(long.starts_with(head));
                    prop_assert!(long.ends_with(tail));
                    let gone: usize = gone.parse().unwrap();
                    prop_assert_eq!(head.len() + gone + tail.len(), long.len());
                }
            }
        }
    }
}
