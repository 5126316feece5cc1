//! Dollars and tokens at a glance.

use crate::client::views::Spent;

/// What something cost, such as `$0.12`. What is not known is never shown as nothing.
pub(crate) fn cost(spent: &Spent) -> String {
    match spent.cost_usd {
        Some(dollars) => dollars_of(dollars),
        None if tokens_of(spent) == 0 => dollars_of(0.0),
        None if spent.known_cost_usd > 0.0 => format!("≥ {}", dollars_of(spent.known_cost_usd)),
        None => "unknown".into(),
    }
}

fn dollars_of(dollars: f64) -> String {
    match dollars {
        0.0 => "$0".into(),
        small if small < 0.01 => "<$0.01".into(),
        dollars => format!("${dollars:.2}"),
    }
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
            (spent(Some(0.123), 0.123, 9), "$0.12"),
            (spent(Some(0.0001), 0.0001, 9), "<$0.01"),
            (spent(Some(0.0), 0.0, 9), "$0"),
            (spent(None, 0.0, 0), "$0"),
            (spent(None, 0.0, 9), "unknown"),
            (spent(None, 1.5, 9), "≥ $1.50"),
        ] {
            assert_eq!(cost(&spent), said);
        }
    }
}
