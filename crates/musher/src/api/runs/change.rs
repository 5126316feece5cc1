//! `GET /runs/{run}/events/{seq}/change`: what an act changes in files; and what it would change, for an ask.

mod beneath;

use std::path::Path;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use musher_client::api::{ApiFileDiff, word};
use musher_core::{Ask, Edit, EventKind, is_cut};
use musher_runtime::{ProjectFile, Secrets};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::Api;
use crate::api::asks::event;
use crate::api::problem::ProblemReply;
use crate::api::request::OfEvent;
use crate::api::runs::file_diff::{Budget, Changes, effect};
use crate::runtimes;
use beneath::{FileAtPath, Unread};
use musher_git::FileStatus;

/// More lines are not shown for one act.
const MAX_CHANGE_LINES: usize = 2_000;
/// More files are not shown for one act.
const MAX_CHANGED_FILES: usize = 50;

/// What an act changes in files.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = Change)]
pub(in crate::api) struct FileChanges {
    /// File by file; absent when it changes none, or nobody can tell.
    pub(in crate::api) change: Option<Vec<ApiFileDiff>>,
    /// Why something of it is missing.
    pub(in crate::api) change_note: Option<String>,
}

#[utoipa::path(
    get,
    path = "/runs/{run}/events/{seq}/change",
    tag = "runs",
    operation_id = "event_change",
    summary = "What a tool call changes in files, by its own words",
    params(OfEvent),
    responses((status = 200, body = FileChanges), ProblemReply)
)]
pub(in crate::api) async fn event_change(
    State(api): State<Api>,
    OfEvent(run, seq): OfEvent,
) -> Result<Json<FileChanges>, ProblemReply> {
    let (id, shared) = (api.run(&run).await?.id, api.clone());
    let found = api.blocking(move || {
        let event = event(shared.bus.logs(), id, seq)?;
        let project = shared.settings.project();
        let files = runtimes::project_files(&project.runtimes);
        Ok(event.map(|event| FileChanges::said(&edits(event.kind), &files)))
    });
    let found = found.await?.map_err(|error| ProblemReply::from(&error))?;
    found.map(Json).ok_or_else(|| {
        ProblemReply::new(
            StatusCode::NOT_FOUND,
            "no_such_event",
            format!("there is no event {seq} in the log of this run"),
            "take a number from the run's events",
        )
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only calls and approvals can change files")]
fn edits(kind: EventKind) -> Vec<Edit> {
    match kind {
        EventKind::Tool(update) => update.edits,
        EventKind::AskOpened { body: Ask::Approval(approval), .. } => approval.edits,
        _ => Vec::new(),
    }
}

impl FileChanges {
    /// What edits say of themselves, without a look at the files.
    fn said(edits: &[Edit], files: &[ProjectFile]) -> Self {
        let mut draft = Draft::of(files);
        for edit in edits {
            let old = edit.old.as_deref().unwrap_or_default();
            if is_cut(old) || is_cut(&edit.new) {
                draft.note(&edit.path, "the text is too long for the log");
                continue;
            }
            let status = edit.old.as_ref().map_or(FileStatus::Added, |_| FileStatus::Modified);
            draft.file(&edit.path, status, old, &edit.new);
        }
        draft.finish(edits)
    }

    /// What edits would make of the files in a worktree as they are now. This blocks for a moment.
    pub(in crate::api) fn foreseen(
        edits: &[Edit],
        worktree: &Path,
        files: &[ProjectFile],
        secrets: &Secrets,
    ) -> Self {
        let mut draft = Draft::of(files);
        let mut paths: Vec<&str> = Vec::new();
        for edit in edits {
            if !paths.contains(&edit.path.as_str()) {
                paths.push(&edit.path);
            }
        }
        for path in paths {
            let found = match beneath::read(worktree, path) {
                Ok(found) => found,
                Err(why) => {
                    draft.note(path, why);
                    continue;
                }
            };
            let own = edits.iter().filter(|edit| edit.path == path);
            // What was done already, and only asked about now, is shown as it was done.
            if let (Some(edit), None) = (own.clone().next(), own.clone().nth(1))
                && let Some(status) = made(edit, &found)
            {
                draft.file(path, status, edit.old.as_deref().unwrap_or_default(), &edit.new);
                continue;
            }
            let (status, old) = match &found {
                FileAtPath::Text(text) => (FileStatus::Modified, text.as_str()),
                FileAtPath::Nothing => (FileStatus::Added, ""),
            };
            match own.clone().try_fold(old.to_owned(), |text, edit| apply(&text, edit, &found)) {
                Ok(mut new) => {
                    let mut old = old.to_owned();
                    secrets.hide(&mut old);
                    secrets.hide(&mut new);
                    draft.file(shown(worktree, path), status, &old, &new);
                }
                Err(why) => draft.note(path, why),
            }
        }
        draft.finish(edits)
    }
}

/// The path as it looks from the worktree.
fn shown<'a>(worktree: &Path, path: &'a str) -> &'a str {
    let inside = Path::new(path).strip_prefix(worktree).ok().and_then(Path::to_str);
    inside.unwrap_or(path)
}

/// What became of the file, if the edit replaces all of one text by another and the file has come to that.
fn made(edit: &Edit, found: &FileAtPath) -> Option<FileStatus> {
    let old = edit.old.as_deref()?;
    match found {
        FileAtPath::Text(text) if *text == edit.new && *text != old => Some(FileStatus::Modified),
        FileAtPath::Nothing if edit.new.is_empty() => Some(FileStatus::Deleted),
        FileAtPath::Text(_) | FileAtPath::Nothing => None,
    }
}

/// The text after an edit, or why it cannot be made.
fn apply(text: &str, edit: &Edit, found: &FileAtPath) -> Result<String, Unread> {
    if is_cut(&edit.new) || edit.old.as_deref().is_some_and(is_cut) {
        return Err("the text is too long for the log".into());
    }
    let Some(old) = &edit.old else { return Ok(edit.new.clone()) };
    match (text.matches(old.as_str()).count(), edit.all) {
        (0, _) if matches!(found, FileAtPath::Nothing) && text.is_empty() => {
            Err("there is no such file".into())
        }
        (0, _) => Err("the text to be replaced is not in the file as it is now".into()),
        (1, _) | (_, true) => Ok(text.replace(old.as_str(), &edit.new)),
        (many, false) => Err(format!("the text to be replaced is {many} times in the file").into()),
    }
}

/// A change that is being put together.
struct Draft<'a> {
    /// What agents' programs take from a repository.
    taken: &'a [ProjectFile],
    files: Vec<ApiFileDiff>,
    notes: Vec<String>,
    lines: usize,
    budget: Budget,
}

