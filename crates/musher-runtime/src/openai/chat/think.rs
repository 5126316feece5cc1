//! Thoughts that a server leaves inside the text, between `<think>` and `</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells thoughts from text. Only the beginning of an answer can be a thought.
#[derive(Debug, Default)]
pub(super) struct Think {
    state: State,
    /// What may be the start of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but blanks, or the start of a tag, has come.
    #[default]
    Start,
    Thinking,
    /// The thought is over and no text has come yet.
    After,
    Speaking,
}

impl Think {
    /// Takes in text and gives what of it is thought and what is text.
    pub(super) fn push(&mut self, text: &str) -> (String, String) {
        if self.state == State::Speaking {
            return (String::new(), text.to_owned());
        }
        self.held.push_str(text);
        let (mut thought, mut said) = (String::new(), String::new());
        loop {
            match self.state {
                State::Start => {
                    let begun = self.held.trim_start();
                    if let Some(rest) = begun.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.state = State::Thinking;
                    } else if OPEN.starts_with(begun) {
                        break;
                    } else {
                        self.state = State::Speaking;
                    }
                }
                State::Thinking => match self.held.find(CLOSE) {
                    Some(at) => {
                        thought.push_str(&self.held[..at]);
                        self.held.drain(..at + CLOSE.len());
                        self.state = State::After;
                    }
                    None => {
                        let sure = self.held.len() - open_end(&self.held);
                        thought.extend(self.held.drain(..sure));
                        break;
                    }
                },
                State::After => {
                    let begun = self.held.trim_start();
                    if begun.is_empty() {
                        self.held.clear();
                        break;
                    }
                    self.held = begun.to_owned();
                    self.state = State::Speaking;
                }
                State::Speaking => {
                    said.push_str(&std::mem::take(&mut self.held));
                    break;
                }
            }
        }
        (thought, said)
    }

    /// What was held back, now that nothing more comes.
    pub(super) fn rest(&mut self) -> (String, String) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Thinking => (held, String::new()),
            State::Start | State::After | State::Speaking => (String::new(), held),
        }
    }
}

/// The length of the end of a text with which the closing tag may begin.
fn open_end(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|&len| text.ends_with(&CLOSE[..len])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (String, String) {
        let mut think = Think::default();
        let mut all = (String::new(), String::new());
        for (thought, said) in pieces.iter().map(|piece| think.push(piece)).collect::<Vec<_>>() {
            all.0.push_str(&thought);
            all.1.push_str(&said);
        }
        let (thought, said) = think.rest();
        (all.0 + &thought, all.1 + &said)
    }

    #[test]
    fn a_thought_is_told_from_text_wherever_it_is_cut() {
        let text = "\n<think>Hm, 日本 < 5?</think>\n\nYes <think> no.";
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (left, right) = text.split_at(at);
            let whole = ("Hm, 日本 < 5?".to_owned(), "Yes <think> no.".to_owned());
            assert_eq!(read(&[left, right]), whole, "cut at {at}");
        }
        assert_eq!(read(&["Plain ", "<think>"]).1, "Plain <think>");
        assert_eq!(read(&["<thi"]).1, "<thi");
        assert_eq!(read(&["<think>unfinished</thi"]).0, "unfinished</thi");
    }
}
