//! `musher merge`: merges a story's branch into the project's own.

use clap::Args;
use musher_core::{BranchName, BranchRef, StoryId};
use serde_json::json;

use super::diff::heed;
use super::place::PlaceArgs;
use super::text::visible;
use super::{CliError, CliExit, out, receipt, tell};
use musher_client::api::{ApiDiff, ApiReceipt, ApiRun, ApiStoryWhole, Runs};
use musher_client::{Client, ClientError};

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The story's id.
    story: StoryId,
    /// The number of its branch; needed only when it has several.
    #[arg(short, long, value_name = "N")]
    branch: Option<u32>,
    /// Merge even if the branch adds secrets.
    #[arg(long)]
    with_secrets: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl MergeArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.clone().place();
        let mut body = self.branch.map_or_else(|| json!({}), |branch| json!({ "branch": branch }));
        if self.with_secrets {
            body["with_secrets"] = true.into();
        }
        let path = ["stories", self.story.as_str(), "merge"];
        let client = place.client()?;
        if !place.json() {
            self.heed(&client).await;
        }
        let reply = client.post(&path, &body).await?;
        let story = &self.story;
        if !place.json() && matches!(reply.read()?, ApiReceipt::Pending { .. }) {
            out::prose(&format!(
                "story {story} is being merged; `musher story show {story}` shows when it is done"
            ))?;
            return Ok(CliExit::Completed);
        }
        receipt::told(&place, &reply, &format!("story {story} is merged"))
    }

    /// Names what is merged that agents run or obey from now on: it should not go by unseen.
    async fn heed(&self, client: &Client) {
        let run = match self.branch {
            None => Ok(self.story.as_str().to_owned()),
            Some(branch) => self.newest_on(client, branch).await,
        };
        let changes = match run {
            Ok(run) => client.read::<ApiDiff>(&["runs", &run, "diff"], &[("files", "only")]).await,
            Err(error) => Err(error),
        };
        match changes {
            Ok(changes) => {
                for file in &changes.files {
                    if let Some(words) = heed(file) {
                        tell(&format!("! {}: {words}", visible(&file.path)));
                    }
                }
            }
            // The merge itself tells what is wrong with it.
            Err(error) => tell(&format!("The changes could not be shown first: {error}")),
        }
    }

    /// The newest run on a branch of the story.
    async fn newest_on(&self, client: &Client, branch: u32) -> Result<String, ClientError> {
        let query = [("story", self.story.as_str()), ("state", "all")];
        let Runs { runs, .. } = client.read(&["runs"], &query).await?;
        let whole: ApiStoryWhole = client.read(&["stories", self.story.as_str()], &[]).await?;
        let name = whole.story.asks.branch.and_then(|name| BranchName::parse(&name).ok());
        let name = BranchRef { name, ..BranchRef::plain(self.story.clone(), branch) }.to_string();
        let on = |run: &&ApiRun| run.branch.as_deref() == Some(&name);
        let newest = runs.iter().filter(on).max_by_key(|run| run.queued_at);
        Ok(newest.map_or_else(|| self.story.as_str().to_owned(), |run| run.id.clone()))
    }
}