impl<'a> Draft<'a> {
    fn of(taken: &'a [ProjectFile]) -> Self {
        let budget = Budget::default();
        Self { taken, files: Vec::new(), notes: Vec::new(), lines: 0, budget }
    }

    fn note(&mut self, path: &str, why: impl AsRef<str>) {
        if self.notes.len() < MAX_CHANGED_FILES {
            self.notes.push(format!("{path}: {}", why.as_ref()));
        }
    }

    fn file(&mut self, path: &str, status: FileStatus, old: &str, new: &str) {
        let left = MAX_CHANGE_LINES.saturating_sub(self.lines);
        if left == 0 || self.files.len() >= MAX_CHANGED_FILES {
            return self.note(path, "there is more than is shown");
        }
        let changes = Changes::between(old, new, left, &mut self.budget);
        self.lines += changes.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>();
        if changes.truncated {
            self.note(path, "there is more than is shown");
        }
        let old_mode = match status {
            FileStatus::Added => "000000",
            FileStatus::Deleted
            | FileStatus::Modified
            | FileStatus::Renamed
            | FileStatus::Copied
            | FileStatus::TypeChanged => "100644",
        };
        self.files.push(ApiFileDiff {
            path: path.to_owned(),
            old_path: None,
            status: word(&status),
            old_mode: old_mode.to_owned(),
            new_mode: "100644".to_owned(),
            added: changes.added,
            removed: changes.removed,
            binary: false,
            effect: effect(self.taken, path),
            hunks: changes.hunks,
        });
    }

    fn finish(self, edits: &[Edit]) -> FileChanges {
        let Self { files, notes, .. } = self;
        let nothing = edits.is_empty() || (files.is_empty() && !notes.is_empty());
        FileChanges {
            change: (!nothing).then_some(files),
            change_note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }
}
