//! The token that every request needs.

use std::io::{self, Write};
use std::path::Path;

use musher_os::untrusted::{self, Unfit};
use subtle::ConstantTimeEq;

/// No file of a token is longer.
const MAX_TOKEN_FILE_BYTES: u64 = 1024;

/// 256 random bits as text. It is never shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// A new one.
    pub fn mint() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// One that somebody was given.
    pub fn given(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The one in the file; when there is none, a new one is put there for its owner alone.
    pub(super) fn keep(path: &Path) -> io::Result<Self> {
        match Self::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let token = Self::mint()?;
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = tempfile::Builder::new().prefix(".token-").tempfile_in(folder)?;
        file.write_all(token.0.as_bytes())?;
        file.as_file().sync_all()?;
        // Whoever comes second takes the token that is there.
        match file.persist_noclobber(path) {
            Ok(_) => Ok(token),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Self::read(path),
            Err(error) => Err(error.error),
        }
    }

    /// The token in a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = untrusted::read(path, MAX_TOKEN_FILE_BYTES).map_err(Unfit::into_io)?;
        let text = String::from_utf8_lossy(&bytes);
        match text.trim() {
            "" => Err(io::Error::new(io::ErrorKind::InvalidData, "the token file is empty")),
            token => Ok(Self(token.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether somebody knows it, in a time that tells nothing.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}
