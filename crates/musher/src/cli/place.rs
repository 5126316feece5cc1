//! Where a command works: the repository, its state directory, and the server that runs there.

use std::path::PathBuf;

use clap::Args;
use musher_runtime::Environment;

use super::{CliError, runners};
use crate::home::{self, AccessToken, Home, HomeError};
use musher_client::{Client, ClientError};

/// What every command can be told.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// Print JSON and nothing else.
    #[arg(long)]
    json: bool,
    /// A folder in the repository.
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR", help_heading = "Where")]
    repo: PathBuf,
    /// Use another state directory.
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    state: Option<PathBuf>,
    /// The server's address (or MUSHER_URL); MUSHER_TOKEN holds its token.
    #[arg(long, value_name = "URL", help_heading = "Where")]
    url: Option<String>,
}

impl PlaceArgs {
    /// Reads the environment, once.
    pub(crate) fn place(self) -> WorkLocation {
        WorkLocation { args: self, environment: Environment::of_this_process() }
    }
}

/// Where a command works.
#[derive(Debug, Clone)]
pub(crate) struct WorkLocation {
    args: PlaceArgs,
    pub(crate) environment: Environment,
}

impl WorkLocation {
    /// Whether programs read what is printed.
    pub(crate) fn json(&self) -> bool {
        self.args.json
    }

    /// The top of the repository.
    pub(crate) fn repo(&self) -> Result<PathBuf, CliError> {
        Ok(home::repository_around(&self.args.repo)?)
    }

    /// The state directory, whether or not it is there.
    pub(crate) fn state(&self) -> Result<PathBuf, CliError> {
        if let Some(state) = &self.args.state {
            return Ok(std::path::absolute(state).unwrap_or_else(|_| state.clone()));
        }
        let variable = |name| self.environment.get(name);
        Ok(home::default_for(&self.repo()?, variable("XDG_STATE_HOME"), variable("HOME"))?)
    }

    /// The state directory, if it is there.
    pub(crate) fn home(&self) -> Result<Option<Home>, CliError> {
        Ok(Home::existing(&self.state()?))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let value = self.environment.get(name).filter(|value| !value.is_empty())?;
        Some(value.to_string_lossy().into_owned())
    }

    /// The address of the server that the person named.
    fn named(&self) -> Option<String> {
        self.args.url.clone().or_else(|| self.variable("MUSHER_URL"))
    }

    /// The server's address and token as they were given, or as the state directory tells.
    fn server(&self) -> Result<Option<(String, String)>, CliError> {
        let token = self.variable("MUSHER_TOKEN");
        if let Some(url) = self.named() {
            // The token of this machine must not be sent to just any address.
            let missing = || {
                CliError::hinted(
                    format!("there is no token for the server at {url}"),
                    "set MUSHER_TOKEN to what is in the file `token` of its state directory",
                )
            };
            return Ok(Some((url.clone(), token.ok_or_else(missing)?)));
        }
        let Some(home) = self.home()? else { return Ok(None) };
        let Some(server) = home.server() else { return Ok(None) };
        let token = match token {
            Some(token) => token,
            None => {
                let path = home.path().join("token");
                let read =
                    AccessToken::read(&path).map_err(|source| HomeError::Unusable { path, source });
                read?.as_str().to_owned()
            }
        };
        Ok(Some((server.url, token)))
    }

    /// A client of the server, if one runs or was named.
    pub(crate) fn client_if_any(&self) -> Result<Option<Client>, CliError> {
        let server = self.server()?;
        let client = server.map(|(url, token)| Client::new(&url, &token));
        Ok(client.transpose()?)
    }

    /// A client of the server, if one answers. A server that was named has to.
    pub(crate) async fn client_that_answers(&self) -> Result<Option<Client>, CliError> {
        let Some(client) = self.client_if_any()? else { return Ok(None) };
        if self.named().is_some() {
            return Ok(Some(client));
        }
        match client.get(&["project"], &[]).await {
            // It has just died, or hangs; the runs can be reached without it.
            Err(ClientError::Unreachable { .. }) => Ok(None),
            Ok(_) | Err(_) => Ok(Some(client)),
        }
    }

    /// A client of the server.
    pub(crate) fn client(&self) -> Result<Client, CliError> {
        self.client_if_any()?.ok_or_else(|| self.no_server())
    }

    /// A client of the server that runs by now; for those who look again and again.
    pub(crate) fn find(&self) -> Result<Client, ClientError> {
        match self.client() {
            Ok(client) => Ok(client),
            Err(error) => Err(ClientError::Away(error.to_string())),
        }
    }

    pub(crate) fn no_server(&self) -> CliError {
        let alive = match self.home() {
            Ok(Some(home)) => runners::alive(&home).len(),
            Ok(None) | Err(_) => 0,
        };
        let message = "no server runs for this project";
        match alive {
            0 => CliError::missing(message, "start one with `musher serve`"),
            1 => CliError::missing(
                format!("{message}; 1 runner is alive without it"),
                "start one with `musher serve`; `musher ps` shows the runner",
            ),
            alive => CliError::missing(
                format!("{message}; {alive} runners are alive without it"),
                "start one with `musher serve`; `musher ps` shows the runners",
            ),
        }
    }
}

impl From<HomeError> for CliError {
    fn from(error: HomeError) -> Self {
        Self::hinted(error.to_string(), error.hint())
    }
}
