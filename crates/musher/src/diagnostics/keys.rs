//! The keys of models: whether each is where it should be. No value is ever told, and no command is run.

use std::path::{Path, PathBuf};

use musher_runtime::{Environment, KeySource, ModelService};

use super::DiagnosticContext;
use super::diagnostic::Diagnostic;
use crate::config::{AgentConfig, ProjectConfig};
use crate::runtimes;

const NAME: &str = "key";

/// Where a key is to come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct KeyNeed {
    source: Option<KeySource>,
    /// The agent names a server of its own, which may want none.
    own_server: bool,
}

impl KeyNeed {
    pub(super) fn of(agent: &AgentConfig) -> Self {
        let choice = &agent.model_choice;
        Self { source: choice.key.clone(), own_server: choice.base_url.is_some() }
    }
}

/// The keys of the team; without a project, those that are found here.
pub(super) fn diagnose(
    site: &DiagnosticContext,
    project: Option<&ProjectConfig>,
) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    match project {
        Some(project) => {
            for agent in &project.agents {
                let service = runtimes::MODELS.iter().find(|(name, _)| *name == agent.runtime);
                let need = KeyNeed::of(agent);
                let diagnostic = service.map(|(name, service)| need.look(name, service, site));
                diagnostics
                    .extend(diagnostic.filter(|diagnostic| !diagnostics.contains(diagnostic)));
            }
        }
        None => {
            for (runtime, service) in runtimes::MODELS {
                let found = usual(service, &site.environment);
                diagnostics.extend(
                    found.map(|name| Diagnostic::ok(NAME, format!("{runtime}: {name} is set"))),
                );
            }
        }
    }
    diagnostics
}

/// The variable that holds the key of a service, if it is set.
pub(crate) fn usual(service: &ModelService, environment: &Environment) -> Option<&'static str> {
    service.key_variables.iter().copied().find(|name| is_set(environment, name))
}

fn is_set(environment: &Environment, name: &str) -> bool {
    environment.get(name).is_some_and(|value| !value.is_empty())
}

impl KeyNeed {
    /// Looks whether it is there.
    pub(super) fn look(
        &self,
        runtime: &str,
        service: &ModelService,
        site: &DiagnosticContext,
    ) -> Diagnostic {
        let environment = &site.environment;
        match &self.source {
            Some(KeySource::Env(name)) if is_set(environment, name) => {
                Diagnostic::ok(NAME, format!("{runtime}: {name} is set"))
            }
            Some(KeySource::Env(name)) => {
                let fix = format!("set {name} where the server is started");
                Diagnostic::bad(NAME, format!("{runtime}: {name} is not set"), fix)
            }
            Some(KeySource::File(path)) => {
                let path = at(path, site);
                match path.is_file() {
                    true => Diagnostic::ok(NAME, format!("{runtime}: {} is there", path.display())),
                    false => {
                        let fix = "write the key into it, or name another file";
                        Diagnostic::bad(
                            NAME,
                            format!("{runtime}: there is no file {}", path.display()),
                            fix,
                        )
                    }
                }
            }
            Some(KeySource::Command(_)) => {
                Diagnostic::ok(NAME, format!("{runtime}: a command gives it when a run begins"))
            }
            None => {
                let elsewhere = self.own_server || is_set(environment, service.base_variable);
                match usual(service, environment) {
                    Some(name) => Diagnostic::ok(NAME, format!("{runtime}: {name} is set")),
                    None if elsewhere => {
                        Diagnostic::ok(NAME, format!("{runtime}: none is found, and none is sent"))
                    }
                    None => missing(runtime, service),
                }
            }
        }
    }
}

fn missing(runtime: &str, service: &ModelService) -> Diagnostic {
    let names = service.key_variables.join(" or ");
    let fix =
        format!("set {names} where the server is started, or say where the key is with `key`");
    Diagnostic::bad(NAME, format!("{runtime}: no key is found"), fix)
}

fn at(path: &Path, site: &DiagnosticContext) -> PathBuf {
    match (path.strip_prefix("~"), site.environment.get("HOME"), &site.repo) {
        (Ok(rest), Some(home), _) => Path::new(home).join(rest),
        (Err(_), _, Ok(repo)) => repo.join(path),
        (Ok(_), None, _) | (Err(_), _, Err(_)) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::diagnostics::{DiagnosticTrouble, DiagnosticVerdict};

    fn verdicts(agent: &str, environment: Environment) -> Vec<(DiagnosticVerdict, String)> {
        let repo = tempfile::tempdir().unwrap();
        std::fs::create_dir(repo.path().join(".musher")).unwrap();
        let (name, service) = runtimes::MODELS[0];
        let text = format!("[[agent]]\nname = 'a'\nruntime = '{name}'\n{agent}\n");
        std::fs::write(repo.path().join(config::PROJECT_FILE), text).unwrap();
        std::fs::write(repo.path().join("there"), "secret-in-a-file").unwrap();
        let project = config::load(repo.path(), runtimes::built()).unwrap();
        let site = DiagnosticContext {
            repo: Ok(repo.path().to_owned()),
            state: Err(DiagnosticTrouble { says: String::new(), fix: String::new() }),
            git_env: musher_git::GitEnv::default(),
            environment,
        };
        assert!(!service.key_variables.is_empty());
        let told = |diagnostic: Diagnostic| {
            (diagnostic.verdict, format!("{} {:?}", diagnostic.says, diagnostic.fix))
        };
        diagnose(&site, Some(&project)).into_iter().map(told).collect()
    }

    #[test]
    fn a_key_is_found_or_missed_and_never_shown() {
        let usual = runtimes::MODELS[0].1.key_variables[0];
        let none = Environment::default();
        let set = none.clone().set(usual, "secret-in-a-variable").set("MINE", "secret-of-mine");
        for (agent, environment, verdict) in [
            ("", &set, DiagnosticVerdict::Ok),
            ("", &none, DiagnosticVerdict::Bad),
            ("base_url = 'http://localhost:1'", &none, DiagnosticVerdict::Ok),
            ("key = { env = 'MINE' }", &set, DiagnosticVerdict::Ok),
            ("key = { env = 'MINE' }", &none, DiagnosticVerdict::Bad),
            ("key = { file = 'there' }", &none, DiagnosticVerdict::Ok),
            ("key = { file = 'nowhere' }", &set, DiagnosticVerdict::Bad),
            ("key = { command = 'echo secret-by-command' }", &none, DiagnosticVerdict::Ok),
        ] {
            let told = verdicts(agent, environment.clone());
            assert_eq!(told.len(), 1, "{agent}: {told:?}");
            assert_eq!(told[0].0, verdict, "{agent}: {told:?}");
            assert!(!told[0].1.contains("secret"), "{agent}: {told:?}");
            assert_eq!(
                told[0].1.contains("Some("),
                verdict == DiagnosticVerdict::Bad,
                "{agent}: {told:?}"
            );
        }
    }
}
