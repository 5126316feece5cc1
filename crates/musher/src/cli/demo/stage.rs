//! The stage of the demonstration: a repository in a folder of its own, and the server of it with its door.

use std::path::{Path, PathBuf};

use musher_runtime::Environment;
use musher_web::WebFiles;
use tempfile::TempDir;

use super::super::CliError;
use super::super::http_listener::{self, BoundPort};
use crate::home::Home;
use crate::journal::Claim;
use crate::supervisor::{self, Supervisor, git_env};
use crate::{config, runtimes};
use musher_git::Git;

const FILES: &[(&str, &str)] = &[
    ("README.md", "# Tools\n\nThree small tools.\n"),
    (".musher/project.toml", include_str!("project.toml")),
    (".musher/greeter.toml", include_str!("greeter.toml")),
    (".musher/counter.toml", include_str!("counter.toml")),
    (".musher/writer.toml", include_str!("writer.toml")),
];

/// What the demonstration plays on. Everything goes with it.
pub(super) struct DemoServer {
    folder: TempDir,
    pub(super) supervisor: Supervisor,
}

impl DemoServer {
    /// The stage, and the door through which a browser looks at it.
    pub(super) async fn set(site: WebFiles) -> Result<(Self, BoundPort), CliError> {
        let folder = tempfile::Builder::new().prefix("musher-demo-").tempdir();
        let folder = folder.map_err(|error| unmade(&error))?;
        let repo = folder.path().join("tools");
        for (name, text) in FILES {
            write(&repo.join(name), text).map_err(|error| unmade(&error))?;
        }
        let repo = repo.canonicalize().map_err(|error| unmade(&error))?;
        let environment = Environment::of_this_process();
        // The scripts' sessions belong to the demonstration too.
        let runner_vars = vec![("XDG_STATE_HOME".into(), folder.path().join("xdg").into())];
        Git::init(&repo, &git_env(&environment), "Begin")
            .await
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        let project = config::load(&repo, runtimes::built())
            .map_err(|errors| CliError::Unavailable(errors.to_string()))?;
        let home = Home::open(&folder.path().join("state"), &repo)
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        let program = std::env::current_exe().map_err(|error| unmade(&error))?;
        let listener = http_listener::listen(project.server.listen).await?;
        let (origins, announced) = (project.server.origins.clone(), home.clone());
        let config = supervisor::Config {
            repo,
            home,
            project,
            program,
            environment,
            runner_vars,
            claim: Claim::Same,
        };
        let supervisor = Supervisor::start(config)
            .await
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        let door = BoundPort::open(listener, &supervisor, &announced, &origins, site)?;
        Ok((Self { folder, supervisor }, door))
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.folder.path().join("tools")
    }

    /// Takes everything away.
    pub(super) async fn strike(self) {
        self.supervisor.end().await;
        // What cannot be removed is in the folder for temporary files, where it does no harm.
        let _left = self.folder.close();
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

fn unmade(error: &std::io::Error) -> CliError {
    CliError::Unavailable(format!("the demonstration has no place to play in: {error}"))
}
