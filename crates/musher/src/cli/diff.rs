//! `musher diff`: what a run changed since it left the project's branch.

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::place::PlaceArgs;
use super::run_name::RunNameArg;
use super::text::visible;
use super::{CliError, CliExit, out, tell, terminal};
use musher_client::api::{ApiDiff as Changes, ApiFileDiff, ApiHunk, ApiLineKind};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for its newest run.
    run: RunNameArg,
    /// Only how many lines changed in which files.
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl DiffArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let reply = place.client()?.get(&["runs", &self.run.wire(), "diff"], &[]).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let changes: Changes = reply.read()?;
        match (changes.files.is_empty(), self.stat) {
            (true, _) => out::line(&format!("Run {} has changed nothing.", self.run))?,
            (false, true) => out::line(&stat(&changes, terminal::width()))?,
            (false, false) => {
                for file in &changes.files {
                    out::line(&unified(file))?;
                }
            }
        }
        if changes.truncated {
            tell("There is more than is shown; see the rest with git in the run's branch.");
        }
        Ok(CliExit::Completed)
    }
}

const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// What programs do with a file, if whoever reads the change should know.
pub(crate) fn heed(file: &ApiFileDiff) -> Option<&'static str> {
    match file.effect.as_deref()? {
        "executes" => Some("agents' programs run what this file names"),
        "obeys" => Some("agents obey what this file says"),
        "runs_later" => Some("other programs run what this file says or names"),
        "executable" => Some("this file can be executed from now on"),
        "link" => Some("this is a link, which leads elsewhere"),
        "repository" => Some("this is another repository: its contents are not shown"),
        _ => None,
    }
}

/// One file as a unified diff; whatever a terminal would hide is shown.
pub(crate) fn unified(file: &ApiFileDiff) -> String {
    let path = visible(&file.path);
    let old = file.old_path.as_deref().map_or_else(|| path.clone(), visible);
    let mut text = format!("{BOLD}diff --git a/{old} b/{path}{BOLD:#}");
    if let Some(words) = heed(file) {
        text += &format!("\n{YELLOW}! {words}{YELLOW:#}");
    }
    if file.old_mode != file.new_mode {
        match file.status.as_str() {
            "added" => text += &format!("\nnew file mode {}", file.new_mode),
            "deleted" => text += &format!("\ndeleted file mode {}", file.old_mode),
            _ => text += &format!("\nold mode {}\nnew mode {}", file.old_mode, file.new_mode),
        }
    }
    match file.status.as_str() {
        "renamed" => text += &format!("\nrename from {old}\nrename to {path}"),
        "copied" => text += &format!("\ncopy from {old}\ncopy to {path}"),
        _ => {}
    }
    if file.binary {
        return text + &format!("\nBinary files a/{old} and b/{path} differ");
    }
    if !file.hunks.is_empty() {
        let side = |none: &str, side: &str, path: &str| match file.status == none {
            true => "/dev/null".to_owned(),
            false => format!("{side}/{path}"),
        };
        text += &format!("\n{BOLD}--- {}{BOLD:#}", side("added", "a", &old));
        text += &format!("\n{BOLD}+++ {}{BOLD:#}", side("deleted", "b", &path));
    }
    text + &file.hunks.iter().map(hunk).collect::<String>()
}

fn hunk(hunk: &ApiHunk) -> String {
    let range = |start: u64, lines: u64| match lines {
        1 => start.to_string(),
        lines => format!("{start},{lines}"),
    };
    let section = visible(&hunk.section);
    let mut text = format!(
        "\n{CYAN}@@ -{} +{} @@{CYAN:#}{}{section}",
        range(hunk.old_start, hunk.old_lines),
        range(hunk.new_start, hunk.new_lines),
        if section.is_empty() { "" } else { " " },
    );
    for line in &hunk.lines {
        let words = visible(&line.text);
        text += &match line.kind {
            ApiLineKind::Added => format!("\n{GREEN}+{words}{GREEN:#}"),
            ApiLineKind::Removed => format!("\n{RED}-{words}{RED:#}"),
            ApiLineKind::Context => format!("\n {words}"),
        };
        if line.no_newline {
            text += "\n\\ No newline at end of file";
        }
    }
    text
}

