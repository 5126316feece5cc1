//! Dollars and tokens at a glance.

use musher_core::Usd;

use crate::client::views::Spent;

const UNKNOWN: &str = "unknown";

/// What something cost, such as `$0.12`. What is not known is never shown as nothing.
pub(crate) fn cost(spent: &Spent) -> String {
    match spent.cost_usd {
        Some(dollars) => Usd::from_dollars(dollars).to_string(),
        None if tokens_of(spent) == 0 => Usd::default().to_string(),
        None if spent.known_cost_usd > 0.0 => {
            format!("≥ {}", Usd::from_dollars(spent.known_cost_usd))
        }
        None => UNKNOWN.into(),
    }
}

/// The same in the middle of a sentence.
pub(crate) fn bill(spent: &Spent) -> String {
    match cost(spent) {
        unknown if unknown == UNKNOWN => format!("cost {unknown}"),
        known => known,
    }
}

/// A cost that is known or not, in the middle of a sentence.
pub(crate) fn known(cost: Option<Usd>) -> String {
    cost.map_or_else(|| format!("cost {UNKNOWN}"), |cost| cost.to_string())
}

/// Everything that the model was shown.
pub(crate) fn shown(spent: &Spent) -> u64 {
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

fn tokens_of(spent: &Spent) -> u64 {
    shown(spent).saturating_add(spent.output)
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
    use super::*;

    #[test]
    fn what_is_unknown_is_never_shown_as_nothing() {
        let spent = |cost_usd, known_cost_usd, output| Spent {
            cost_usd,
            known_cost_usd,
            output,
            ..Spent::default()
        };
        for (spent, said) in [
            (spent(Some(0.12), 0.12, 9), "$0.12"),
            (spent(Some(0.0001), 0.0001, 9), "$0.0001"),
            (spent(Some(0.0), 0.0, 9), "$0"),
            (spent(None, 0.0, 0), "$0"),
            (spent(None, 0.0, 9), "unknown"),
            (spent(None, 1.5, 9), "≥ $1.50"),
        ] {
            assert_eq!(cost(&spent), said);
        }
        assert_eq!(bill(&spent(None, 0.0, 9)), "cost unknown");
        assert_eq!(
            (known(None), known(Some(Usd::default()))),
            ("cost unknown".into(), "$0".into())
        );
    }
}
