//! What of the machine a program needs to run: its own files, and the toolchains of its user.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::mount::Mount;
use crate::system::is_shown;

/// Folders of toolchains below the home of a user: the variable that names one, and where it is otherwise.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("RUSTUP_HOME", ".rustup"),
    ("NVM_DIR", ".nvm"),
    ("PYENV_ROOT", ".pyenv"),
    ("VOLTA_HOME", ".volta"),
    ("BUN_INSTALL", ".bun"),
    ("SDKMAN_DIR", ".sdkman"),
    ("JAVA_HOME", ""),
    ("GOROOT", ""),
    ("VIRTUAL_ENV", ""),
];

/// What is shown so that a program can run: the folder that it was found in, and all that belongs to it where a link leads.
pub fn program_mounts(program: &Path, home: &Path) -> Vec<Mount> {
    let mut shown = BTreeSet::new();
    shown.extend(program.is_absolute().then(|| program.to_owned()));
    if let Ok(real) = program.canonicalize() {
        shown.insert(package_of(&real, home));
    }
    let outside = shown.into_iter().filter(|path| !is_shown(path));
    outside.map(|path| Mount::read(path).if_there()).collect()
}

/// The packages that a program is one of, or the program alone where that cannot be told: what else lies beside it is not its own.
fn package_of(real: &Path, home: &Path) -> PathBuf {
    let is_packages = |folder: &&Path| folder.file_name().is_some_and(|it| it == "node_modules");
    let outermost = real.ancestors().skip(1).filter(is_packages).last();
    match outermost {
        Some(folder) if !home.starts_with(folder) => folder.to_owned(),
        Some(_) | None => real.to_owned(),
    }
}

/// What is shown of a user's home so that the tools on `PATH` run: the folders of `PATH` in it, and known toolchains.
pub fn toolchain_mounts<'a>(
    home: &Path,
    variable: impl Fn(&'static str) -> Option<&'a OsStr>,
) -> Vec<Mount> {
    let mut shown = BTreeSet::new();
    let path = variable("PATH").unwrap_or_default();
    for folder in std::env::split_paths(path) {
        if folder.is_absolute() && !home.starts_with(&folder) {
            shown.insert(folder);
        }
    }
    for (name, usual) in TOOLCHAINS {
        let named = variable(name).map(PathBuf::from);
        let usual = (!usual.is_empty()).then(|| home.join(usual));
        shown.extend(named.or(usual).filter(|path| path.is_absolute() && !home.starts_with(path)));
    }
    let outside = shown.into_iter().filter(|path| !is_shown(path) && path.is_dir());
    outside.map(Mount::read).collect()
}

/// Variables that lead to the toolchains of a user for a program that has another home, where they are not set.
pub fn toolchain_variables<'a>(
    home: &Path,
    variable: impl Fn(&'static str) -> Option<&'a OsStr>,
) -> Vec<(&'static str, PathBuf)> {
    let usual = TOOLCHAINS.iter().filter(|(_, usual)| !usual.is_empty());
    usual
        .filter(|(name, _)| variable(name).is_none())
        .map(|(name, usual)| (*name, home.join(usual)))
        .filter(|(_, path)| path.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_npm_is_shown_with_the_packages_beside_it() {
        let home = Path::new("/home/ann");
        let real = Path::new("/home/ann/.nvm/lib/node_modules/agent/node_modules/x/cli.js");
        assert_eq!(package_of(real, home), Path::new("/home/ann/.nvm/lib/node_modules"));
    }

    #[test]
    fn a_program_of_no_package_shows_nothing_of_what_lies_beside_it() {
        let home = Path::new("/home/ann");
        for program in ["/home/ann/agent", "/home/agent", "/home/ann/Downloads/agent", "/tmp/agent"]
        {
            assert_eq!(package_of(Path::new(program), home), Path::new(program));
        }
    }

    #[test]
    fn folders_of_path_that_hold_the_home_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::create_dir_all(home.join(".rustup")).unwrap();
        let path = std::env::join_paths([folder.path(), &home, &home.join("bin")]).unwrap();
        let variable = |name: &str| (name == "PATH").then_some(path.as_os_str());
        let shown: Vec<PathBuf> =
            toolchain_mounts(&home, variable).into_iter().map(|mount| mount.source).collect();
        assert_eq!(shown, [home.join(".rustup"), home.join("bin")]);
    }
}
