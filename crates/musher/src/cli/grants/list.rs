//! `musher grants list`: what was granted, and to whom.

use clap::Args;
use musher_runtime::now_ms;

use super::super::place::PlaceArgs;
use super::super::table::{TextTable, Tone};
use super::super::{CliError, CliExit, age, out};
use musher_client::api::{ApiGrant, ApiLocalSettings};

#[derive(Debug, Args)]
pub(super) struct GrantListArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

impl GrantListArgs {
    pub(super) fn at(place: PlaceArgs) -> Self {
        Self { place }
    }

    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let reply = place.client()?.get(&["local"], &[]).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let ApiLocalSettings { grants, .. } = reply.read()?;
        match grants.as_slice() {
            [] => out::line("No saved permissions. `musher approve --always` saves one.")?,
            grants => out::line(&table(grants, now_ms()))?,
        }
        Ok(CliExit::Completed)
    }
}

fn table(grants: &[ApiGrant], now: i64) -> String {
    let mut table = TextTable::new(&["AGENT", "RULE", "STORY", "RUN", "AGE"]).right(&[4]);
    for grant in grants {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        table.row(
            Tone::Good,
            [
                grant.agent.clone(),
                grant.rule.clone(),
                or_none(&grant.story),
                or_none(&grant.run),
                grant.at.map_or_else(|| "-".into(), |at| age::age(at, now)),
            ],
        );
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn a_grant_is_told_in_one_line_with_its_rule_as_it_was_granted() {
        let local: ApiLocalSettings = serde_json::from_value(serde_json::json!({ "grants": [
            { "agent": "coder", "rule": "execute(cargo test *)", "story": "s1", "run": "r2", "at": 0 },
            { "agent": "coder", "rule": "edit(a.rs)" },
        ] }))
        .unwrap();
        let text = plain(&table(&local.grants, 7_200_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "coder  execute(cargo test *)  s1     r2   2 h");
        assert_eq!(lines[2], "coder  edit(a.rs)             -      -      -");
    }
}
