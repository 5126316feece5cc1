//! `musher token list`: the tokens that browsers and programs hold.

use clap::Args;
use musher_runtime::now_ms;

use super::super::place::PlaceArgs;
use super::super::table::{TextTable, Tone};
use super::super::{CliError, CliExit, age, out};
use musher_client::api::{ApiToken, ApiTokens};

#[derive(Debug, Args)]
pub(super) struct TokenListArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

impl TokenListArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let reply = place.client()?.get(&["tokens"], &[]).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let ApiTokens { tokens } = reply.read()?;
        match tokens.as_slice() {
            [] => out::line(
                "Nobody else holds a token. `musher token add NAME` makes one; a browser gets one by the address that \
                 `musher serve` prints.",
            )?,
            tokens => out::line(&table(tokens, now_ms()))?,
        }
        Ok(CliExit::Completed)
    }
}

fn table(tokens: &[ApiToken], now: i64) -> String {
    let mut table = TextTable::new(&["TOKEN", "SCOPE", "AGE", "USED", "NAME"]).right(&[2, 3]);
    for token in tokens {
        let used = token.last_used_at.map_or_else(|| "never".into(), |at| age::age(at, now));
        table.row(
            Tone::Good,
            [
                token.id.clone(),
                token.scope.clone(),
                age::age(token.made_at, now),
                used,
                token.name.clone(),
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
    fn a_token_is_told_in_one_line_with_when_it_was_used() {
        let tokens: ApiTokens = serde_json::from_value(serde_json::json!({ "tokens": [
            { "id": "t1", "name": "Chrome on Linux", "scope": "full", "made_at": 0, "last_used_at": 3_600_000 },
            { "id": "t2", "name": "ci", "scope": "operator", "made_at": 0 },
        ] }))
        .unwrap();
        let text = plain(&table(&tokens.tokens, 7_200_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "t1     full      2 h    1 h  Chrome on Linux");
        assert_eq!(lines[2], "t2     operator  2 h  never  ci");
    }
}
