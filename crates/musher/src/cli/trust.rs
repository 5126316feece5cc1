//! `musher trust`: agrees to what the project file may do.

mod files;

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::place::PlaceArgs;
use super::table::Tone;
use super::text::visible;
use super::{CliError, CliExit, out};
use crate::config::trust::{self, Powers, TrustError, TrustState as Known};
use crate::config::{self, ConfigErrors, ProjectConfig};
use crate::home::{AccessToken, Home, ServerFile};
use crate::runtimes;
use files::BranchFiles;
use musher_client::Client;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Only show what would be trusted.
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl TrustArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let (repo, state) = (place.repo()?, place.state()?);
        let project = config::load(&repo, runtimes::built())?;
        let known = known(&state, &project)?;
        let files = BranchFiles::look(&place, &repo, &state, &project).await?;
        if !self.show && known != Known::Trusted {
            let home = Home::open(&state, &repo)?;
            trust::grant(home.path(), &project)?;
        }
        if !self.show && files.can_be_granted() {
            let home = Home::open(&state, &repo)?;
            files.grant(home.path())?;
        }
        let served = match self.show {
            true => Served::Nobody,
            false => reload(&state).await,
        };
        match place.json() {
            true => out::document(&document(&known, &project, &files, self.show, &served))?,
            false => {
                out::line(&text(&known, &project, &files, self.show))?;
                if let Some(sentence) = served.sentence() {
                    out::prose(&sentence)?;
                }
            }
        }
        Ok(CliExit::Completed)
    }
}

/// What the server of this state directory made of it.
#[derive(Debug)]
enum Served {
    /// There is none, or nothing was to be told.
    Nobody,
    Reloaded {
        url: String,
        after_restart: Vec<String>,
    },
    Not {
        url: String,
        why: String,
    },
}

impl Served {
    fn sentence(&self) -> Option<String> {
        let again = "restart it; agents keep working";
        match self {
            Self::Nobody => None,
            Self::Reloaded { url, after_restart } if after_restart.is_empty() => {
                Some(format!("The server at {url} has read the project file again."))
            }
            Self::Reloaded { url, after_restart } => Some(format!(
                "The server at {url} has read the project file again, but for {}: {again}.",
                after_restart.join(", ")
            )),
            Self::Not { url, why } => Some(format!(
                "The server at {url} has not read the project file again ({}): {again}.",
                visible(why)
            )),
        }
    }
}

/// Lets the server read the project file again, if one runs there.
async fn reload(state: &Path) -> Served {
    #[derive(serde::Deserialize)]
    struct Reply {
        #[serde(default)]
        after_restart: Vec<String>,
    }
    let Some(home) = Home::existing(state) else { return Served::Nobody };
    let Some(ServerFile { url, .. }) = home.server() else { return Served::Nobody };
    let asked = async {
        let token =
            AccessToken::read(&home.path().join("token")).map_err(|error| error.to_string())?;
        let client = Client::new(&url, token.as_str()).map_err(|error| error.to_string())?;
        let reply = client.post(&["project", "reload"], &json!({})).await;
        reply.and_then(|reply| reply.read::<Reply>()).map_err(|error| error.to_string())
    };
    match asked.await {
        Ok(Reply { after_restart }) => Served::Reloaded { url, after_restart },
        Err(why) => Served::Not { url, why },
    }
}

/// What was agreed to before. A record that cannot be read is no agreement.
fn known(state: &Path, project: &ProjectConfig) -> Result<Known, CliError> {
    match trust::trusted(state, project) {
        Err(TrustError::Garbled { .. }) => Ok(Known::New),
        known => Ok(known?),
    }
}

fn document(
    known: &Known,
    project: &ProjectConfig,
    files: &BranchFiles,
    only_shown: bool,
    served: &Served,
) -> String {
    let (was, lines) = match known {
        Known::Trusted if files.is_new() => ("new", Vec::new()),
        Known::Trusted if !files.covered() => ("changed", Vec::new()),
        Known::Trusted => ("trusted", Vec::new()),
        Known::New => ("new", Powers::of(project).lines()),
        Known::Changed { diff } => ("changed", diff.clone()),
    };
    let asked = *known != Known::Trusted || !files.covered();
    let trusted = !asked || (!only_shown && files.can_be_trusted());
    let reloaded = matches!(served, Served::Reloaded { .. });
    json!({
        "was": was,
        "lines": lines,
        "files": files.document(),
        "obeyed": files.obeyed(),
        "trusted": trusted,
        "reloaded": reloaded,
    })
    .to_string()
}

fn text(known: &Known, project: &ProjectConfig, files: &BranchFiles, only_shown: bool) -> String {
    let mut text = match known {
        Known::Trusted if files.covered() => {
            let run = files.in_force().unwrap_or_default();
            let obeyed = files.obeyed_text().unwrap_or_default();
            return format!("Nothing has changed: the project file is trusted.{run}{obeyed}");
        }
        Known::Trusted => "The project file is trusted.".to_owned(),
        Known::New => shown("The project file may do this:", &Powers::of(project).lines()),
        Known::Changed { diff } => {
            shown("Since it was last trusted, the project file has changed:", diff)
        }
    };
    text += &files.text();
    text += &files.obeyed_text().unwrap_or_default();
    text += match only_shown {
        true => "\nIt is not trusted yet. Agree to it with `musher trust`.",
        false => "\nIt is trusted now.",
    };
    text + &files.exception().map(|why| format!("\n{why}")).unwrap_or_default()
}

/// Lines of powers, with what came and what went told apart.
fn shown(heading: &str, lines: &[String]) -> String {
    let mut text = heading.to_owned();
    for line in lines {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Heed.style(),
            Some(b'-') => Tone::Quiet.style(),
            Some(_) | None => anstyle::Style::new(),
        };
        text += &format!("\n  {tone}{}{tone:#}", visible(line));
    }
    text
}

impl From<ConfigErrors> for CliError {
    fn from(errors: ConfigErrors) -> Self {
        let hint = match errors.problems.iter().any(|problem| problem.place.is_some()) {
            true => "correct the project file",
            false => "make one with `musher init`",
        };
        Self::hinted(format!("the project file cannot be used\n{errors}"), hint)
    }
}

impl From<TrustError> for CliError {
    fn from(error: TrustError) -> Self {
        Self::hinted(error.to_string(), "see that the state directory can be read and written")
    }
}
