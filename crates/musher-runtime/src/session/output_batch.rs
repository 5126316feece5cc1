//! What a session has to say to a host that is not there yet.

use std::collections::VecDeque;

use musher_core::Delta;

use super::SessionOutput;
use crate::process::Weight;

/// Outputs on their way, with what they weigh until the host has taken them.
#[derive(Debug, Default)]
pub(super) struct OutputBatch {
    pub(super) outputs: VecDeque<SessionOutput>,
    pub(super) weight: Option<Weight>,
}

impl OutputBatch {
    /// Adds text in flight. A host that is behind gets what goes on without a break in one piece.
    pub(super) fn add(&mut self, delta: Delta) {
        if let Some(SessionOutput::Delta(last)) = self.outputs.back_mut()
            && (&last.item, last.channel, &last.scope) == (&delta.item, delta.channel, &delta.scope)
        {
            last.text.push_str(&delta.text);
        } else {
            self.outputs.push_back(SessionOutput::Delta(delta));
        }
    }

    /// Adds to what it weighs.
    pub(super) fn weigh(&mut self, more: Option<Weight>) {
        match (&mut self.weight, more) {
            (Some(weight), Some(more)) => weight.merge(more),
            (weight, more) => *weight = weight.take().or(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use musher_core::{Channel, EventScope};

    use super::*;

    fn delta(item: &str, channel: Channel, text: &str) -> Delta {
        Delta { item: item.into(), channel, text: text.to_owned(), scope: EventScope::Main }
    }

    #[test]
    fn text_that_goes_on_is_one_piece_and_text_of_something_else_is_another() {
        let mut parcel = OutputBatch::default();
        for (item, channel, text) in [
            ("a", Channel::Text, "one "),
            ("a", Channel::Text, "two"),
            ("a", Channel::Reasoning, "why"),
            ("b", Channel::Reasoning, "how"),
            ("a", Channel::Text, " three"),
        ] {
            parcel.add(delta(item, channel, text));
        }
        let expected = [
            delta("a", Channel::Text, "one two"),
            delta("a", Channel::Reasoning, "why"),
            delta("b", Channel::Reasoning, "how"),
            delta("a", Channel::Text, " three"),
        ];
        assert!(parcel.outputs.into_iter().eq(expected.into_iter().map(SessionOutput::Delta)));
    }
}
