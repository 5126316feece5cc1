//! Headlines: the story, run or ask as it is now, sent again whenever a fact touched it.

use musher_client::api::{ApiAsk, ApiRun, ApiStory};
use serde::Serialize;

use crate::api::Api;
use crate::api::asks::AskReply;
use crate::api::runs::run_now;
use crate::api::stories::story_now;
use crate::journal::JournalError;
use crate::watch::frames;
use crate::watch::touched::Touched;

/// What a client puts in the place of what it had under the same id.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::api) enum Headline {
    Story(Box<ApiStory>),
    Run(Box<ApiRun>),
    Ask(Box<ApiAsk>),
}

impl Headline {
    pub(in crate::api) fn frame(&self, out: &mut Vec<u8>) {
        // Views are plain data, which can always be written as JSON.
        let json = serde_json::to_vec(self).unwrap_or_default();
        frames::named(out, "headline", &json);
    }
}

/// Frames all of it as it is now. This blocks.
pub(super) fn frame(
    mut touched: Touched,
    api: &Api,
    out: &mut Vec<u8>,
) -> Result<(), JournalError> {
    let mut runs = Vec::new();
    for run in touched.runs {
        if let Some(view) = api.views.run(run)? {
            // What a run does shows on its story too.
            touched.stories.insert(view.story.clone());
            runs.push(Box::new(run_now(view, api)));
        }
    }
    for story in &touched.stories {
        if let Some(whole) = api.views.story(story)? {
            Headline::Story(Box::new(story_now(whole.story, api))).frame(out);
        }
    }
    for run in runs {
        Headline::Run(run).frame(out);
    }
    for (run, ask) in touched.asks {
        if let Some(ask) = api.views.ask(run, &ask)? {
            Headline::Ask(Box::new(AskReply::read(ask, api).into())).frame(out);
        }
    }
    Ok(())
}
