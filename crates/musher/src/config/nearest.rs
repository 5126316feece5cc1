//! The right word for a wrong one.

/// Longer words are not slips of the pen, and comparing them would cost time.
const MAX_COMPARED_CHARS: usize = 64;

/// The candidate that `word` was most likely meant to be, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let length = word.chars().count();
    if length == 0 || length > MAX_COMPARED_CHARS {
        return None;
    }
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let other = plain(candidate);
        let distance = strsim::osa_distance(&word, &other);
        let longer = length.max(other.chars().count());
        // A word that was only begun is near whatever its length.
        let begun = length >= 3 && other.starts_with(&word);
        let near = begun || distance <= (longer / 3).max(1) && distance < longer;
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Case and the kind of dash are not what makes a word another one.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = ["model", "runtime", "prompt", "prompt_file", "max_turns"];

    #[test]
    fn a_slip_of_the_pen_finds_the_word_that_was_meant() {
        for (slip, meant) in [
            ("modle", "model"),
            ("Model", "model"),
            ("run-time", "runtime"),
            ("promptfile", "prompt_file"),
            ("prompts", "prompt"),
            ("prompt-file", "prompt_file"),
            ("max", "max_turns"),
            ("maxturns", "max_turns"),
        ] {
            assert_eq!(nearest(slip, WORDS), Some(meant), "{slip}");
        }
    }

    #[test]
    fn a_word_that_is_far_from_all_finds_none() {
        let long = "model".repeat(1000);
        for word in ["", "x", "wall_clock", "colour", long.as_str()] {
            assert_eq!(nearest(word, WORDS), None, "{word:.20}");
        }
    }
}
