//! `musher story list`: the stories, the newest first.

use clap::Args;
use musher_runtime::now_ms;

use super::super::place::PlaceArgs;
use super::super::table::TextTable;
use super::super::{CliError, CliExit, age, money, out, state};
use musher_client::api::{ApiStory, Stories};

#[derive(Debug, Args)]
pub(super) struct StoryListArgs {
    /// List archived stories instead.
    #[arg(long)]
    archived: bool,
    /// How many.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: u32,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryListArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let limit = self.limit.to_string();
        let mut query = vec![("limit", limit.as_str())];
        if self.archived {
            query.push(("archived", "true"));
        }
        let reply = place.client()?.get(&["stories"], &query).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let page: Stories = reply.read()?;
        match page.stories.as_slice() {
            [] if self.archived => out::line("No story was archived yet.")?,
            [] => out::prose("There is no story yet. Add one with `musher story add TITLE`.")?,
            stories => out::line(&table(stories, now_ms()))?,
        }
        Ok(CliExit::Completed)
    }
}

fn table(stories: &[ApiStory], now: i64) -> String {
    let mut table =
        TextTable::new(&["STATE", "STORY", "RUNS", "AGE", "COST", "TITLE"]).right(&[2, 3, 4]);
    for story in stories {
        let (state, tone) = state::of_story(story);
        table.row(
            tone,
            [
                state,
                story.id.clone(),
                story.runs.all.to_string(),
                age::age(story.created_at, now),
                money::cost(&story.spent),
                story.title.clone().unwrap_or_else(|| "(erased)".into()),
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
    fn a_story_is_told_in_one_line() {
        let page: Stories = serde_json::from_value(serde_json::json!({ "stories": [
            { "id": "s2", "title": "Greet\nby name", "state": "open", "runs": { "all": 2, "live": 1 },
              "created_at": 0, "spent": { "cost_usd": 1.0, "output": 1 } },
            { "id": "s1", "title": null, "state": "done", "merged": "abc", "spent": { "cost_usd": 0.0 } },
        ] }))
        .unwrap();
        let text = plain(&table(&page.stories, 7_200_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "● working  s2        2  2 h  $1.00  Greet…");
        assert_eq!(lines[2], "✓ merged   s1        0  2 h     $0  (erased)");
    }
}
