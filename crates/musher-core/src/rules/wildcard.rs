//! Wildcards: `*` for any run of characters, `?` for one, `**` across folders.

/// How far a single `*` reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Star {
    /// Over everything.
    Any,
    /// Not over a `/`; `**` is.
    WithinFolder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Run,
    /// `**/`: any number of whole folders, none included.
    Folders,
    Everything,
}

/// Whether the whole of `text` fits the pattern. Takes time proportional to both lengths, whatever the pattern.
pub(super) fn matches(pattern: &str, text: &str, star: Star) -> bool {
    let text: Vec<char> = text.chars().collect();
    // `reach[i]`: the tokens so far can consume exactly the first `i` characters.
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for token in tokens(pattern, star) {
        let mut next = vec![false; text.len() + 1];
        match token {
            Token::Char(c) => {
                for (i, &t) in text.iter().enumerate() {
                    next[i + 1] = reach[i] && t == c;
                }
            }
            Token::One => {
                for (i, &t) in text.iter().enumerate() {
                    next[i + 1] = reach[i] && (star == Star::Any || t != '/');
                }
            }
            Token::Run => spread(&reach, &mut next, |i| text[i] != '/'),
            Token::Everything => spread(&reach, &mut next, |_| true),
            Token::Folders => {
                spread(&reach.clone(), &mut next, |_| true);
                for i in 0..=text.len() {
                    next[i] = reach[i] || (next[i] && i > 0 && text[i - 1] == '/');
                }
            }
        }
        reach = next;
    }
    reach[text.len()]
}

fn spread(from: &[bool], into: &mut [bool], may_pass: impl Fn(usize) -> bool) {
    let mut open = false;
    for i in 0..from.len() {
        open = from[i] || (open && may_pass(i - 1));
        into[i] = open;
    }
}

fn tokens(pattern: &str, star: Star) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' if star == Star::Any => Token::Everything,
            '*' if rest.next_if_eq(&'*').is_some() => {
                if rest.next_if_eq(&'/').is_some() {
                    Token::Folders
                } else {
                    Token::Everything
                }
            }
            '*' => Token::Run,
            '?' => Token::One,
            c => Token::Char(c),
        });
    }
    tokens
}
