//! `musher demo`: a scripted agent does a short, real piece of work in a fresh repository.

use clap::Args;
use musher_core::ToolRules;
use musher_runtime::script::Script;
use musher_runtime::{AskPolicy, Containment, Environment, Host, SessionSpec, Sweep};

use super::render::{People, View};
use super::run::host;
use super::{CliError, Exit, terminal};

const WORK: &str = include_str!("demo/work.toml");

/// A demonstration that needs no key and no network.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Answer every ask with yes.
    #[arg(short, long)]
    yes: bool,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<Exit, CliError> {
        let folder =
            tempfile::Builder::new().prefix("musher-demo-").tempdir().map_err(|error| {
                CliError::Unavailable(format!("no temporary folder could be made: {error}"))
            })?;
        let environment = Environment::of_this_process()
            .set("GIT_AUTHOR_NAME", "Demo Agent")
            .set("GIT_AUTHOR_EMAIL", "agent@demo.invalid")
            .set("GIT_COMMITTER_NAME", "Demo Agent")
            .set("GIT_COMMITTER_EMAIL", "agent@demo.invalid");
        let prompt = "Make greet.sh greet people by name, with a test.";
        let mut spec = SessionSpec::new(prompt, folder.path(), environment);
        spec.containment = Containment { host: Host::Dedicated, sweep: Sweep::Tree };
        let mut view = People::default();
        view.say(&format!(
            "A scripted agent works in {}, which is removed at the end: {prompt}",
            folder.path().display()
        ));
        if self.yes || !terminal::can_ask() {
            view.say("Its asks are answered with yes, by rule.");
            let everything = "*".parse().map_err(|error| CliError::user(format!("{error}")))?;
            spec.rules = ToolRules { allow: vec![everything], ..ToolRules::default() };
            spec.asks = AskPolicy::Deny;
        }
        let exit = host(&Script::default().playing(WORK), spec, Box::new(view)).await;
        Ok(exit)
    }
}
