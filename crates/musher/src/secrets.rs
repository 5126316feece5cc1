//! The secrets of runs in files that agents have written: hidden where these are shown, and named before they land.
//!
//! Nothing of a secret is kept for it. Each is read again where it is configured, whenever somebody looks.

use musher_core::RunId;
use musher_core::pool::SecretPlace;
use musher_runtime::{Environment, Secrets};

use crate::runner::RunLogs;
use musher_git::{DiffLimits, GitDiff, LineKind};

/// How much of a branch is looked through.
pub const SECRET_SCAN_LIMITS: DiffLimits =
    DiffLimits { bytes: 64 << 20, lines: 1_000_000, files: 20_000 };
/// More places are not named one by one.
const MAX_REPORTED_SECRETS: usize = 100;
/// How the note of a run begins whose work holds secrets.
pub const NOTE: &str = "secrets are in the work: ";

/// What must not be seen of these runs, of the server's environment, and of the server itself.
pub fn of_runs(
    environment: &Environment,
    token: Option<&str>,
    logs: &RunLogs,
    runs: &[RunId],
) -> Secrets {
    let mut known = environment.known_secrets();
    known.extend(token.map(|token| ("the token of the server".to_owned(), token.to_owned())));
    for run in runs {
        // A run whose variables are no longer there has nothing that could be known beyond the rest.
        if let Ok(spec) = logs.spec(*run)
            && let Ok(session) = spec.session(environment.clone())
        {
            known.extend(session.known_secrets());
        }
    }
    Secrets::new(known)
}

/// The places at which the lines that a diff adds hold secrets.
pub fn find(diff: &GitDiff, secrets: &Secrets) -> Vec<SecretPlace> {
    let mut found = Vec::new();
    for file in &diff.files {
        for hunk in &file.hunks {
            let mut number = hunk.new_start;
            for line in &hunk.lines {
                if line.kind == LineKind::Added {
                    for name in secrets.names_in(&line.text) {
                        let (path, name) = (file.path.to_string(), name.to_owned());
                        found.push(SecretPlace { path, line: number, name });
                    }
                }
                if line.kind != LineKind::Removed {
                    number += 1;
                }
                if found.len() >= MAX_REPORTED_SECRETS {
                    return found;
                }
            }
        }
    }
    found
}

/// Puts names in place of the secrets in every text of a diff.
pub fn hide(diff: &mut GitDiff, secrets: &Secrets) {
    for hunk in diff.files.iter_mut().flat_map(|file| &mut file.hunks) {
        secrets.hide(&mut hunk.section);
        hunk.lines.iter_mut().for_each(|line| secrets.hide(&mut line.text));
    }
}
