//! Text in flight: what has come so far of every open item, and who wants to see it.

use std::collections::BTreeMap;

use musher_core::{Channel, Delta, EventKind, EventScope, ItemId};
use tokio::sync::mpsc;

use musher_log::wire::{DeltaLine, FromRunner};

/// How much of an item is kept for those who come late; the whole of it comes with its event.
const KEPT: usize = 64 * 1024;
/// Items that may be open; an agent that opens more has its oldest forgotten.
const OPEN: usize = 64;

#[derive(Debug)]
struct Item {
    scope: EventScope,
    /// The text so far, as far as it is kept.
    text: String,
    /// How long the whole text is.
    len: u64,
    /// How much of it was passed on to those who watch.
    told: u64,
}

/// Everything that is in flight.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    items: BTreeMap<(ItemId, Channel), Item>,
    watchers: Vec<mpsc::Sender<FromRunner>>,
    fresh: bool,
}

impl Deltas {
    pub(super) fn take(&mut self, delta: Delta) {
        let key = (delta.item, delta.channel);
        if self.items.len() >= OPEN && !self.items.contains_key(&key) {
            self.items.pop_first();
        }
        let fresh = || Item { scope: delta.scope, text: String::new(), len: 0, told: 0 };
        let item = self.items.entry(key).or_insert_with(fresh);
        // What follows a piece that did not fit would be told in its place.
        let whole = item.len == item.text.len() as u64;
        item.len += delta.text.len() as u64;
        if whole && item.text.len() + delta.text.len() <= KEPT {
            item.text.push_str(&delta.text);
        }
        self.fresh = true;
    }

    /// What has become an event is in flight no more.
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events end a text")]
    pub(super) fn note(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ItemDone { item, .. } => self.items.retain(|(open, _), _| open != item),
            EventKind::Tool(update) if update.phase.is_final() => {
                let call = update.call.as_str();
                self.items.retain(|(open, _), _| open.as_str() != call);
            }
            EventKind::TurnEnded(_) => self.items.clear(),
            _ => {}
        }
    }

    /// Whether there is something to pass on and somebody to pass it to.
    pub(super) fn pressing(&self) -> bool {
        self.fresh && !self.watchers.is_empty()
    }

    pub(super) fn watch(&mut self, watcher: mpsc::Sender<FromRunner>, after: u64) {
        for ((item, channel), open) in &self.items {
            // A watcher that cannot even take the beginning will see the events.
            let _full = watcher.try_send(line(item, *channel, open, 0, after));
        }
        self.watchers.push(watcher);
    }

    /// Passes on what came since the last time; `after` is the last event that was written.
    pub(super) fn flush(&mut self, after: u64) {
        self.fresh = false;
        self.watchers.retain(|watcher| !watcher.is_closed());
        for ((item, channel), open) in &mut self.items {
            if open.told < open.text.len() as u64 {
                let news = line(item, *channel, open, open.told, after);
                // Who does not keep up misses some, sees it by the number, and waits for the event.
                self.watchers.iter().for_each(|watcher| {
                    let _full = watcher.try_send(news.clone());
                });
                open.told = open.text.len() as u64;
            }
        }
    }
}

fn line(item: &ItemId, channel: Channel, open: &Item, from: u64, after: u64) -> FromRunner {
    let start = usize::try_from(from).unwrap_or(usize::MAX).min(open.text.len());
    FromRunner::Delta(DeltaLine {
        item: item.clone(),
        channel,
        from,
        after,
        text: open.text.get(start..).unwrap_or_default().to_owned(),
        scope: open.scope.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(text: &str) -> Delta {
        Delta {
            item: "i".into(),
            channel: Channel::Text,
            text: text.into(),
            scope: EventScope::Main,
        }
    }

    fn texts(receiver: &mut mpsc::Receiver<FromRunner>) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        while let Ok(FromRunner::Delta(line)) = receiver.try_recv() {
            found.push((line.from, line.text));
        }
        found
    }

    #[test]
    fn who_comes_late_first_gets_the_text_so_far_and_then_what_is_new() {
        let mut deltas = Deltas::default();
        deltas.take(delta("Hello"));
        deltas.flush(0);
        let (sender, mut receiver) = mpsc::channel(8);
        deltas.watch(sender, 0);
        assert_eq!(texts(&mut receiver), [(0, "Hello".to_owned())]);
        deltas.take(delta(", wor"));
        deltas.take(delta("ld"));
        assert!(deltas.pressing());
        deltas.flush(0);
        assert_eq!(texts(&mut receiver), [(5, ", world".to_owned())]);
        assert!(!deltas.pressing());
    }

    #[test]
    fn what_does_not_fit_leaves_no_hole_in_what_is_told() {
        let mut deltas = Deltas::default();
        let (sender, mut receiver) = mpsc::channel(8);
        deltas.watch(sender, 0);
        deltas.take(delta(&"x".repeat(KEPT - 2)));
        deltas.take(delta("too long"));
        deltas.take(delta("!"));
        deltas.flush(0);
        assert_eq!(texts(&mut receiver), [(0, "x".repeat(KEPT - 2))]);
    }

    #[test]
    fn nobody_who_watches_can_hold_it_up_and_what_is_done_is_forgotten() {
        let mut deltas = Deltas::default();
        let (sender, mut receiver) = mpsc::channel(1);
        deltas.watch(sender, 0);
        for _ in 0..100 {
            deltas.take(delta("x"));
            deltas.flush(0);
        }
        assert_eq!(texts(&mut receiver), [(0, "x".to_owned())]);
        deltas.note(&EventKind::ItemDone {
            item: "i".into(),
            body: musher_core::ItemBody::Text { text: "x".repeat(100) },
            aborted: false,
        });
        assert!(deltas.items.is_empty());
    }
}
