//! What models cost and how much they can look at, from tables that are data.

use std::path::Path;

use musher_core::{ErrorClass, ErrorInfo, Tokens, Usd};
use serde::Deserialize;

/// A table of this many bytes is no table of prices.
const MAX_PRICES_FILE_BYTES: u64 = 4 * 1024 * 1024;
const MILLION: f64 = 1e6;

/// Prices of many models: those of one's own, and those that are shipped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    tables: [Table; 2],
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    model: Vec<Model>,
}

/// What is known of one model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    name: String,
    /// How many tokens it can look at.
    #[serde(default)]
    pub(crate) window: Option<u64>,
    /// The most tokens of one answer.
    #[serde(default)]
    pub(crate) max_output: Option<u64>,
    #[serde(default)]
    input: Option<f64>,
    #[serde(default)]
    cache_read: Option<f64>,
    #[serde(default)]
    cache_write: Option<f64>,
    #[serde(default)]
    cache_write_1h: Option<f64>,
    #[serde(default)]
    output: Option<f64>,
    /// What everything costs once the input is longer than this.
    #[serde(default)]
    long: Option<Long>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    above: u64,
    input: f64,
    output: f64,
    #[serde(default)]
    cache_read: Option<f64>,
    #[serde(default)]
    cache_write: Option<f64>,
    #[serde(default)]
    cache_write_1h: Option<f64>,
}

impl Prices {
    /// The table that is shipped, with a table of one's own before it.
    pub(crate) fn load(shipped: &str, own: Option<&Path>) -> Result<Self, ErrorInfo> {
        let own = match own {
            Some(path) => read(path)?,
            None => Table::default(),
        };
        let shipped: Table = toml::from_str(shipped).map_err(|error| {
            let message = format!("the table of prices that is shipped is damaged: {error}");
            ErrorInfo::new(ErrorClass::Internal, message)
        })?;
        Ok(Self { tables: [own, shipped] })
    }

    /// What is known of the model of this name: by the very name, or else by the longest one of which it is a dated or
    /// a preview edition. A table of one's own goes before the shipped one.
    pub(crate) fn find(&self, name: &str) -> Option<&Model> {
        self.tables.iter().find_map(|table| {
            let exact = table.model.iter().find(|model| model.name == name);
            let editions = || table.model.iter().filter(|model| is_edition(name, &model.name));
            exact.or_else(|| editions().max_by_key(|model| model.name.len()))
        })
    }
}

/// Whether two names mean the same model: one is an edition of the other.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || is_edition(one, other) || is_edition(other, one)
}

/// Whether a name is another one with a date, `-latest` or `-preview` behind it.
fn is_edition(name: &str, of: &str) -> bool {
    let Some(rest) = name.strip_prefix(of) else { return false };
    let dated = rest.len() >= 4
        && rest.starts_with(['-', '@'])
        && rest.bytes().skip(1).all(|byte| byte.is_ascii_digit() || byte == b'-');
    dated || rest == "-latest" || rest.starts_with("-preview")
}

