//! Where a run or a story is: a sign, a word and a tone.

use super::table::Tone;
use musher_client::api::{ApiRun, ApiStory};
use musher_core::RunPhaseKind;

/// Where a run is, or how it ended.
pub(crate) fn of_run(run: &ApiRun) -> (String, Tone) {
    let (sign, word, tone) = match (run.phase, run.outcome.as_deref()) {
        _ if run.parked => ("?", "parked", Tone::Heed),
        (RunPhaseKind::Over, Some("completed")) => ("✓", "completed", Tone::Good),
        (RunPhaseKind::Over, Some(outcome @ ("failed" | "lost"))) => ("✗", outcome, Tone::Bad),
        (RunPhaseKind::Over, Some(outcome @ ("stopped" | "interrupted"))) => {
            ("■", outcome, Tone::Quiet)
        }
        (RunPhaseKind::Over, Some(outcome)) => ("▲", outcome, Tone::Heed),
        (RunPhaseKind::Over, None) => ("■", "over", Tone::Quiet),
        (RunPhaseKind::Closing | RunPhaseKind::Finishing, _) => ("◐", "stopping", Tone::Quiet),
        (_, _) if run.wish.is_some() => ("◐", "stopping", Tone::Quiet),
        (RunPhaseKind::Live, _) if run.open_asks > 0 => ("?", "needs you", Tone::Heed),
        (RunPhaseKind::Live, _) if run.note.is_some() => ("‖", "paused", Tone::Heed),
        (RunPhaseKind::Live, _) => ("●", "working", Tone::Good),
        (phase, _) => ("○", phase.as_str(), Tone::Quiet),
    };
    (format!("{sign} {}", word.replace('_', " ")), tone)
}

/// Where a story is.
pub(crate) fn of_story(story: &ApiStory) -> (String, Tone) {
    let (sign, word, tone) = match story.state.as_str() {
        _ if story.open_asks > 0 => ("?", "needs you", Tone::Heed),
        "open" if story.runs.live > 0 => ("●", "working", Tone::Good),
        "done" if story.merged.is_some() => ("✓", "merged", Tone::Good),
        "done" => ("✓", "done", Tone::Good),
        "archived" => ("■", "archived", Tone::Quiet),
        state => ("○", state, Tone::Quiet),
    };
    (format!("{sign} {word}"), tone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_word_of_its_own_so_that_colour_only_repeats_it() {
        let run = |json: &str| of_run(&serde_json::from_str(json).unwrap());
        for (json, said, tone) in [
            (r#"{"phase":"live"}"#, "● working", Tone::Good),
            (r#"{"phase":"live","open_asks":1}"#, "? needs you", Tone::Heed),
            (r#"{"phase":"live","wish":"stop","open_asks":1}"#, "◐ stopping", Tone::Quiet),
            (r#"{"phase":"live","note":"the disk is full"}"#, "‖ paused", Tone::Heed),
            (r#"{"phase":"queued"}"#, "○ queued", Tone::Quiet),
            (r#"{"phase":"over","outcome":"timed_out"}"#, "▲ timed out", Tone::Heed),
            (r#"{"phase":"over","outcome":"lost"}"#, "✗ lost", Tone::Bad),
            (r#"{"phase":"over","outcome":"lost","parked":true}"#, "? parked", Tone::Heed),
            (r#"{"phase":"from_the_future"}"#, "○ unknown", Tone::Quiet),
        ] {
            assert_eq!(run(json), (said.to_owned(), tone), "{json}");
        }
    }
}
