//! What looks random and is the same for the same seed.

/// A small generator.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// One for each actor, so that none depends on how fast another one is.
    pub(super) fn of(seed: u64, actor: &str, number: u64) -> Self {
        let name = actor.bytes().fold(seed, |mixed, byte| {
            mixed.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(byte))
        });
        Self(name ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// A number below another.
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    /// From one number to below another.
    pub(super) fn between(&mut self, from: u64, below: u64) -> u64 {
        from + self.roll(below.saturating_sub(from))
    }

    /// Whether one of so many faces came up.
    pub(super) fn one_in(&mut self, faces: u64) -> bool {
        self.roll(faces) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        let at = self.roll(things.len() as u64) as usize;
        things.get(at)
    }

    pub(super) fn millis(&mut self, from: u64, below: u64) -> std::time::Duration {
        std::time::Duration::from_millis(self.between(from, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_rolls_the_same_and_each_actor_its_own() {
        let roll = |seed, actor, number| {
            let mut dice = Dice::of(seed, actor, number);
            (0..8).map(|_| dice.roll(1000)).collect::<Vec<_>>()
        };
        assert_eq!(roll(7, "viewer", 1), roll(7, "viewer", 1));
        assert_ne!(roll(7, "viewer", 1), roll(7, "viewer", 2));
        assert_ne!(roll(7, "viewer", 1), roll(7, "author", 1));
        assert_ne!(roll(7, "viewer", 1), roll(8, "viewer", 1));
        assert_eq!(Dice::of(1, "x", 1).pick::<u8>(&[]), None);
    }
}
