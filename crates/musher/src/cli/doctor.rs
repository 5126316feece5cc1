//! `musher doctor`: names every guarantee that does not hold here, with what would mend it.

mod server;

use clap::Args;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::table::Tone;
use super::text::one_line;
use super::{CliError, CliExit, out};
use crate::checks::{Check, CheckContext, CheckFindings, CheckTrouble, CheckVerdict, Program};
use crate::supervisor::git_env;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

impl DoctorArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let site = site(&place);
        let CheckFindings { mut checks, project } = site.examine().await;
        checks.extend(site.programs(project.as_ref()).iter().map(Program::check));
        checks.extend(server::checks(&place).await);
        let bad = checks.iter().any(|check| check.verdict == CheckVerdict::Bad);
        match place.json() {
            true => out::document(&document(&checks, bad))?,
            false => out::hanging(&text(&checks), widest(&checks) + 7)?,
        }
        Ok(if bad { CliExit::User } else { CliExit::Completed })
    }
}

/// Where is looked.
fn site(place: &WorkLocation) -> CheckContext {
    let trouble = |error: CliError| {
        let fix = error.hint().unwrap_or_default().to_owned();
        CheckTrouble { says: error.to_string(), fix }
    };
    CheckContext {
        repo: place.repo().map_err(trouble),
        state: place.state().map_err(trouble),
        environment: place.environment.clone(),
        git_env: git_env(&place.environment),
    }
}

fn tone(verdict: CheckVerdict) -> Tone {
    match verdict {
        CheckVerdict::Ok => Tone::Good,
        CheckVerdict::Warn => Tone::Heed,
        CheckVerdict::Bad => Tone::Bad,
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

/// How much room the names take.
fn widest(checks: &[Check]) -> usize {
    checks.iter().map(|check| check.name.len()).max().unwrap_or(0)
}

fn text(checks: &[Check]) -> String {
    let widest = widest(checks);
    let line = |check: &Check| {
        let style = tone(check.verdict).style();
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
