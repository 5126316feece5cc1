//! `musher doctor`: names every guarantee that does not hold here, with what would mend it.

mod check;
mod machine;
mod programs;
mod project;
mod server;
mod unit;

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::text::one_line;
use super::{CliError, Exit, out};
use check::{Check, Verdict};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    place: PlaceArgs,
}

impl Doctor {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let place = self.place.place();
        let mut checks = machine::checks(&place);
        let (project, found) = project::checks(&place).await;
        checks.extend(found);
        checks.extend(programs::checks(&place, project.as_ref()));
        checks.extend(server::checks(&place).await);
        let bad = checks.iter().any(|check| check.verdict == Verdict::Bad);
        match place.json() {
            true => out::document(&document(&checks, bad))?,
            false => out::line(&text(&checks))?,
        }
        Ok(if bad { Exit::User } else { Exit::Completed })
    }
}

fn document(checks: &[Check], bad: bool) -> String {
    let check = |check: &Check| {
        json!({
            "name": check.name,
            "verdict": check.verdict.word(),
            "says": check.says,
            "fix": check.fix,
        })
    };
    json!({ "ok": !bad, "checks": checks.iter().map(check).collect::<Vec<_>>() }).to_string()
}

fn text(checks: &[Check]) -> String {
    let widest = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let line = |check: &Check| {
        let style = check.verdict.tone().style();
        let fix = check.fix.as_ref().map(|fix| format!("; fix: {fix}")).unwrap_or_default();
        format!(
            "{style}{:<4}{style:#} {:<widest$}  {}",
            check.verdict.word(),
            check.name,
            one_line(&format!("{}{fix}", check.says), 2000),
        )
    };
    checks.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn each_check_is_one_line_with_its_verdict_as_a_word_and_its_fix() {
        let checks = [
            Check::ok("git", "git works"),
            Check::warn("control group", "none can be made", "use a unit"),
            Check::bad("disk", "full\nreally", "make room"),
        ];
        assert_eq!(
            plain(&text(&checks)),
            "ok   git            git works\n\
             warn control group  none can be made; fix: use a unit\n\
             bad  disk           full…"
        );
        let document: serde_json::Value = serde_json::from_str(&document(&checks, true)).unwrap();
        assert_eq!(document["ok"], false);
        assert_eq!(document["checks"][1]["verdict"], "warn");
        assert_eq!(document["checks"][2]["fix"], "make room");
    }
}
