//! `musher open`: opens the web UI of this project in the browser, signed in.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::place::{PlaceArgs, WorkLocation};
use super::{CliError, CliExit, out, tell};

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Print the link instead of opening it; it signs one browser in, once.
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Link {
    code: String,
}

impl OpenArgs {
    pub(crate) async fn run(self) -> Result<CliExit, CliError> {
        let place = self.place.place();
        let client = place.client()?;
        let Link { code } = client.post(&["link"], &json!({})).await?.read()?;
        let link = format!("{}/#{code}", client.url().trim_end_matches('/'));
        if place.json() {
            out::document(&json!({ "url": link }).to_string())?;
            return Ok(CliExit::Completed);
        }
        if self.print {
            out::line(&link)?;
            return Ok(CliExit::Completed);
        }
        match browse(&place, &link) {
            Ok(browser) => tell(&format!("Opened {} with {browser}.", client.url())),
            Err(why) => {
                tell(&format!(
                    "No browser could be started ({why}). Open this link; it works once:"
                ));
                out::line(&link)?;
            }
        }
        Ok(CliExit::Completed)
    }
}

/// Starts the person's browser, and does not wait for it.
fn browse(place: &WorkLocation, link: &str) -> Result<String, String> {
    let named = place.environment.get("BROWSER").filter(|name| !name.is_empty());
    let names = match named {
        Some(name) => vec![name.to_owned()],
        None => ["xdg-open", "open", "wslview"].map(OsString::from).to_vec(),
    };
    let mut why = String::new();
    for name in names {
        #[expect(
            clippy::disallowed_methods,
            reason = "it is the person's own program and no agent's"
        )]
        let mut browser = Command::new(&name);
        let browser = browser.arg(link).stdin(Stdio::null()).stdout(Stdio::null());
        match browser.stderr(Stdio::null()).spawn() {
            Ok(_) => return Ok(name.to_string_lossy().into_owned()),
            Err(error) => why = format!("{}: {error}", name.to_string_lossy()),
        }
    }
    Err(why)
}
