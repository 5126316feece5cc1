//! What somebody should look at before a change is merged: files that agents' programs run or obey, and files that other programs run
//! later, with the rights of the user who starts those.

use musher_client::api::{ApiFileDiff, word};
use musher_runtime::{ProjectFile, effect_of};

/// Names of files that tools run, or that name what they run, in whichever folder they are.
const RUN_LATER: &[&str] = &[
    ".envrc",
    ".gitattributes",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".npmrc",
    ".pre-commit-config.yaml",
    ".yarnrc.yml",
    "Dockerfile",
    "GNUmakefile",
    "Jenkinsfile",
    "Makefile",
    "Rakefile",
    "Taskfile.yml",
    "azure-pipelines.yml",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "conftest.py",
    "justfile",
    "lefthook.yml",
    "makefile",
    "noxfile.py",
    "package.json",
    "setup.py",
    "tox.ini",
];

/// Folders all of whose files are such, in whichever folder they are.
const RUN_LATER_FOLDERS: &[&str] = &[
    ".buildkite",
    ".circleci",
    ".devcontainer",
    ".githooks",
    ".github/actions",
    ".github/workflows",
    ".husky",
    ".idea/runConfigurations",
    ".musher",
    ".vscode",
];

const EXECUTABLE: &str = "100755";
const LINK: &str = "120000";
const REPOSITORY: &str = "160000";

/// What agents' programs do with the file at this path, or other programs later.
pub(in crate::api) fn effect(files: &[ProjectFile], path: &str) -> Option<String> {
    let of_agents = effect_of(files, path).as_ref().map(word);
    of_agents.or_else(|| is_run_later(path).then(|| "runs_later".to_owned()))
}

/// The same for a changed file, of which its kind may say something too.
pub(super) fn effect_of_change(files: &[ProjectFile], file: &ApiFileDiff) -> Option<String> {
    if file.status == "deleted" {
        // What is gone is run by nobody, but its absence may change what is.
        return effect(files, &file.path);
    }
    let became = |mode: &str| file.new_mode == mode && file.old_mode != mode;
    let by_mode = || {
        let word = match file.new_mode.as_str() {
            LINK => "link",
            REPOSITORY => "repository",
            _ if became(EXECUTABLE) => "executable",
            _ => return None,
        };
        Some(word.to_owned())
    };
    let old = file.old_path.as_deref();
    effect(files, &file.path).or_else(|| effect(files, old?)).or_else(by_mode)
}

fn is_run_later(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_folder = |folder: &&str| {
        path.match_indices(*folder).any(|(at, found)| {
            let begins = at == 0 || path[..at].ends_with('/');
            begins && path[at + found.len()..].starts_with('/')
        })
    };
    RUN_LATER.contains(&name) || RUN_LATER_FOLDERS.iter().any(in_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, old_mode: &str, new_mode: &str) -> Option<String> {
        let (path, status) = (path.to_owned(), "modified".to_owned());
        let (old_mode, new_mode) = (old_mode.to_owned(), new_mode.to_owned());
        let file = ApiFileDiff { path, status, old_mode, new_mode, ..ApiFileDiff::default() };
        effect_of_change(&[], &file)
    }

    #[test]
    fn files_that_other_programs_run_later_are_known_in_every_folder() {
        for path in [
            "package.json",
            "web/package.json",
            ".github/workflows/ci.yml",
            "sub/.husky/pre-commit",
            "a.vscode/.vscode/tasks.json",
            ".vscode/tasks.json",
            "crates/x/build.rs",
            ".musher/project.toml",
        ] {
            assert_eq!(told(path, "100644", "100644").as_deref(), Some("runs_later"), "{path}");
        }
        for path in
            ["src/main.rs", "package.json.md", "docs/Makefiles", ".github/CODEOWNERS", "a.vscode/x"]
        {
            assert_eq!(told(path, "100644", "100644"), None, "{path}");
        }
    }

    #[test]
    fn new_executables_links_and_repositories_are_told() {
        assert_eq!(told("x", "100644", "100755").as_deref(), Some("executable"));
        assert_eq!(told("x", "100755", "100755"), None, "it was one before");
        assert_eq!(told("x", "000000", "120000").as_deref(), Some("link"));
        assert_eq!(told("x", "000000", "160000").as_deref(), Some("repository"));
    }
}
