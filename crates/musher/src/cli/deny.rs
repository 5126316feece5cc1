//! `musher deny`: says no to what agents ask.

use clap::Args;
use musher_core::Answer;

use super::open_ask::{AnswerToSend, OpenAsks, Which, send};
use super::place::PlaceArgs;
use super::{CliError, CliExit};

#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    which: Which,
    /// The reason, sent to the agent.
    #[arg(short, long, value_name = "TEXT", default_value = "The person said no.")]
    reason: String,
    /// End the turn as well.
    #[arg(long)]
    interrupt: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Deny {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let chosen = OpenAsks::read(&client).await?.chosen(&client, &self.which).await?;
        let reason = self.reason;
        let answer = match self.interrupt {
            true => Answer::DenyAndInterrupt { reason },
            false => Answer::Deny { reason },
        };
        let given = chosen.into_iter().map(|chosen| {
            let done = format!("ask {} of {} is denied", chosen.ask.ask, chosen.ask.run);
            AnswerToSend { chosen, answer: answer.clone(), done }
        });
        send(&place, &client, &self.which.seen, "Deny", given.collect()).await
    }
}
