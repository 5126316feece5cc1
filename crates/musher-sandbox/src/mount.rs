//! One place of the machine that is there inside.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file or folder of the machine, and where it is inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: MountAccess,
    /// One that is not there is left out instead of being an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// What may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountAccess {
    Read,
    Write,
}

impl Mount {
    /// A place that is at the same path inside and can be read.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { source: path.clone(), target: path, access: MountAccess::Read, optional: false }
    }

    /// A place that is at the same path inside and can be written.
    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self { access: MountAccess::Write, ..Self::read(path) }
    }

    /// The same place, at another path inside.
    #[must_use]
    pub fn at(self, target: impl Into<PathBuf>) -> Self {
        Self { target: target.into(), ..self }
    }

    /// The same, left out where it is not there.
    #[must_use]
    pub fn if_there(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Whether a path is shown by this mount.
    pub fn shows(&self, path: &Path) -> bool {
        path.starts_with(&self.target)
    }
}
