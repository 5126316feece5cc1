//! Wall time, for labels only; order comes from numbers and deadlines from the runtime's clock.

/// Now, in Unix milliseconds.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads wall time")]
pub fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