/// How many lines changed in each file.
fn stat(changes: &Changes, width: usize) -> String {
    let name = |file: &ApiFileDiff| match &file.old_path {
        Some(old) => format!("{} → {}", visible(old), visible(&file.path)),
        None => visible(&file.path),
    };
    let longest = changes.files.iter().map(|file| name(file).chars().count()).max().unwrap_or(0);
    let most = changes.files.iter().map(|file| file.added + file.removed).max().unwrap_or(1).max(1);
    let room = width.saturating_sub(longest + 12).clamp(5, 60) as u64;
    // Every change shows, however small beside the largest.
    let bar = |count: u64| match most <= room {
        true => count,
        false => (count * room / most).max(u64::from(count > 0)),
    };
    let sign = |sign: &str, count: u64| sign.repeat(usize::try_from(bar(count)).unwrap_or(0));
    let mut text = String::new();
    for file in &changes.files {
        let pad = " ".repeat(longest - name(file).chars().count());
        text += &match file.binary {
            true => format!("{}{pad} | binary\n", name(file)),
            false => format!(
                "{}{pad} | {:>5} {GREEN}{}{GREEN:#}{RED}{}{RED:#}\n",
                name(file),
                file.added + file.removed,
                sign("+", file.added),
                sign("-", file.removed)
            ),
        };
        if let Some(words) = heed(file) {
            text += &format!("  {YELLOW}! {words}{YELLOW:#}\n");
        }
    }
    let sum = |count: fn(&ApiFileDiff) -> u64| changes.files.iter().map(count).sum::<u64>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let files = changes.files.len();
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    text + &format!("{files} changed, {added} added, {removed} removed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::plain;

    fn changes() -> Changes {
        serde_json::from_value(serde_json::json!({ "files": [
            { "path": "src/a.rs", "status": "modified", "old_mode": "100644", "new_mode": "100644",
              "added": 1, "removed": 1, "hunks": [ { "old_start": 1, "old_lines": 2, "new_start": 1,
                "new_lines": 2, "section": "fn main()", "lines": [
                  { "kind": "context", "text": "one" },
                  { "kind": "removed", "text": "two" },
                  { "kind": "added", "text": "tw\u{202e}o\u{1b}[31m", "no_newline": true } ] } ] },
            { "path": "new", "old_path": "old", "status": "renamed", "old_mode": "100644",
              "new_mode": "100755" },
            { "path": "x.png", "status": "added", "old_mode": "000000", "new_mode": "100644",
              "binary": true },
        ] }))
        .unwrap()
    }

    #[test]
    fn a_change_is_shown_as_a_unified_diff_in_which_nothing_hides() {
        let text: Vec<String> = changes().files.iter().map(|file| plain(&unified(file))).collect();
        assert_eq!(
            text[0],
            "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@ fn main()\n one\n-two\n+tw\\u{202e}o\\u{1b}[31m\n\\ No newline at end of file"
        );
        assert_eq!(
            text[1],
            "diff --git a/old b/new\nold mode 100644\nnew mode 100755\nrename from old\nrename to new"
        );
        assert!(text[2].contains("new file mode 100644\nBinary files"), "{}", text[2]);
    }

    #[test]
    fn a_file_that_agents_run_or_obey_is_marked() {
        let changes: Changes = serde_json::from_value(serde_json::json!({ "files": [
            { "path": "AGENTS.md", "status": "modified", "effect": "obeys" },
            { "path": "x.json", "status": "added", "effect": "executes" },
            { "path": "y", "status": "added", "effect": "something newer" },
            { "path": "package.json", "status": "modified", "effect": "runs_later" },
        ] }))
        .unwrap();
        let shown: Vec<String> = changes.files.iter().map(|file| plain(&unified(file))).collect();
        assert!(shown[0].contains("! agents obey what this file says"), "{}", shown[0]);
        assert!(shown[1].contains("! agents' programs run what this file names"), "{}", shown[1]);
        assert!(!shown[2].contains('!'), "{}", shown[2]);
        assert!(shown[3].contains("! other programs run"), "{}", shown[3]);
        assert_eq!(plain(&stat(&changes, 80)).matches("! agents").count(), 2);
    }

    #[test]
    fn the_sum_of_a_change_fits_its_lines() {
        let text = plain(&stat(&changes(), 80));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "src/a.rs  |     2 +-");
        assert_eq!(lines[2], "x.png     | binary");
        assert_eq!(lines[3], "3 files changed, 1 added, 1 removed");
    }
}
