//! `musher deny`: says no to what an agent asks.

use clap::Args;
use musher_core::Answer;

use super::open_ask::{self, Open, Seen};
use super::place::PlaceArgs;
use super::run_name::RunName;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The run: `r12`, or `STORY` or `STORY/AGENT` for the latest there.
    run: RunName,
    /// The ask; it may be left out while the run has one.
    ask: Option<String>,
    /// What the agent is told.
    #[arg(short, long, value_name = "TEXT", default_value = "The person said no.")]
    reason: String,
    /// End the turn as well.
    #[arg(long)]
    interrupt: bool,
    #[command(flatten)]
    seen: Seen,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Deny {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let open = Open::of(&client, &self.run).await?;
        let meant = open.meant(self.ask.as_deref())?;
        let reason = self.reason;
        let answer = match self.interrupt {
            true => Answer::DenyAndInterrupt { reason },
            false => Answer::Deny { reason },
        };
        let done = format!("ask {} of {} is denied", meant.ask, open.run);
        open_ask::send(&place, &client, &open.run, &meant, &self.seen, &answer, &done).await
    }
}
