//! The rows of the table, in its order.

pub mod api;
pub mod diff;
pub mod fan_out;
pub mod first_byte;
pub mod ingest;
pub mod ingest_rpc;
pub mod journal;
pub mod latency;
pub mod memory_history;
pub mod memory_idle;
pub mod memory_live;
pub mod memory_runner;
pub mod memory_stalled;
pub mod model_loop;
pub mod naive;
pub mod replay;
pub mod sandbox;
pub mod sandbox_turn;
pub mod server_start;
pub mod synthetic;
pub mod worktree;

use anyhow::{Context as _, bail};

use crate::row::{Needs, Row};

pub const ROWS: &[&Row] = &[
    &ingest::ROW,
    &ingest_rpc::ROW,
    &latency::ROW,
    &replay::ROW,
    &fan_out::ROW,
    &memory_history::ROW,
    &memory_idle::ROW,
    &memory_stalled::ROW,
    &memory_live::ROW,
    &memory_runner::ROW,
    &journal::ROW,
    &api::ROW,
    &diff::ROW,
    &server_start::ROW,
    &first_byte::ROW,
    &sandbox::ROW,
    &sandbox_turn::ROW,
    &worktree::ROW,
    &model_loop::ROW,
    &naive::ROW,
    &crate::load::runs::ROW,
    &crate::load::runs::CONFINED_ROW,
    &crate::load::subscribers::ROW,
    &synthetic::ROW,
];

/// The rows that are asked for; all that measure something, if none is.
pub fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Row>> {
    if names.is_empty() {
        return Ok(ROWS.iter().copied().filter(|row| row.needs == Needs::Programs).collect());
    }
    names.iter().map(|name| named(name)).collect()
}

pub fn named(name: &str) -> anyhow::Result<&'static Row> {
    let row = ROWS.iter().copied().find(|row| row.name == name);
    row.with_context(|| format!("there is no row `{name}`; --list names them"))
}

/// Which row is to be slowed down, and how much: `NAME=FACTOR`.
pub fn slowed(text: &str) -> anyhow::Result<(&'static Row, f64)> {
    let (name, factor) = text.split_once('=').context("write NAME=FACTOR")?;
    match factor.parse::<f64>() {
        Ok(factor) if factor >= 1.0 && factor.is_finite() => Ok((named(name)?, factor)),
        Ok(_) | Err(_) => bail!("`{factor}` is not a factor of 1 or more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_and_every_measure_has_a_name_of_its_own() {
        let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            let keys: BTreeSet<_> = row.measures.iter().map(|measure| measure.key).collect();
            assert_eq!(keys.len(), row.measures.len(), "{}", row.name);
        }
    }

    #[test]
    fn the_row_that_measures_nothing_is_run_by_name_alone() {
        let all = chosen(&[]).unwrap();
        assert!(all.iter().all(|row| row.needs == Needs::Programs));
        assert_eq!(chosen(&["synthetic".to_owned()]).unwrap()[0].name, "synthetic");
        assert!(chosen(&["nothing".to_owned()]).is_err());
        assert!(slowed("synthetic=0.5").is_err() && slowed("synthetic").is_err());
    }
}
