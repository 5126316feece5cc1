//! Dollars and tokens at a glance.

use musher_core::{SessionEnded, Usd};

use musher_client::api::ApiSpent;

const UNKNOWN: &str = "unknown";

/// What something cost, such as `$0.12`; `≈` if some of it was worked out, `≥` if some of it is unknown. What is not known is
/// never shown as nothing.
pub(crate) fn cost(spent: &ApiSpent) -> String {
    let known = Usd::from_dollars(spent.known_cost_usd);
    shown_as(spent.cost_usd.map(Usd::from_dollars), known, spent.estimated)
}

/// The same of a session that has ended, in the middle of a sentence.
pub(crate) fn of_end(end: &SessionEnded) -> String {
    in_a_sentence(shown_as(end.cost_usd, end.known_cost_usd, end.estimated))
}

/// The same in the middle of a sentence.
pub(crate) fn bill(spent: &ApiSpent) -> String {
    in_a_sentence(cost(spent))
}

fn shown_as(cost: Option<Usd>, known: Usd, estimated: bool) -> String {
    match cost {
        Some(cost) if estimated => format!("≈ {cost}"),
        Some(cost) => cost.to_string(),
        None if known > Usd::default() => format!("≥ {known}"),
        None => UNKNOWN.into(),
    }
}

fn in_a_sentence(cost: String) -> String {
    if cost == UNKNOWN { format!("cost {cost}") } else { cost }
}

/// Everything that the model was shown.
pub(crate) fn shown(spent: &ApiSpent) -> u64 {
    [
        spent.input,
        spent.cache_read,
        spent.cache_write_5m,
        spent.cache_write_1h,
        spent.cache_write_other,
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// A number of tokens that can be read at a glance.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.2}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use musher_core::{ErrorClass, ErrorInfo};

    use super::*;

    #[test]
    fn what_is_unknown_is_never_shown_as_nothing_and_what_is_estimated_is_marked() {
        let spent = |cost_usd, known_cost_usd, estimated| ApiSpent {
            cost_usd,
            known_cost_usd,
            estimated,
            ..ApiSpent::default()
        };
        for (spent, said) in [
            (spent(Some(0.12), 0.12, false), "$0.12"),
            (spent(Some(0.12), 0.12, true), "≈ $0.12"),
            (spent(Some(0.0001), 0.0001, false), "$0.0001"),
            (spent(Some(0.0), 0.0, false), "$0"),
            (spent(None, 0.0, false), "unknown"),
            (spent(None, 1.5, false), "≥ $1.50"),
            (spent(None, 1.5, true), "≥ $1.50"),
        ] {
            assert_eq!(cost(&spent), said);
        }
        assert_eq!(bill(&spent(None, 0.0, false)), "cost unknown");
        let mut end = SessionEnded::unbegun(ErrorInfo::new(ErrorClass::Internal, "broken"));
        assert_eq!(of_end(&end), "$0");
        (end.cost_usd, end.known_cost_usd) = (None, Usd::from_dollars(0.5));
        assert_eq!(of_end(&end), "≥ $0.50");
    }
}
