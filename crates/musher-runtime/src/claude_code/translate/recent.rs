//! Remembers the newest of many things by name and forgets the oldest, so that a long run costs no more than a short one.

use std::collections::VecDeque;

/// The newest things, at most `MOST` of them. What is looked for is nearly always the newest, so that is looked at first.
#[derive(Debug)]
pub(super) struct Recent<T, const MOST: usize> {
    entries: VecDeque<(String, T)>,
}

impl<T, const MOST: usize> Default for Recent<T, MOST> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<T, const MOST: usize> Recent<T, MOST> {
    pub(super) fn get(&mut self, name: &str) -> Option<&mut T> {
        // Names end in chance, so that the last byte tells most of them apart without a look at the rest.
        let last = name.as_bytes().last();
        let is_it = |known: &str| known.as_bytes().last() == last && known == name;
        let found = self.entries.iter_mut().rev().find(|(known, _)| is_it(known));
        found.map(|(_, thing)| thing)
    }

    /// The newest thing, if it has this name.
    pub(super) fn newest(&mut self, name: &str) -> Option<&mut T> {
        self.entries.back_mut().filter(|(known, _)| known == name).map(|(_, thing)| thing)
    }

    pub(super) fn add(&mut self, name: &str, thing: T) {
        if self.entries.len() >= MOST {
            self.entries.pop_front();
        }
        self.entries.push_back((name.to_owned(), thing));
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let at = self.entries.iter().rposition(|(known, _)| known == name)?;
        self.entries.remove(at).map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_found_and_the_oldest_are_forgotten() {
        let mut recent: Recent<u64, 3> = Recent::default();
        for n in 0..5 {
            recent.add(&format!("m{n}"), n);
        }
        assert_eq!(recent.get("m1"), None);
        assert_eq!(recent.get("m2"), Some(&mut 2));
        assert_eq!(recent.newest("m3"), None);
        assert_eq!(recent.newest("m4"), Some(&mut 4));
        assert_eq!((recent.remove("m3"), recent.remove("m3")), (Some(3), None));
        assert_eq!(recent.entries.len(), 2);
    }
}
