//! Finds the program to start, and says clearly why it cannot be.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[cfg(feature = "frames")]
use musher_core::{ErrorClass, ErrorInfo, HintCode};
#[cfg(feature = "frames")]
use musher_sandbox::{Sandbox, SandboxBackend};

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("program `{name}` was not found on PATH; install it, or name it with its full path")]
    NotOnPath { name: String },
    #[error("program `{}` does not exist; check the path", path.display())]
    NoSuchProgram { path: PathBuf },
    #[error("program `{}` is not an executable file; `chmod +x` it, or name another", path.display())]
    NotExecutable { path: PathBuf },
    #[error("folder `{}` cannot be worked in: {cause}", path.display())]
    BadFolder { path: PathBuf, cause: String },
    #[error("program `{}` could not be started: {source}", path.display())]
    Spawn { path: PathBuf, source: std::io::Error },
}

impl ProgramError {
    /// Whether installing something would mend it, as opposed to correcting what was asked for.
    pub fn is_missing_program(&self) -> bool {
        match self {
            Self::NotOnPath { .. } | Self::NoSuchProgram { .. } => true,
            Self::NotExecutable { .. } | Self::BadFolder { .. } | Self::Spawn { .. } => false,
        }
    }
}

/// Why a program could not be started, for the person; `install` is the command that installs it.
#[cfg(feature = "frames")]
pub(crate) fn start_error(error: &ProgramError, install: &str) -> ErrorInfo {
    let class =
        if error.is_missing_program() { ErrorClass::Unavailable } else { ErrorClass::Config };
    let info = ErrorInfo::new(class, error.to_string());
    match error {
        ProgramError::NotOnPath { .. } => info.with_hint(install).hinting(HintCode::NameProgram),
        ProgramError::NoSuchProgram { .. }
        | ProgramError::NotExecutable { .. }
        | ProgramError::BadFolder { .. }
        | ProgramError::Spawn { .. } => info,
    }
}

/// The absolute path of `program`: a path as given, or a name looked up on `search_path`.
pub fn find(program: &Path, search_path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    // The program is started in the agent's folder, so a path must mean the same there as here.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if program.components().count() > 1 {
        let program = absolute(program);
        return check(&program).map(Path::to_path_buf);
    }
    let mut found_but_unusable = None;
    for folder in search_path.map(std::env::split_paths).into_iter().flatten() {
        let candidate = absolute(&folder.join(program));
        match check(&candidate) {
            Ok(_) => return Ok(candidate),
            Err(error @ ProgramError::NotExecutable { .. }) if candidate.is_file() => {
                found_but_unusable.get_or_insert(error);
            }
            Err(_) => {}
        }
    }
    Err(found_but_unusable
        .unwrap_or_else(|| ProgramError::NotOnPath { name: program.display().to_string() }))
}

/// The same for a program of a session: in a container a name means a program of the image, which nobody can look for here.
#[cfg(feature = "frames")]
pub(crate) fn find_for(
    sandbox: Option<&Sandbox>,
    program: &Path,
    search_path: Option<&OsStr>,
) -> Result<PathBuf, ProgramError> {
    match sandbox.map(|sandbox| &sandbox.backend) {
        Some(SandboxBackend::Container(_)) if program.components().count() == 1 => {
            Ok(program.to_owned())
        }
        Some(_) | None => find(program, search_path),
    }
}

fn check(path: &Path) -> Result<&Path, ProgramError> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Err(ProgramError::NoSuchProgram { path: path.to_path_buf() });
    };
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable { path: path.to_path_buf() });
    }
    Ok(path)
}

/// The folder to work in, absolute.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, ProgramError> {
    let bad = |cause: String| ProgramError::BadFolder { path: path.to_path_buf(), cause };
    let folder = path.canonicalize().map_err(|error| bad(error.to_string()))?;
    if !folder.is_dir() {
        return Err(bad("it is not a folder".into()));
    }
    rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|error| bad(format!("no right to write in it ({error})")))?;
    Ok(folder)
}
