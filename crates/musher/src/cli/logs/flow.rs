//! Text in flight, put together: what was already shown is not shown again, and what has a hole is not shown at all.

use std::collections::VecDeque;

use musher_core::{Channel, Delta, ItemId};

use musher_log::wire::DeltaLine;

/// How many finished items are remembered; pieces of an older one no longer come.
const REMEMBERED: usize = 64;

/// What to do with a piece.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogChunk {
    Show(Delta),
    /// A piece is missing; the whole text comes with the item's end.
    BrokeOff,
    Nothing,
}

/// The item that is in flight.
#[derive(Debug, Default)]
pub(super) struct Flow {
    open: Option<(ItemId, Channel)>,
    /// How many bytes of it were shown; none once a piece was missed.
    shown: Option<u64>,
    done: VecDeque<ItemId>,
}

impl Flow {
    /// An item is whole, so that late pieces of it say nothing new.
    pub(super) fn done(&mut self, item: &ItemId) {
        if self.done.len() == REMEMBERED {
            self.done.pop_front();
        }
        self.done.push_back(item.clone());
    }

    pub(super) fn take(&mut self, line: DeltaLine) -> LogChunk {
        let DeltaLine { item, channel, from, text, scope, .. } = line;
        match channel {
            Channel::Text | Channel::Reasoning => {}
            // Calls are told when they are done, so their pieces must not part a text.
            Channel::ToolInput | Channel::ToolOutput => return LogChunk::Nothing,
        }
        if self.done.contains(&item) || !scope.is_main() {
            return LogChunk::Nothing;
        }
        let end = from.saturating_add(text.len() as u64);
        let same = self.open.as_ref().is_some_and(|open| *open == (item.clone(), channel));
        if !same {
            self.open = Some((item.clone(), channel));
            self.shown = (from == 0).then_some(0);
        }
        let Some(shown) = self.shown else { return LogChunk::Nothing };
        if from > shown {
            self.shown = None;
            return LogChunk::BrokeOff;
        }
        let known = usize::try_from(shown - from).unwrap_or(usize::MAX);
        let fresh = text.get(known..).unwrap_or_default();
        if fresh.is_empty() {
            return LogChunk::Nothing;
        }
        self.shown = Some(end);
        LogChunk::Show(Delta { item, channel, text: fresh.to_owned(), scope })
    }
}

#[cfg(test)]
mod tests {
    use musher_core::EventScope;

    use super::*;

    fn line(item: &str, from: u64, text: &str) -> DeltaLine {
        let (channel, scope) = (Channel::Text, EventScope::Main);
        DeltaLine { item: item.into(), channel, from, after: 0, text: text.into(), scope }
    }

    fn shown(piece: LogChunk) -> Option<String> {
        match piece {
            LogChunk::Show(delta) => Some(delta.text),
            LogChunk::BrokeOff | LogChunk::Nothing => None,
        }
    }

    #[test]
    fn pieces_that_overlap_are_shown_once() {
        let mut flow = Flow::default();
        assert_eq!(shown(flow.take(line("a", 0, "one "))).as_deref(), Some("one "));
        assert_eq!(shown(flow.take(line("a", 0, "one two"))).as_deref(), Some("two"));
        assert_eq!(flow.take(line("a", 4, "two")), LogChunk::Nothing);
        assert_eq!(shown(flow.take(line("b", 0, "three"))).as_deref(), Some("three"));
    }

    #[test]
    fn after_a_hole_nothing_is_shown_until_the_next_item() {
        let mut flow = Flow::default();
        flow.take(line("a", 0, "one"));
        assert_eq!(flow.take(line("a", 9, "ten")), LogChunk::BrokeOff);
        assert_eq!(flow.take(line("a", 12, "more")), LogChunk::Nothing);
        assert_eq!(flow.take(line("b", 3, "joined late")), LogChunk::Nothing);
        assert!(shown(flow.take(line("c", 0, "x"))).is_some());
    }

    #[test]
    fn a_late_piece_of_a_finished_item_says_nothing() {
        let mut flow = Flow::default();
        flow.done(&"a".into());
        assert_eq!(flow.take(line("a", 0, "late")), LogChunk::Nothing);
    }
}
