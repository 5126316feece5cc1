//! The programs that play agents: whether they are there, and whether their version is one that was tested.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_runtime::acp::AcpPreset;
use musher_runtime::find_program;

use super::DiagnosticContext;
use super::diagnostic::{Diagnostic, DiagnosticVerdict};
use super::keys::KeyNeed;
use super::version::version_of;
use crate::config::{AgentConfig, ProjectConfig};
use crate::runtimes::{self, ProgramCare};

/// Whether a program can play its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fitness {
    Ok,
    /// It is there, and nobody has tried this version.
    Untested,
    Missing,
}

/// A program as an agent needs it, and what was found of it. Nothing is run to find out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) runtime: String,
    /// Where it is.
    pub(crate) place: Option<PathBuf>,
    pub(crate) version: Option<String>,
    pub(crate) fitness: Fitness,
    pub(crate) says: String,
    pub(crate) fix: Option<String>,
}

/// What an agent needs: its runtime, the program as it was named, and the key of its model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Need {
    pub(crate) runtime: String,
    pub(crate) program: Option<PathBuf>,
    /// What the project says of the runtime, if it is none that Musher brings.
    own: Option<Arc<AcpPreset>>,
    key: KeyNeed,
}

impl Need {
    pub(crate) fn of(agent: &AgentConfig, repo: &Path) -> Self {
        // Without the `.` that people write, so that two ways to name a file are one.
        let named = agent.program(repo).map(|program| program.components().collect());
        let own = agent.preset.clone();
        let program = named.or_else(|| runtimes::program(&agent.runtime, own.as_ref()));
        Self { runtime: agent.runtime.clone(), program, own, key: KeyNeed::of(agent) }
    }

    /// What a runtime needs that the project brings.
    pub(crate) fn of_own(preset: &Arc<AcpPreset>) -> Self {
        Self {
            runtime: preset.name.clone(),
            program: Some(preset.program.as_str().into()),
            own: Some(preset.clone()),
            key: KeyNeed::default(),
        }
    }

    /// What each runtime needs when its agents name nothing else.
    pub(crate) fn usual_ones() -> impl Iterator<Item = Self> {
        let need = |runtime: &str| Self {
            runtime: runtime.into(),
            program: runtimes::program(runtime, None),
            own: None,
            key: KeyNeed::default(),
        };
        runtimes::built().iter().map(move |known| need(known.name))
    }

    /// Whether it speaks to a model, so that it needs a key and no program.
    pub(crate) fn is_of_a_model(&self) -> bool {
        runtimes::MODELS.iter().any(|(name, _)| *name == self.runtime)
    }

    /// Whether nobody misses it: one of many agents that a machine may have.
    pub(crate) fn is_extra(&self) -> bool {
        self.own.is_none() && runtimes::preset(&self.runtime).is_some() && self.is_usual()
    }

    fn is_usual(&self) -> bool {
        self.program == runtimes::program(&self.runtime, None)
    }

    /// What a person must do for the program.
    pub(crate) fn care(&self) -> Option<ProgramCare> {
        match &self.own {
            Some(preset) => Some(ProgramCare::of(preset)),
            None => runtimes::care(&self.runtime),
        }
    }

    /// The version of the program that was tested; of one that the project brings, none was.
    pub(crate) fn tested(&self) -> Option<String> {
        match &self.own {
            Some(_) => None,
            None => runtimes::tested(&self.runtime),
        }
    }

    /// Looks for the program. This reads files, so it blocks for a moment.
    pub(crate) fn look(&self, site: &DiagnosticContext) -> Program {
        let runtime = &self.runtime;
        let Some(program) = &self.program else {
            return self.without_program(site);
        };
        // Whatever is no program of its own is read by the runner.
        if runtimes::program(runtime, self.own.as_ref()).is_none() {
            let shown = program.display();
            return match program.is_file() {
                true => {
                    let says = format!("{runtime} reads {shown}");
                    self.found(Some(program.clone()), Fitness::Ok, says, None)
                }
                false => {
                    let fix = format!("write {shown}, or give its agents another command");
                    let says = format!("{runtime}: there is no file {shown}");
                    self.found(None, Fitness::Missing, says, Some(fix))
                }
            };
        }
        match find_program(program, site.environment.get("PATH")) {
            Ok(place) => {
                let version = version_of(&place);
                let (fitness, says, fix) =
                    judge(runtime, &place, version.as_deref(), self.tested().as_deref());
                Program { version, ..self.found(Some(place), fitness, says, fix) }
            }
            Err(error) => {
                let install = self.care().and_then(|care| care.install);
                let install = install.map_or_else(
                    || format!("install what plays {runtime}"),
                    |install| format!("install it with `{install}`"),
                );
                let fix = format!("{install}, or give its agents another command");
                self.found(None, Fitness::Missing, format!("{runtime}: {error}"), Some(fix))
            }
        }
    }