fn read(path: &Path) -> Result<Table, ErrorInfo> {
    let refuse = |why: String| {
        let message = format!("the table of prices `{}` cannot be used: {why}", path.display());
        ErrorInfo::new(ErrorClass::Config, message).with_hint(
            "write [[model]] with name, input and output in dollars for a million tokens",
        )
    };
    let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
    if size > MAX_PRICES_FILE_BYTES {
        return Err(refuse(format!("it has {size} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let prices: Table = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    let unreal = |price: Option<f64>| price.is_some_and(|price| !price.is_finite() || price < 0.0);
    match prices.model.iter().find(|model| unreal(model.input) || unreal(model.output)) {
        Some(model) => Err(refuse(format!("a price of `{}` is no amount of money", model.name))),
        None => Ok(prices),
    }
}

impl Model {
    /// What this much use costs; unknown when nobody said.
    pub(crate) fn cost(&self, tokens: &Tokens) -> Option<Usd> {
        let (mut input, mut output) = (self.input?, self.output?);
        let (mut read, mut written) = (self.cache_read, self.cache_write);
        let mut written_1h = self.cache_write_1h;
        if let Some(long) = self.long.as_ref().filter(|long| tokens.context() > long.above) {
            (input, output) = (long.input, long.output);
            (read, written) = (long.cache_read, long.cache_write);
            written_1h = long.cache_write_1h;
        }
        let written = written.unwrap_or(input);
        let parts = [
            (tokens.input, input),
            (tokens.cache_read, read.unwrap_or(input)),
            (tokens.cache_write_5m, written),
            (tokens.cache_write_1h, written_1h.unwrap_or(written)),
            (tokens.cache_write_other, written),
            (tokens.output, output),
        ];
        // Each part is rounded by itself, so that the sum does not depend on what it is summed with.
        let cost = |(count, price): (u64, f64)| Usd::from_dollars(count as f64 * price / MILLION);
        Some(parts.into_iter().map(cost).fold(Usd::default(), Usd::plus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "[[model]]\nname = 'm-5'\nwindow = 1000\ninput = 2.0\ncache_read = 0.2\ncache_write = 2.5\noutput = 10.0\n[model.long]\nabove = 500\ninput = 4.0\noutput = 20.0\n";

    fn table() -> Prices {
        Prices::load(TABLE, None).unwrap()
    }

    #[test]
    fn a_cost_is_exact_and_each_kind_of_token_has_its_price() {
        let tokens = Tokens {
            input: 100,
            cache_read: 200,
            cache_write_5m: 10,
            output: 50,
            ..Tokens::default()
        };
        let cost = table().find("m-5").unwrap().cost(&tokens);
        assert_eq!(cost, Some(Usd::from_dollars(0.000_765)));
        let long = Tokens { input: 501, output: 1, ..Tokens::default() };
        let cost = table().find("m-5").unwrap().cost(&long);
        assert_eq!(cost, Some(Usd::from_dollars(0.002_024)));
    }

    #[test]
    fn a_model_is_found_by_its_name_with_or_without_a_date_and_never_by_that_of_another() {
        let table = table();
        for name in ["m-5", "m-5-2026-01-31", "m-5-20260131", "m-5-latest", "m-5-preview-05-06"] {
            assert!(table.find(name).is_some(), "{name}");
        }
        for name in ["m-5.1", "m-5-1", "m-5-mini", "m", "other"] {
            assert!(table.find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_name_that_the_table_has_goes_before_one_of_which_it_is_an_edition() {
        let rows = [("m-5", 1.0), ("m-5-2024-01-31", 9.0), ("m-5-preview", 5.0)];
        let rows = rows.map(|(name, price)| {
            format!("[[model]]\nname = '{name}'\ninput = {price}\noutput = {price}\n")
        });
        let table = Prices::load(&rows.concat(), None).unwrap();
        let price = |name| table.find(name).and_then(|model| model.input);
        assert_eq!(price("m-5-2024-01-31"), Some(9.0));
        assert_eq!(price("m-5-2025-01-31"), Some(1.0));
        assert_eq!(price("m-5-preview-05-06"), Some(5.0));
        assert!(is_same("m-5", "m-5-2025-01-31") && is_same("m-5-2025-01-31", "m-5"));
        assert!(!is_same("m-5", "m-5-mini") && !is_same("m-5", "m-6"));
    }

    #[test]
    fn a_price_that_nobody_knows_is_unknown_and_never_nothing() {
        let table = Prices::load("[[model]]\nname = 'local'\nwindow = 8192\n", None).unwrap();
        assert_eq!(table.find("local").unwrap().cost(&Tokens::default()), None);
    }

    #[test]
    fn a_table_of_ones_own_goes_before_the_shipped_one_and_a_bad_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("prices.toml");
        std::fs::write(&own, "[[model]]\nname = 'm-5'\ninput = 1.0\noutput = 1.0\n").unwrap();
        let table = Prices::load(TABLE, Some(&own)).unwrap();
        let tokens = Tokens { output: 1_000_000, ..Tokens::default() };
        let cost = table.find("m-5").unwrap().cost(&tokens);
        assert_eq!(cost, Some(Usd::from_dollars(1.0)));
        for bad in ["not toml [", "[[model]]\nname = 'x'\ninput = -1.0\noutput = 1.0\n"] {
            std::fs::write(&own, bad).unwrap();
            assert_eq!(Prices::load(TABLE, Some(&own)).unwrap_err().class, ErrorClass::Config);
        }
        assert!(Prices::load(TABLE, Some(Path::new("/no/such/table"))).is_err());
    }
}
