//! `musher usage`: what was spent.

use std::time::Duration;

use clap::{Args, ValueEnum};
use musher_runtime::now_ms;

use super::place::PlaceArgs;
use super::run::duration;
use super::table::{TextTable, Tone};
use super::{CliError, CliExit, money, out};
use musher_client::api::{ApiSpent, ApiUsageReport};

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Group by.
    #[arg(long, value_enum, default_value_t = By::Story)]
    by: By,
    /// Only the last while, such as `24h`.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    last: Option<Duration>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Run,
    Story,
    Agent,
    Model,
    Day,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Story => "story",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

impl UsageArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let since = self.last.map(|last| {
            let ms = i64::try_from(last.as_millis()).unwrap_or(i64::MAX);
            now_ms().saturating_sub(ms).max(0).to_string()
        });
        let mut query = vec![("by", self.by.word())];
        query.extend(since.as_deref().map(|since| ("since", since)));
        let reply = place.client()?.get(&["usage"], &query).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let usage: ApiUsageReport = reply.read()?;
        match usage.rows.is_empty() {
            true => out::line("Nothing was spent yet.")?,
            false => out::line(&table(&usage, self.by))?,
        }
        Ok(CliExit::Completed)
    }
}

fn table(usage: &ApiUsageReport, by: By) -> String {
    let heading = by.word().to_uppercase();
    let mut table =
        TextTable::new(&[&heading, "INPUT", "CACHED", "OUTPUT", "COST"]).right(&[1, 2, 3, 4]);
    let mut row = |tone, key: String, spent: &ApiSpent| {
        let cached = spent.cache_read;
        table.row(
            tone,
            [
                key,
                money::tokens(money::shown(spent).saturating_sub(cached)),
                money::tokens(cached),
                money::tokens(spent.output),
                money::cost(spent),
            ],
        );
    };
    let mut sum = ApiSpent { cost_usd: Some(0.0), ..ApiSpent::default() };
    for line in &usage.rows {
        sum = plus(&sum, &line.spent);
        let key = line.key.clone().unwrap_or_else(|| "(unnamed)".into());
        row(Tone::Quiet, if matches!(by, By::Day) { day(&key) } else { key }, &line.spent);
    }
    if usage.rows.len() > 1 {
        row(Tone::Good, "all".into(), &sum);
    }
    table.text()
}

/// A day as people write it, from the milliseconds of its begin.
fn day(key: &str) -> String {
    let ms = key.parse().ok();
    let begin = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    begin.map_or_else(|| key.to_owned(), |begin| begin.strftime("%Y-%m-%d").to_string())
}

fn plus(a: &ApiSpent, b: &ApiSpent) -> ApiSpent {
    ApiSpent {
        input: a.input.saturating_add(b.input),
        cache_read: a.cache_read.saturating_add(b.cache_read),
        cache_write_5m: a.cache_write_5m.saturating_add(b.cache_write_5m),
        cache_write_1h: a.cache_write_1h.saturating_add(b.cache_write_1h),
        cache_write_other: a.cache_write_other.saturating_add(b.cache_write_other),
        output: a.output.saturating_add(b.output),
        reasoning: a.reasoning.saturating_add(b.reasoning),
        cost_usd: a.cost_usd.zip(b.cost_usd).map(|(a, b)| a + b),
        known_cost_usd: a.known_cost_usd + b.known_cost_usd,
        estimated: a.estimated || b.estimated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn sums_stand_below_and_an_unknown_part_makes_the_sum_a_lower_bound() {
        let usage: ApiUsageReport = serde_json::from_value(serde_json::json!({ "rows": [
            { "key": "86400000", "spent": { "input": 10, "cache_read": 20_000, "output": 5,
              "cost_usd": 0.5, "known_cost_usd": 0.5 } },
            { "key": "172800000", "spent": { "input": 1, "output": 1, "cost_usd": null } },
        ] }))
        .unwrap();
        let text = plain(&table(&usage, By::Day));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1970-01-02     10   20.0k       5    $0.50");
        assert_eq!(lines[2], "1970-01-03      1       0       1  unknown");
        assert_eq!(lines[3], "all            11   20.0k       6  ≥ $0.50");
    }
}