    /// A runtime without a program either speaks to a model, for which it needs a key, or needs nothing.
    fn without_program(&self, site: &DiagnosticContext) -> Program {
        let runtime = &self.runtime;
        let Some((_, service)) = runtimes::MODELS.iter().find(|(name, _)| name == runtime) else {
            return self.found(None, Fitness::Ok, format!("{runtime} needs no program"), None);
        };
        let Diagnostic { verdict, says, fix, .. } = self.key.look(runtime, service, site);
        let fitness = match verdict {
            DiagnosticVerdict::Ok => Fitness::Ok,
            DiagnosticVerdict::Warn | DiagnosticVerdict::Bad => Fitness::Missing,
        };
        self.found(None, fitness, says, fix)
    }

    fn found(
        &self,
        place: Option<PathBuf>,
        fitness: Fitness,
        says: String,
        fix: Option<String>,
    ) -> Program {
        Program { runtime: self.runtime.clone(), place, version: None, fitness, says, fix }
    }
}

impl Program {
    /// The same as a diagnostic among others.
    pub(crate) fn diagnose(&self) -> Diagnostic {
        let name = "program";
        let fix = self.fix.clone().unwrap_or_default();
        match self.fitness {
            Fitness::Ok => Diagnostic::ok(name, &self.says),
            Fitness::Untested => Diagnostic::warn(name, &self.says, fix),
            Fitness::Missing => Diagnostic::bad(name, &self.says, fix),
        }
    }
}

/// The programs of the team; without a project file, those of all runtimes.
pub(super) fn wanted(site: &DiagnosticContext, project: Option<&ProjectConfig>) -> Vec<Program> {
    let mut needs: Vec<Need> = Vec::new();
    match (project, &site.repo) {
        (Some(project), Ok(repo)) => {
            // Nobody can look for a program of an image here.
            let here = |agent: &&AgentConfig| {
                let program = agent.program(repo);
                let program =
                    program.or_else(|| runtimes::program(&agent.runtime, agent.preset.as_ref()));
                !program.is_some_and(|program| agent.sandbox.is_of_image(&program))
            };
            for need in project.agents.iter().filter(here).map(|agent| Need::of(agent, repo)) {
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        (None, _) | (_, Err(_)) => needs.extend(Need::usual_ones()),
    }
    let all_missed = project.is_some();
    let programs = needs.iter().filter(|need| need.program.is_some());
    let looked = programs.map(|need| (all_missed || !need.is_extra(), need.look(site)));
    looked
        .filter(|(missed, it)| *missed || it.fitness != Fitness::Missing)
        .map(|(_, it)| it)
        .collect()
}

fn judge(
    runtime: &str,
    program: &Path,
    version: Option<&str>,
    tested: Option<&str>,
) -> (Fitness, String, Option<String>) {
    let place = program.display();
    let fix = |tested| Some(format!("if runs misbehave, install version {tested}"));
    match (version, tested) {
        (Some(version), Some(tested)) if version == tested => {
            let says = format!("{runtime} {version} at {place}, the version that was tested");
            (Fitness::Ok, says, None)
        }
        (Some(version), Some(tested)) => {
            let says = format!("{runtime} {version} at {place} was not tested; {tested} was");
            (Fitness::Untested, says, fix(tested))
        }
        (None, Some(tested)) => {
            let says = format!("{runtime} at {place}, version unknown; {tested} was tested");
            (Fitness::Untested, says, fix(tested))
        }
        (version, None) => {
            let version = version.unwrap_or("version unknown");
            (Fitness::Ok, format!("{runtime} ({version}) at {place}"), None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_with_the_one_that_was_tested() {
        let fitness = |version, tested| judge("r", Path::new("/p"), version, tested).0;
        assert_eq!(fitness(Some("1.2.3"), Some("1.2.3")), Fitness::Ok);
        assert_eq!(fitness(Some("1.2.4"), Some("1.2.3")), Fitness::Untested);
        assert_eq!(fitness(None, Some("1.2.3")), Fitness::Untested);
        assert_eq!(fitness(None, None), Fitness::Ok);
        let says = judge("r", Path::new("/p"), None, Some("1.2.3")).1;
        assert!(says.contains("version unknown"), "{says}");
    }

    #[test]
    fn every_runtime_that_was_run_with_its_program_has_a_tested_version() {
        for (runtime, _) in runtimes::programs() {
            let known = runtimes::preset(runtime).is_none_or(|preset| preset.is_tested());
            assert_eq!(runtimes::tested(runtime).is_some(), known, "{runtime}");
        }
    }
}
