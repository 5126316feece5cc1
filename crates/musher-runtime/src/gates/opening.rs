//! Whether the command of a gate was begun at all. A sandbox that cannot be made ends with a code too, and must not look like a
//! command that failed.

use std::ffi::OsString;

use uuid::Uuid;

use crate::process::LineBody;

/// How much of the output is searched for the word before it is given up.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;
/// Says the word, and becomes the shell of the command.
const SAY_AND_RUN: &str = r#"printf '%s\n' "$1"; exec /bin/sh -c "$2""#;

/// A word that the shell says when it begins, which is taken out of the output again.
#[derive(Debug)]
pub(super) struct CommandOpening {
    word: Option<String>,
    /// Output in which the word may yet come.
    searched: Option<Vec<u8>>,
    begun: bool,
}

impl CommandOpening {
    /// Without a sandbox a process that was started is the shell, and says nothing.
    pub(super) fn of(confined: bool) -> Self {
        let word = confined.then(|| format!("begun-{}", Uuid::new_v4().simple()));
        Self { begun: word.is_none(), searched: word.as_ref().map(|_| Vec::new()), word }
    }

    /// The arguments with which a shell runs the command.
    pub(super) fn args(&self, command: &str) -> Vec<OsString> {
        let args = match &self.word {
            Some(word) => vec!["-c", SAY_AND_RUN, "sh", word, command],
            None => vec!["-c", command],
        };
        args.into_iter().map(OsString::from).collect()
    }

    /// Whether a line was printed by the command.
    pub(super) fn is_own(&mut self, line: &LineBody) -> bool {
        if self.begun {
            return true;
        }
        if let (LineBody::Whole(text), Some(word)) = (line, &self.word) {
            self.begun = text.as_ref() == word.as_bytes();
        }
        false
    }

    /// Whether the command was begun.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// A piece of output without the word; what may be its beginning is held back.
    pub(super) fn without_word(&mut self, piece: &[u8]) -> Vec<u8> {
        let (Some(searched), Some(word)) = (&mut self.searched, &self.word) else {
            return piece.to_vec();
        };
        searched.extend_from_slice(piece);
        let line = format!("{word}\n");
        let found = memchr::memmem::find(searched, line.as_bytes());
        if found.is_none() && searched.len() < MAX_SEARCHED_BYTES {
            return Vec::new();
        }
        let mut all = self.searched.take().unwrap_or_default();
        if let Some(at) = found {
            all.drain(at..at + line.len());
        }
        all
    }

    /// What is still held back when nothing more comes.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.searched.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_taken_out_wherever_the_output_is_split() {
        let word = CommandOpening::of(true).word.unwrap();
        let all = format!("a warning\n{word}\nthe output\n");
        for at in 0..all.len() {
            let word = Some(word.clone());
            let mut opening = CommandOpening { word, searched: Some(Vec::new()), begun: false };
            let mut shown = opening.without_word(&all.as_bytes()[..at]);
            shown.extend(opening.without_word(&all.as_bytes()[at..]));
            shown.extend(opening.rest());
            assert_eq!(shown, b"a warning\nthe output\n", "split at {at}");
        }
    }

    #[test]
    fn output_without_the_word_is_not_the_commands_and_is_shown_all_the_same() {
        let mut opening = CommandOpening::of(true);
        assert!(opening.without_word(b"no sandbox").is_empty());
        assert!(!opening.is_own(&LineBody::Whole(b"no sandbox".to_vec().into())));
        assert_eq!(opening.rest(), b"no sandbox");
        assert!(!opening.begun());
        let mut plain = CommandOpening::of(false);
        assert!(plain.begun() && plain.is_own(&LineBody::Whole(b"x".to_vec().into())));
        assert_eq!(plain.without_word(b"x"), b"x");
    }
}
