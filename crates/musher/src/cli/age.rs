//! Times as people say them.

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago a moment was, such as `3 m`. Both are Unix milliseconds.
pub(crate) fn age(then: i64, now: i64) -> String {
    span(now.saturating_sub(then))
}

/// How long it is until a moment, such as `in 27 m`.
pub(crate) fn until(then: i64, now: i64) -> String {
    match then.saturating_sub(now) {
        left if left > 0 => format!("in {}", span(left)),
        _ => "now".into(),
    }
}

/// A stretch of time in its largest unit; the smaller ones are nobody's concern.
pub(crate) fn span(ms: i64) -> String {
    match ms {
        ..SECOND => "0 s".into(),
        SECOND..MINUTE => format!("{} s", ms / SECOND),
        MINUTE..HOUR => format!("{} m", ms / MINUTE),
        HOUR..DAY => format!("{} h", ms / HOUR),
        _ => format!("{} d", ms / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        for (ms, said) in [
            (-5, "0 s"),
            (999, "0 s"),
            (1000, "1 s"),
            (59_999, "59 s"),
            (180_000, "3 m"),
            (3_600_000, "1 h"),
            (86_399_999, "23 h"),
            (90_000_000_000, "1041 d"),
        ] {
            assert_eq!(age(0, ms), said, "{ms}");
        }
        assert_eq!(age(i64::MIN, i64::MAX), "106751991167 d");
        assert_eq!(until(61_000, 0), "in 1 m");
        assert_eq!(until(0, 61_000), "now");
    }
}
