//! The ways in which programs write a secret: as it is, inside JSON, percent-encoded, in base64 and in hexadecimal digits.

use std::collections::BTreeSet;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// What encoders leave as it is beside letters and digits: RFC 3986; forms; JavaScript's component; Python's `quote`;
/// JavaScript's whole address. They differ only for secrets with such characters.
const KEPT_IN_ADDRESSES: [&[u8]; 5] =
    [b"-._~", b"*-._", b"-._~!*'()", b"-._~/", b"-._~!*'();/?:@&=+$,#"];

/// A shorter secret is looked for plain and in JSON alone: other forms of it may be part of ordinary text.
const MIN_ENCODED_BYTES: usize = 6;

/// All forms of a secret, each once.
pub(super) fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    // A secret of several lines may stand in one.
    if secret.contains('\n') {
        forms.insert(secret.lines().map(str::trim).collect());
    }
    let json = in_json(secret);
    // Some encoders escape a slash too.
    forms.extend([in_json(&json), in_ascii_json(secret), in_html_json(secret)]);
    forms.extend([json.replace('/', "\\/"), json]);
    if secret.len() < MIN_ENCODED_BYTES {
        return forms;
    }
    for digits in [UPPER, LOWER] {
        forms.extend(KEPT_IN_ADDRESSES.map(|kept| percent(secret, kept, digits)));
        forms.insert(percent(secret, KEPT_IN_ADDRESSES[1], digits).replace("%20", "+"));
        forms.insert(secret.bytes().flat_map(|byte| pair(byte, digits)).map(char::from).collect());
    }
    for lead in 0..3 {
        let encoded = base64(secret.as_bytes(), lead, STANDARD);
        forms.insert(base64(secret.as_bytes(), lead, URL_SAFE));
        forms.extend([UPPER, LOWER].map(|digits| percent(&encoded, b"", digits)));
        forms.extend([encoded.replace('/', "\\/"), encoded]);
    }
    forms
}

/// How a text looks inside a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The same from encoders that write ASCII alone.
fn in_ascii_json(text: &str) -> String {
    escaped(&in_json(text), |c| !c.is_ascii())
}

/// The same from encoders whose output may stand in HTML.
fn in_html_json(text: &str) -> String {
    escaped(&in_json(text), |c| matches!(c, '<' | '>' | '&'))
}

fn escaped(json: &str, must: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if must(c) {
            let units = &mut [0; 2];
            out.extend(c.encode_utf16(units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

fn pair(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

fn percent(text: &str, kept: &[u8], digits: &[u8; 16]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(byte.into());
        } else {
            out.push('%');
            out.extend(pair(byte, digits).map(char::from));
        }
    }
    out
}

/// The characters of base64 that depend on the secret alone when `lead` bytes (of each three) stand before it. Those at its
/// borders depend on its neighbours too, and on whether there is padding.
///
/// Of six bytes seven characters are left at least: 42 bits, which no other text has by chance.
fn base64(secret: &[u8], lead: usize, alphabet: &[u8; 64]) -> String {
    let mut bytes = vec![0; lead];
    bytes.extend_from_slice(secret);
    let (first, end) = ((lead * 8).div_ceil(6), bytes.len() * 8 / 6);
    bytes.push(0);
    let character = |at: usize| {
        let (byte, bit) = (at * 6 / 8, at * 6 % 8);
        let two = u16::from_be_bytes([bytes[byte], bytes[byte + 1]]);
        char::from(alphabet[usize::from(two >> (10 - bit)) & 63])
    };
    (first..end).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_the_forms_that_encoders_give_it() {
        let forms = forms("a b/c?~é\"");
        for form in [
            "a b/c?~é\"",
            "a b/c?~é\\\"",
            "a b/c?~é\\\\\\\"",
            "a b\\/c?~é\\\"",
            "a b/c?~\\u00e9\\\"",
            "a%20b%2Fc%3F~%C3%A9%22",
            "a%20b%2fc%3f~%c3%a9%22",
            "a+b%2Fc%3F%7E%C3%A9%22",
            "a%20b/c%3F~%C3%A9%22",
            "6120622f633f7ec3a922",
            "6120622F633F7EC3A922",
            // The whole is YSBiL2M/fsOpIg==, and YSBiL2M_fsOpIg== where an address must not be broken.
            "YSBiL2M/fsOpI",
            "YSBiL2M_fsOpI",
            "YSBiL2M%2FfsOpI",
            "YSBiL2M\\/fsOpI",
            // "xa b…" is eGEgYi9jP37DqSI=, and "xxa b…" is eHhhIGIvYz9+w6ki.
            "EgYi9jP37DqS",
            "hIGIvYz9+w6ki",
            "hIGIvYz9-w6ki",
            "hIGIvYz9%2Bw6ki",
        ] {
            assert!(forms.contains(form), "{form} is not among {forms:#?}");
        }
    }

    #[test]
    fn an_ordinary_secret_has_few_forms() {
        let forms = forms("sk-live_0123456789abcdef");
        assert_eq!(forms.len(), 6, "{forms:#?}");
    }

    #[test]
    fn what_is_left_of_the_shortest_secret_in_base64_is_distinctive() {
        for lead in 0..3 {
            assert!(base64(b"secret", lead, STANDARD).len() >= 7, "{lead}");
        }
    }
}
