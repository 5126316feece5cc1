//! `musher story show`: a story with its text and its runs.

use clap::Args;
use musher_core::StoryId;
use musher_runtime::now_ms;

use super::super::place::PlaceArgs;
use super::super::text::{one_line, plain};
use super::super::{CliError, CliExit, age, money, out, ps, state};
use musher_client::api::{ApiStorySpec, ApiStoryWhole, Runs};

#[derive(Debug, Args)]
pub(super) struct StoryShowArgs {
    /// The story's id.
    story: StoryId,
    #[command(flatten)]
    place: PlaceArgs,
}

impl StoryShowArgs {
    pub(super) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let reply = client.get(&["stories", self.story.as_str()], &[]).await?;
        if place.json() {
            out::document(&reply.text())?;
            return Ok(CliExit::Completed);
        }
        let story: ApiStoryWhole = reply.read()?;
        let query = [("story", self.story.as_str()), ("limit", "20")];
        let page: Runs = client.read(&["runs"], &query).await?;
        let now = now_ms();
        out::line(&text(&story, now))?;
        match page.runs.as_slice() {
            [] => out::line(&format!(
                "\nNo agent has worked on it yet. Begin with `musher start {}`.",
                self.story
            ))?,
            runs => out::line(&format!("\n{}", ps::table(runs, &[], now)))?,
        }
        Ok(CliExit::Completed)
    }
}

fn text(ApiStoryWhole { story, text: words, context, .. }: &ApiStoryWhole, now: i64) -> String {
    let (state, tone) = state::of_story(story);
    let style = tone.style();
    let title = one_line(story.title.as_deref().unwrap_or("(erased)"), 500);
    let mut text = format!("{} {style}{state}{style:#} {title}", story.id);
    text += &format!(
        "\n  added {} ago, cost {}",
        age::age(story.created_at, now),
        money::cost(&story.spent)
    );
    if let Some(commit) = &story.merged {
        text += &format!(", merged as {}", plain(&commit.chars().take(12).collect::<String>()));
    }
    let wants = wants(&story.asks);
    if !wants.is_empty() {
        text += &format!("\n  {}", plain(&wants.join(", ")));
    }
    for (name, value) in context {
        text += &format!("\n  {} = {}", plain(name), one_line(value, 500));
    }
    match words.as_deref().map(plain) {
        Some(words) if !words.trim().is_empty() => text + "\n\n" + words.trim_end(),
        Some(_) | None => text,
    }
}

/// What a story asks for beside its words, each in a few words.
fn wants(asks: &ApiStorySpec) -> Vec<String> {
    let ApiStorySpec { after, priority, labels, budget_usd, agent, base, branch } = asks;
    let mut wants = Vec::new();
    if *priority != u8::from(musher_core::Priority::default()) {
        wants.push(format!("priority {priority}"));
    }
    if !after.is_empty() {
        wants.push(format!("after {}", after.join(" ")));
    }
    wants.extend(labels.iter().map(|label| format!("#{label}")));
    wants.extend(budget_usd.map(|usd| format!("budget ${usd}")));
    wants.extend(agent.as_ref().map(|agent| format!("agent {agent}")));
    wants.extend(base.as_ref().map(|base| format!("base {base}")));
    wants.extend(branch.as_ref().map(|branch| format!("branch {branch}")));
    wants
}
