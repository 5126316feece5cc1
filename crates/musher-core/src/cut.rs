//! What is left of a text that is too long: its beginning and its end, with a mark between them that says so.

/// How much of the beginning and of the end is kept, of a text of which so many bytes are allowed: half in all, so that
/// the mark always fits into what is left out.
pub const fn kept(longest: usize) -> (usize, usize) {
    (longest / 8 * 3, longest / 8)
}

/// The mark that stands where bytes were left out. It needs no escape inside JSON.
pub fn cut_mark(gone: u64) -> String {
    format!(" … [{gone} bytes cut here] … ")
}

/// Whether a text is what was left of a longer one.
pub fn is_cut(text: &str) -> bool {
    let number = |(before, _): (&str, &str)| {
        let number = before.rsplit_once(" … [").map(|(_, number)| number);
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    text.split_once(" bytes cut here] … ").is_some_and(number)
}

/// The first place at or after `at` of a string as it stands in JSON that splits neither a character nor an escape. The
/// string must begin at such a place itself.
pub fn cut_place(string: &[u8], at: usize) -> usize {
    let mut at = at.min(string.len());
    // No escape is longer than six bytes, so one that is split here begins at most five before.
    let split = (at.saturating_sub(5)..at)
        .filter(|start| begins_escape(string, *start))
        .map(|start| start + escape_len(string, start))
        .find(|end| *end > at);
    at = split.unwrap_or(at).min(string.len());
    // The second half of a character that is written as two escapes stays with the first.
    if is_second_half(&string[at..]) && at >= 6 {
        at += 6;
    }
    while string.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
        at += 1;
    }
    at
}

/// How many bytes an escape has that begins here.
pub fn escape_len(string: &[u8], at: usize) -> usize {
    if string.get(at + 1) == Some(&b'u') { 6 } else { 2 }
}

/// Whether an escape begins here: of backslashes in a row, each second one is what the one before it stands for.
fn begins_escape(string: &[u8], at: usize) -> bool {
    let before = string[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    string[at] == b'\\' && before % 2 == 0
}

fn is_second_half(string: &[u8]) -> bool {
    matches!(string, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_splits_neither_a_character_nor_an_escape() {
        let string = "é\\n\\u00e9\\\\\\ud83d\\ude00x".as_bytes();
        let places: Vec<usize> = (0..=string.len()).map(|at| cut_place(string, at)).collect();
        let mut distinct = places.clone();
        distinct.dedup();
        assert_eq!(distinct, [0, 2, 4, 10, 12, 24, 25]);
        assert!(places.iter().enumerate().all(|(at, place)| *place >= at));
    }

    #[test]
    fn a_mark_is_known_again_and_the_like_of_it_is_not() {
        assert!(is_cut(&format!("head{}tail", cut_mark(7))));
        for text in ["7 bytes cut here] … ", " … [ bytes cut here] … ", " … [x bytes cut here] … "]
        {
            assert!(!is_cut(text), "{text}");
        }
    }
}
