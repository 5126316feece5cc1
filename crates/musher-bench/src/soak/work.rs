//! What a story tells its agent to do.

use super::dice::Dice;

/// The work of one story.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) text: String,
    pub(super) end: End,
    /// How many prompts follow while it works, and perhaps after.
    pub(super) prompts: u64,
}

/// How its run comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    ByItself,
    /// Somebody stops it after a while.
    Stopped,
    Killed,
}

impl Work {
    pub(super) fn roll(dice: &mut Dice) -> Self {
        let lines = dice.between(5, 120);
        let every = dice.between(5, 60);
        let size = dice.pick(&[0, 80, 400, 400, 2_000, 16_000]).copied().unwrap_or(0);
        let talk = format!("[[work lines={lines} every_ms={every} size={size}]]");
        let (text, end) = match dice.roll(16) {
            0..=3 => (talk, End::ByItself),
            4 => (format!("[[work deltas=1 lines=20 size=300]] {talk}"), End::ByItself),
            5..=7 => (
                format!("[[work lines=3 ask=\"make all\" lines=2]] {talk} [[work ask=push]]"),
                End::ByItself,
            ),
            8..=9 => (
                format!("[[work question=\"Which one?\" options=A|B lines=4]] {talk}"),
                End::ByItself,
            ),
            10 => (
                format!("[[work spawn=setsid spawn=daemon spawn=clear_env]] {talk}"),
                End::ByItself,
            ),
            11 => (
                "[[work spawn=daemon ignore_term=1 lines=9 ask=never hang=1]]".to_owned(),
                End::Stopped,
            ),
            12 => ("[[work lines=100000 every_ms=20]]".to_owned(), End::Stopped),
            13 => ("[[work spawn=setsid lines=100000 every_ms=30]]".to_owned(), End::Killed),
            14 => (format!("[[work garbage=3000]] {talk} [[work fail=1]]"), End::ByItself),
            _ => (format!("{talk} [[work crash=9]]"), End::ByItself),
        };
        Self { text, end, prompts: dice.roll(3) }
    }
}
