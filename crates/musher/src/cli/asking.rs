//! Asks that are answered where they appear, one after another: which one a typed line is for, and what it means.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use musher_core::{Answer, Ask, AskId};

use super::ask::indented;
use super::run::answer::{self, Dialog, Meaning};

/// A line that comes so soon after the ask in front went away may have been meant for that one.
pub(crate) const STRAY_INPUT_WINDOW: Duration = Duration::from_millis(1500);

/// What is to be done at the terminal.
#[derive(Debug, PartialEq)]
pub(crate) enum Act {
    Nothing,
    /// Forget what was typed before, and show this.
    Put(String),
    Show(String),
    /// Answer this ask, and no other.
    Answer(AskId, Answer),
}

/// The asks that are open, and the conversation about the first of them.
#[derive(Debug)]
pub(crate) struct Asking {
    open: VecDeque<(AskId, Ask)>,
    dialog: Dialog,
    /// When the ask in front was closed by something else.
    vanished: Option<Instant>,
    /// The next line is thrown away.
    guarded: bool,
}

impl Default for Asking {
    fn default() -> Self {
        Self { open: VecDeque::new(), dialog: Dialog::Start, vanished: None, guarded: false }
    }
}

impl Asking {
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Notes an ask; it is put at once if it is the only one.
    pub(crate) fn opened(&mut self, ask: &AskId, body: &Ask, now: Instant) -> Act {
        self.open.push_back((ask.clone(), body.clone()));
        if self.open.len() == 1 { self.put(now) } else { Act::Nothing }
    }

    /// Something else closed an ask. The next one does not take its place under the person's fingers.
    pub(crate) fn closed(&mut self, ask: &AskId, now: Instant) -> Act {
        let was_first = self.open.front().is_some_and(|(first, _)| first == ask);
        self.open.retain(|(open, _)| open != ask);
        if !was_first {
            return Act::Nothing;
        }
        self.vanished = Some(now);
        self.put(now)
    }

    /// The answer to the ask in front was taken.
    pub(crate) fn answered(&mut self, ask: &AskId, now: Instant) -> Act {
        self.open.retain(|(open, _)| open != ask);
        self.vanished = None;
        self.put(now)
    }

    /// The answer was not taken; the ask is put again if it is still open.
    pub(crate) fn refused(&mut self, now: Instant) -> Act {
        self.put(now)
    }

    fn put(&mut self, now: Instant) -> Act {
        self.dialog = Dialog::Start;
        let Some((_, body)) = self.open.front() else { return Act::Nothing };
        self.guarded = self.vanished.is_some_and(|at| now.duration_since(at) < STRAY_INPUT_WINDOW);
        let mut words = answer::put(body);
        if self.guarded {
            words +=
                &indented("The ask before this one was closed just now: press Enter, then answer.");
        }
        Act::Put(words)
    }

    /// What a line means for the ask in front; nobody is at the terminal any more if there is none.
    pub(crate) fn line(&mut self, line: Option<&str>) -> Act {
        let Some((ask, body)) = self.open.front() else { return Act::Nothing };
        let Some(line) = line else {
            let reason = "Nobody is at the terminal.".to_owned();
            return Act::Answer(ask.clone(), Answer::Deny { reason });
        };
        if std::mem::take(&mut self.guarded) {
            return Act::Show("Nothing was sent. Now answer the ask above.".into());
        }
        match answer::understand(body, &self.dialog, line) {
            Meaning::Answer(answer) => Act::Answer(ask.clone(), answer),
            Meaning::Next(dialog, question) => {
                self.dialog = dialog;
                Act::Show(question)
            }
            Meaning::Again(why) => Act::Show(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Ask {
        Ask::Plan { plan: text.into() }
    }

    fn yes(ask: &str) -> Act {
        Act::Answer(ask.into(), Answer::Allow { input: None })
    }

    #[test]
    fn a_key_that_was_meant_for_an_ask_that_went_away_does_not_hit_the_next_one() {
        let (mut asking, now) = (Asking::default(), Instant::now());
        assert!(matches!(asking.opened(&"a".into(), &plan("ls"), now), Act::Put(_)));
        assert_eq!(asking.opened(&"b".into(), &plan("rm -rf /"), now), Act::Nothing);
        // It was answered elsewhere, and the next one comes to the front.
        let Act::Put(words) = asking.closed(&"a".into(), now) else { panic!("it is not put") };
        assert!(words.contains("rm -rf /") && words.contains("press Enter"), "{words}");
        let Act::Show(words) = asking.line(Some("y")) else { panic!("the key hit the next ask") };
        assert!(words.contains("Nothing was sent"), "{words}");
        assert_eq!(asking.line(Some("y")), yes("b"));
    }

    #[test]
    fn one_ask_after_another_is_answered_without_a_pause() {
        let (mut asking, now) = (Asking::default(), Instant::now());
        asking.opened(&"a".into(), &plan("one"), now);
        asking.opened(&"b".into(), &plan("two"), now);
        assert_eq!(asking.line(Some("y")), yes("a"));
        assert!(matches!(asking.answered(&"a".into(), now), Act::Put(_)));
        assert_eq!(asking.closed(&"a".into(), now), Act::Nothing, "the log tells it too");
        assert_eq!(asking.line(Some("y")), yes("b"));
    }

    #[test]
    fn an_ask_that_comes_long_after_needs_no_enter_and_an_empty_terminal_denies() {
        let (mut asking, now) = (Asking::default(), Instant::now());
        asking.opened(&"a".into(), &plan("one"), now);
        assert_eq!(asking.closed(&"a".into(), now), Act::Nothing);
        assert!(asking.is_empty() && asking.line(Some("y")) == Act::Nothing);
        asking.opened(&"b".into(), &plan("two"), now + STRAY_INPUT_WINDOW);
        assert_eq!(asking.line(Some("y")), yes("b"));
        assert!(matches!(asking.line(None), Act::Answer(_, Answer::Deny { .. })));
    }
}
