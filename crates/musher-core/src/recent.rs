//! Remembers the newest of many things by name and forgets the oldest, so that a long run costs no more than a short one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The newest things, at most `CAPACITY` of them.
#[derive(Debug, Clone)]
pub struct Recent<T, const CAPACITY: usize> {
    things: HashMap<Arc<str>, T>,
    /// Names from the oldest to the newest. Those of what was removed stay until it is their turn.
    names: VecDeque<Arc<str>>,
}

impl<T, const CAPACITY: usize> Default for Recent<T, CAPACITY> {
    fn default() -> Self {
        Self { things: HashMap::new(), names: VecDeque::new() }
    }
}

impl<T, const CAPACITY: usize> Recent<T, CAPACITY> {
    pub fn get(&mut self, name: &str) -> Option<&mut T> {
        self.things.get_mut(name)
    }

    /// The newest thing, if it has this name.
    pub fn newest(&mut self, name: &str) -> Option<&mut T> {
        self.names.back().filter(|newest| ***newest == *name)?;
        self.things.get_mut(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.things.contains_key(name)
    }

    pub fn add(&mut self, name: &str, thing: T) {
        if self.names.len() >= CAPACITY
            && let Some(oldest) = self.names.pop_front()
        {
            self.things.remove(&oldest);
        }
        let name: Arc<str> = name.into();
        self.names.push_back(Arc::clone(&name));
        self.things.insert(name, thing);
    }

    pub fn remove(&mut self, name: &str) -> Option<T> {
        self.things.remove(name)
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
        assert_eq!(recent.things.len(), 2);
    }
}
