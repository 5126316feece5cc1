//! A tool that reads what a run changed.

use std::fmt::Write;

use musher_core::ToolKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::OperatorTool;
use super::name::RunPathName;
use crate::mcp::api_client::ApiRequest;
use musher_client::api::{ApiDiff, ApiFileDiff, ApiLineKind};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadDiff {
    run: RunPathName,
    /// Since when; since the branch left the project's own when left out.
    since: Option<Since>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Since {
    /// Where the branch left the project's own.
    Base,
    /// Where this run began.
    Start,
}

impl Since {
    fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Start => "start",
        }
    }
}

impl OperatorTool for ReadDiff {
    const NAME: &'static str = "read_diff";
    const ABOUT: &'static str = "Read what a run's branch changes, as a unified diff.";
    const KIND: ToolKind = ToolKind::Read;

    fn wanted(self) -> ApiRequest {
        ApiRequest::read(["runs", self.run.as_str(), "diff"])
            .with("since", self.since.map(Since::as_str))
    }

    /// The text holds the lines; for programs there is the list of files.
    fn shown(reply: Json) -> (Json, String) {
        let diff: ApiDiff = serde_json::from_value(reply).unwrap_or_default();
        let mut text: String = diff.files.iter().map(unified).collect();
        match (diff.files.is_empty(), diff.truncated) {
            (true, _) => text.push_str("The run changes nothing."),
            (false, true) => text.push_str("More was changed than is shown here."),
            (false, false) => {}
        }
        let files = diff.files.iter().map(|file| {
            json!({
                "path": file.path,
                "old_path": file.old_path,
                "status": file.status,
                "added": file.added,
                "removed": file.removed,
            })
        });
        let files: Vec<Json> = files.collect();
        (json!({ "files": files, "truncated": diff.truncated }), text)
    }
}

fn unified(file: &ApiFileDiff) -> String {
    let old = file.old_path.as_deref().unwrap_or(&file.path);
    let mut text = format!("--- a/{old}\n+++ b/{}\n", file.path);
    if file.binary {
        text.push_str("(not text)\n");
    }
    for hunk in &file.hunks {
        // Writing to a text cannot fail.
        let _infallible = writeln!(
            text,
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, hunk.section
        );
        for line in &hunk.lines {
            let sign = match line.kind {
                ApiLineKind::Added => '+',
                ApiLineKind::Removed => '-',
                ApiLineKind::Context => ' ',
            };
            let _infallible = writeln!(text, "{sign}{}", line.text);
        }
    }
    text
}
