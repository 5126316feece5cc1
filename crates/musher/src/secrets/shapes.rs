//! Keys that are known by their shape alone: those of well-known services, and private keys.
//!
//! A shape says nothing of whether a key is real or still valid, so what is found is a warning that a person can overrule.

/// A line with this word is not looked at: for tests and documentation that need such a text.
const ALLOW_MARK: &str = "musher:allow-secret";
/// Characters in a row that count up, and the fewest distinct ones: real keys have less order and more variety.
const MAX_RUN: usize = 8;
const MIN_DISTINCT: usize = 8;
/// So long is at least the line that follows the head of a private key.
const MIN_KEY_LINE: usize = 40;

/// Which characters come after the prefix.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    /// Upper-case letters and digits of base32.
    Base32,
    Hex,
    Alphanumeric,
    /// Letters, digits, `-` and `_`.
    UrlSafe,
    /// The same and `.`.
    Dotted,
}

/// How keys of one kind look.
struct KeyShape {
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    /// How many characters come after the prefix, at least and at most.
    len: (usize, usize),
    /// What must be among them.
    holds: &'static str,
}

const fn shape(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    len: (usize, usize),
) -> KeyShape {
    KeyShape { kind, prefixes, alphabet, len, holds: "" }
}

const ANY: usize = 4096;

/// The first that fits counts.
const SHAPES: &[KeyShape] = &[
    shape("an AWS access key id", &["AKIA", "ASIA"], Alphabet::Base32, (16, 16)),
    shape(
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        Alphabet::Alphanumeric,
        (36, 251),
    ),
    shape("a GitHub token", &["github_pat_"], Alphabet::UrlSafe, (50, ANY)),
    shape("a GitLab token", &["glpat-", "gldt-", "glrt-", "glptt-"], Alphabet::Dotted, (20, ANY)),
    shape(
        "a Slack token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"],
        Alphabet::UrlSafe,
        (20, ANY),
    ),
    shape("a Google API key", &["AIza"], Alphabet::UrlSafe, (35, 35)),
    shape("a Google OAuth secret", &["GOCSPX-"], Alphabet::UrlSafe, (28, 28)),
    shape(
        "a Stripe key",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"],
        Alphabet::Alphanumeric,
        (24, ANY),
    ),
    shape("an Anthropic key", &["sk-ant-"], Alphabet::UrlSafe, (40, ANY)),
    shape("an OpenAI key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], Alphabet::UrlSafe, (40, ANY)),
    KeyShape {
        kind: "an OpenAI key",
        prefixes: &["sk-"],
        alphabet: Alphabet::Alphanumeric,
        len: (48, 48),
        holds: "T3BlbkFJ",
    },
    shape("an npm token", &["npm_"], Alphabet::Alphanumeric, (36, 36)),
    shape("a PyPI token", &["pypi-"], Alphabet::UrlSafe, (80, ANY)),
    shape("a crates.io token", &["cio"], Alphabet::Alphanumeric, (32, 32)),
    shape("a Hugging Face token", &["hf_"], Alphabet::Alphanumeric, (34, 34)),
    shape("a SendGrid key", &["SG."], Alphabet::Dotted, (66, 66)),
    shape("a DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], Alphabet::Hex, (64, 64)),
    KeyShape {
        kind: "a JSON web token",
        prefixes: &["eyJ"],
        alphabet: Alphabet::Dotted,
        len: (60, ANY),
        holds: ".eyJ",
    },
];

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::UrlSafe => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        }
    }
}

/// What a line holds by its shape; `next` is the line after it.
pub(super) fn kinds_in(line: &str, next: Option<&str>) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if line.contains(ALLOW_MARK) {
        return kinds;
    }
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let found = bytes[at..].first().filter(|byte| begins && byte.is_ascii_alphabetic());
        match found.and_then(|_| key_at(&line[at..])) {
            Some((kind, len)) => {
                kinds.push(kind);
                at += len;
            }
            None => at += 1,
        }
    }
    kinds.extend(private_key(line, next));
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The kind and the length of a key with which a text begins.
fn key_at(text: &str) -> Option<(&'static str, usize)> {
    SHAPES.iter().find_map(|shape| {
        let rest = shape.prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
        let (least, most) = shape.len;
        // No further than a key can be, because a line may begin one at every few bytes.
        let fitting =
            rest.bytes().take(most.saturating_add(1)).take_while(|byte| shape.alphabet.has(*byte));
        let len = fitting.count();
        // Of what goes on with a letter or digit this is only a part, so it is something else.
        let ends = !rest[len..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let key = &rest[..len];
        let fits = (least..=most).contains(&len) && ends && key.contains(shape.holds);
        (fits && !is_placeholder(key)).then_some((shape.kind, text.len() - rest.len() + len))
    })
}

/// Whether nobody would take this for a real key: an example of a manual, or a text without variety.
fn is_placeholder(key: &str) -> bool {
    let upper = key.to_ascii_uppercase();
    let words = ["EXAMPLE", "PLACEHOLDER", "REDACTED", "YOURKEY", "YOUR_", "YOUR-", "XXXXXX"];
    let bytes = key.as_bytes();
    let runs = bytes.windows(MAX_RUN);
    let mut counts = runs.map(|run| run.windows(2).all(|two| two[1] == two[0].wrapping_add(1)));
    let mut distinct = bytes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    words.iter().any(|word| upper.contains(word))
        || distinct.len() < MIN_DISTINCT
        || counts.any(|counts| counts)
}

/// The head of a private key, with a line of the key after it: programs that read keys name the head alone.
fn private_key(line: &str, next: Option<&str>) -> Option<&'static str> {
    let (_, after) = line.split_once("-----BEGIN ")?;
    let (label, after) = after.split_once("-----")?;
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    // The key goes on in the same line, after an escaped line end, or in the next one.
    let same = after.trim_start_matches(['\\', 'n', 'r', ' ']);
    let next = next.unwrap_or_default();
    let next = next.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let words = |text: &str| {
        let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        text.bytes().take_while(base64).count() >= MIN_KEY_LINE && !is_placeholder(text)
    };
    let headers = next.starts_with("Proc-Type:") || next.starts_with("Version:");
    (words(same) || words(next) || headers).then_some("a private key")
}

#[cfg(test)]
mod tests;
