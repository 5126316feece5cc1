//! The secrets of runs in files that agents have written: hidden where these are shown, and named before they land.
//!
//! Nothing of a secret is kept for it. Each is read again where it is configured, whenever somebody looks.

mod hunk;
mod shapes;

use std::collections::BTreeSet;

use musher_core::RunId;
use musher_core::pool::SecretPlace;
use musher_runtime::{Environment, Secrets};

use crate::runner::RunLogs;
use hunk::{DiffSide, HunkSecret};
use musher_git::{DiffLimits, GitDiff, GitDiffLine, GitHunk, LineKind};

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

/// The places at which the lines that a diff adds hold secrets, or what looks like a key of a well-known service.
///
/// This is what a merge asks before it lands something, and what a push has to ask before it sends something.
pub fn find(diff: &GitDiff, secrets: &Secrets) -> Vec<SecretPlace> {
    let mut found = Vec::new();
    for file in &diff.files {
        for hunk in &file.hunks {
            for (line, name) in found_in(hunk, secrets) {
                let path = file.path.to_string();
                found.push(SecretPlace { path, line, name });
                if found.len() >= MAX_REPORTED_SECRETS {
                    return found;
                }
            }
        }
    }
    found
}

/// Lines that a hunk adds, by their numbers, with what they hold.
fn found_in(hunk: &GitHunk, secrets: &Secrets) -> BTreeSet<(u64, String)> {
    let new = |line: &&GitDiffLine| line.kind != LineKind::Removed;
    let added = |at: &usize| hunk.lines[*at].kind == LineKind::Added;
    // The number that each line has, or the next one of the new file.
    let numbers: Vec<u64> = hunk
        .lines
        .iter()
        .scan(hunk.new_start, |next, line| {
            let number = *next;
            *next += u64::from(new(&line));
            Some(number)
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::new();
    for HunkSecret { name, parts } in hunk::find(hunk, DiffSide::New, secrets) {
        let mut lines = parts.into_iter().map(|(at, _)| at).filter(added).peekable();
        // Of one that is wrapped over lines the first is named.
        if let Some(at) = lines.peek() {
            found.insert((numbers[*at], name.to_owned()));
        }
        known.extend(lines);
    }
    for (at, line) in hunk.lines.iter().enumerate() {
        // A key that is known by value has its own name.
        if !added(&at) || known.contains(&at) {
            continue;
        }
        let next = hunk.lines[at + 1..].iter().find(new).map(|line| line.text.as_str());
        for kind in shapes::kinds_in(&line.text, next) {
            found.insert((numbers[at], format!("what looks like {kind}")));
        }
    }
    found
}

/// Puts names in place of the secrets in every text of a diff.
pub fn hide(diff: &mut GitDiff, secrets: &Secrets) {
    for hunk in diff.files.iter_mut().flat_map(|file| &mut file.hunks) {
        hunk::hide(hunk, secrets);
    }
}
