//! `musher doctor`: names every guarantee that does not hold here, with what would mend it.

mod server;

use clap::Args;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::table::Tone;
use super::text::one_line;
use super::{CliError, CliExit, out};
use crate::diagnostics::{
    Diagnostic, DiagnosticContext, DiagnosticFindings, DiagnosticTrouble, DiagnosticVerdict,
    Program,
};
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
        let DiagnosticFindings { mut diagnostics, project } = site.examine().await;
        diagnostics.extend(site.programs(project.as_ref()).iter().map(Program::diagnose));
        diagnostics.extend(server::diagnose(&place).await);
        let bad = diagnostics.iter().any(|diagnostic| diagnostic.verdict == DiagnosticVerdict::Bad);
        match place.json() {
            true => out::document(&document(&diagnostics, bad))?,
            false => out::hanging(&text(&diagnostics), widest(&diagnostics) + 7)?,
        }
        Ok(if bad { CliExit::User } else { CliExit::Completed })
    }
}

/// Where is looked.
pub(super) fn site(place: &WorkLocation) -> DiagnosticContext {
    let trouble = |error: CliError| {
        let fix = error.hint().unwrap_or_default().to_owned();
        DiagnosticTrouble { says: error.to_string(), fix }
    };
    DiagnosticContext {
        repo: place.repo().map_err(trouble),
        state: place.state().map_err(trouble),
        environment: place.environment.clone(),
        git_env: git_env(&place.environment),
    }
}

fn tone(verdict: DiagnosticVerdict) -> Tone {
    match verdict {
        DiagnosticVerdict::Ok => Tone::Good,
        DiagnosticVerdict::Warn => Tone::Heed,
        DiagnosticVerdict::Bad => Tone::Bad,
    }
}

fn document(diagnostics: &[Diagnostic], bad: bool) -> String {
    let diagnostic = |diagnostic: &Diagnostic| {
        json!({
            "name": diagnostic.name,
            "verdict": diagnostic.verdict.word(),
            "says": diagnostic.says,
            "fix": diagnostic.fix,
        })
    };
    json!({ "ok": !bad, "checks": diagnostics.iter().map(diagnostic).collect::<Vec<_>>() })
        .to_string()
}

/// How much room the names take.
fn widest(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().map(|diagnostic| diagnostic.name.len()).max().unwrap_or(0)
}

fn text(diagnostics: &[Diagnostic]) -> String {
    let widest = widest(diagnostics);
    let line = |diagnostic: &Diagnostic| {
        let style = tone(diagnostic.verdict).style();
        let fix = diagnostic.fix.as_ref().map(|fix| format!("; fix: {fix}")).unwrap_or_default();
        format!(
            "{style}{:<4}{style:#} {:<widest$}  {}",
            diagnostic.verdict.word(),
            diagnostic.name,
            one_line(&format!("{}{fix}", diagnostic.says), 2000),
        )
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    #[test]
    fn each_check_is_one_line_with_its_verdict_as_a_word_and_its_fix() {
        let diagnostics = [
            Diagnostic::ok("git", "git works"),
            Diagnostic::warn("control group", "none can be made", "use a unit"),
            Diagnostic::bad("disk", "full\nreally", "make room"),
        ];
        assert_eq!(
            plain(&text(&diagnostics)),
            "ok   git            git works\n\
             warn control group  none can be made; fix: use a unit\n\
             bad  disk           full…"
        );
        let document: serde_json::Value =
            serde_json::from_str(&document(&diagnostics, true)).unwrap();
        assert_eq!(document["ok"], false);
        assert_eq!(document["checks"][1]["verdict"], "warn");
        assert_eq!(document["checks"][2]["fix"], "make room");
    }
}
