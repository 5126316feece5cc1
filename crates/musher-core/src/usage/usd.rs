//! Money as whole picodollars, so that sums are exact and do not depend on their order.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PICO: f64 = 1e12;

/// An amount of US dollars, written as a plain JSON number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u64);

impl Usd {
    /// The nearest representable amount; negative and unreal figures count as nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        // `as` saturates and maps NaN to zero, which is what a figure from outside needs.
        Self((dollars * PICO).round() as u64)
    }

    /// A figure from outside, if it is an amount of money; a negative or unreal one says nothing.
    pub fn told(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && dollars >= 0.0).then(|| Self::from_dollars(dollars))
    }

    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::fmt::Display for Usd {
    /// The one way in which people see money: cents, and for less than a dollar two digits more where they say
    /// something. What is not nothing is never shown as nothing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dollars = self.dollars();
        if *self == Self::default() {
            return f.pad("$0");
        }
        if dollars >= 1.0 {
            return f.pad(&format!("${dollars:.2}"));
        }
        let text = format!("${dollars:.4}");
        match text.as_str() {
            "$0.0000" => f.pad("<$0.0001"),
            _ => {
                let cents = &text[..text.len() - 2];
                let more = text[cents.len()..].trim_end_matches('0');
                f.pad(&format!("{cents}{more}"))
            }
        }
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_dollars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_where_floats_are_not() {
        let tenth = Usd::from_dollars(0.1);
        assert_eq!(tenth.plus(tenth).plus(tenth), Usd::from_dollars(0.3));
        assert_eq!(
            serde_json::to_string(&Usd::from_dollars(0.10330800000000001)).unwrap(),
            "0.103308"
        );
    }

    #[test]
    fn money_is_shown_in_cents_and_small_change_in_more_digits() {
        for (dollars, shown) in [
            (0.0, "$0"),
            (0.000_01, "<$0.0001"),
            (0.0049, "$0.0049"),
            (0.5, "$0.50"),
            (0.126, "$0.126"),
            (0.123_456, "$0.1235"),
            (0.99999, "$1.00"),
            (12.345, "$12.35"),
        ] {
            assert_eq!(Usd::from_dollars(dollars).to_string(), shown);
        }
        assert_eq!(format!("{:>7}", Usd::from_dollars(0.5)), "  $0.50");
    }

    #[test]
    fn unreal_figures_count_as_nothing() {
        assert_eq!(Usd::from_dollars(f64::NAN), Usd::default());
        assert_eq!(Usd::from_dollars(-3.0), Usd::default());
        assert_eq!([f64::NAN, f64::INFINITY, -0.1].map(Usd::told), [None; 3], "nor are they known");
        assert_eq!(Usd::told(0.0), Some(Usd::default()));
    }
}
