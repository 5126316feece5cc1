//! What git sees of the environment: given by the caller and passed by allow-list.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::GitError;

/// The variables that pass: where programs and the user's configuration are, and who the user is.
const PASSES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
];

/// The variables that pass only to calls that talk to a remote: how the user's own `ssh`, helpers for credentials and
/// proxies are reached.
const PASSES_ONLINE: &[&str] = &[
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The environment of every git process.
#[derive(Debug, Clone, Default)]
pub struct GitEnv {
    always: BTreeMap<OsString, OsString>,
    online: BTreeMap<OsString, OsString>,
}

impl GitEnv {
    /// Takes of the given variables those that git may see.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut env = Self::default();
        for (name, value) in vars {
            let is_in = |list: &[&str]| list.iter().any(|pass| name == *pass);
            if is_in(PASSES) {
                env.always.insert(name, value);
            } else if is_in(PASSES_ONLINE) {
                env.online.insert(name, value);
            }
        }
        env.with_safe_path()
    }

    /// Adds a variable that the caller answers for, such as a proxy that a filter needs.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.always.insert(name.into(), value.into());
        self.with_safe_path()
    }

    /// Relative entries of PATH would make git start programs out of an agent's folder.
    fn with_safe_path(mut self) -> Self {
        if let Some(path) = self.always.get_mut(OsStr::new("PATH")) {
            let absolute = std::env::split_paths(&path).filter(|entry| entry.is_absolute());
            if let Ok(safe) = std::env::join_paths(absolute) {
                *path = safe;
            }
        }
        self
    }

    pub(super) fn vars(&self) -> &BTreeMap<OsString, OsString> {
        &self.always
    }

    /// What calls that talk to a remote see besides.
    pub(super) fn online(&self) -> &BTreeMap<OsString, OsString> {
        &self.online
    }

    /// Where git is.
    pub(super) fn program(&self) -> Result<PathBuf, GitError> {
        let path = self.always.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let executable = |file: &Path| {
            file.metadata()
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        std::env::split_paths(&path)
            .map(|folder| folder.join("git"))
            .find(|file| executable(file))
            .ok_or_else(|| GitError::Missing { path: path.to_string_lossy().into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_and_absolute_folders_pass() {
        let given = [
            ("PATH", "/a:.:/b::bin"),
            ("HOME", "/home/x"),
            ("GIT_DIR", "/evil"),
            ("GIT_SSH_COMMAND", "evil"),
            ("SECRET_KEY", "x"),
            ("SSH_AUTH_SOCK", "/run/agent"),
        ];
        let env = GitEnv::new(given.map(|(name, value)| (name.into(), value.into())));
        let seen: Vec<_> = env.vars().iter().map(|(n, v)| (n.to_str(), v.to_str())).collect();
        assert_eq!(seen, [(Some("HOME"), Some("/home/x")), (Some("PATH"), Some("/a:/b"))]);
        let online: Vec<_> = env.online().keys().filter_map(|name| name.to_str()).collect();
        assert_eq!(online, ["SSH_AUTH_SOCK"]);
    }

    #[test]
    fn a_missing_git_is_told_with_where_it_was_sought() {
        let folder = tempfile::tempdir().unwrap();
        let env = GitEnv::default().with("PATH", folder.path());
        let error = env.program().unwrap_err().to_string();
        assert!(error.contains(folder.path().to_str().unwrap()), "{error}");
    }
}
