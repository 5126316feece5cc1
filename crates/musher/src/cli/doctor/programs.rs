//! The programs that play agents: whether they are there, and whether their version is one that was tested.

use std::path::Path;

use musher_runtime::find_program;

use super::super::place::Place;
use super::super::program_version::version_of;
use super::check::Check;
use crate::config::Project;
use crate::runtimes;

/// Looks at the programs of the team; without a project file, at those of all runtimes.
pub(super) fn checks(place: &Place, project: Option<&Project>) -> Vec<Check> {
    let mut wanted: Vec<(&str, String)> = Vec::new();
    for (runtime, program) in runtimes::PROGRAMS {
        match project {
            None => wanted.push((runtime, (*program).to_owned())),
            Some(project) => {
                for agent in project.agents.iter().filter(|agent| agent.runtime == *runtime) {
                    let program = agent.command.clone().unwrap_or_else(|| (*program).to_owned());
                    if !wanted.contains(&(*runtime, program.clone())) {
                        wanted.push((runtime, program));
                    }
                }
            }
        }
    }
    wanted.iter().map(|(runtime, program)| check(place, runtime, program)).collect()
}

fn check(place: &Place, runtime: &str, program: &str) -> Check {
    let name = "program";
    let found = match find_program(Path::new(program), place.environment.get("PATH")) {
        Ok(found) => found,
        Err(error) => {
            let fix = format!("install what plays {runtime}, or give its agents another command");
            return Check::bad(name, format!("{runtime}: {error}"), fix);
        }
    };
    judge(runtime, &found, version_of(&found).as_deref(), runtimes::tested(runtime))
}

fn judge(runtime: &str, program: &Path, version: Option<&str>, tested: Option<&str>) -> Check {
    let (name, place) = ("program", program.display());
    match (version, tested) {
        (Some(version), Some(tested)) if version == tested => {
            Check::ok(name, format!("{runtime} {version} at {place}, the version that was tested"))
        }
        (Some(version), Some(tested)) => Check::warn(
            name,
            format!("{runtime} {version} at {place} was not tested; {tested} was"),
            format!("if runs misbehave, install version {tested}"),
        ),
        (None, Some(tested)) => Check::warn(
            name,
            format!("{runtime} at {place}, version unknown; {tested} was tested"),
            format!("if runs misbehave, install version {tested}"),
        ),
        (version, None) => {
            let version = version.unwrap_or("version unknown");
            Check::ok(name, format!("{runtime} ({version}) at {place}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn a_version_is_compared_with_the_one_that_was_tested() {
        let verdict = |version, tested| judge("r", Path::new("/p"), version, tested).verdict;
        assert_eq!(verdict(Some("1.2.3"), Some("1.2.3")), Verdict::Ok);
        assert_eq!(verdict(Some("1.2.4"), Some("1.2.3")), Verdict::Warn);
        assert_eq!(verdict(None, Some("1.2.3")), Verdict::Warn);
        assert_eq!(verdict(None, None), Verdict::Ok);
        let says = judge("r", Path::new("/p"), None, Some("1.2.3")).says;
        assert!(says.contains("version unknown"), "{says}");
    }

    #[test]
    fn every_runtime_that_needs_a_program_has_a_tested_version() {
        for (runtime, _) in runtimes::PROGRAMS {
            assert!(runtimes::tested(runtime).is_some(), "{runtime}");
        }
    }
}
