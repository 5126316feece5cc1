//! A slowdown that is planted on purpose, to see that its row turns red.

use std::time::{Duration, Instant};

/// How many times as long ours takes: one, unless a slowdown was planted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slow(f64);

impl Slow {
    pub const NONE: Self = Self(1.0);

    pub fn planted(factor: f64) -> Self {
        Self(factor.max(1.0))
    }

    pub fn factor(self) -> f64 {
        self.0
    }

    /// So often the work is done that counts as one piece of work.
    pub fn times(self) -> usize {
        self.0.round() as usize
    }

    /// Keeps the processor busy until what began then has taken so many times as long, and tells how long that is.
    pub fn lengthen(self, began: Instant) -> Duration {
        let wanted = began.elapsed().mul_f64(self.0);
        while began.elapsed() < wanted {
            std::hint::spin_loop();
        }
        began.elapsed()
    }
}
