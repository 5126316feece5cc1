//! What an agent's environment holds: an allow-list of what we have, plus what was given.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

/// What every program needs to find its home, its tools, its network and its language.
const BASE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "WSL_DISTRO_NAME",
];

/// What keeps an agent's tools from printing colours: their output is read by a model, and shown in a transcript. What is
/// given or passed on by name goes before it.
const PLAIN_OUTPUT: &[(&str, &str)] = &[("NO_COLOR", "1"), ("TERM", "dumb")];

/// Words in a variable's name that say its value is a secret.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "HEADERS",
    "KEY",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "SECRETS",
    "TOKEN",
];
/// Names that hold such a word and are no secret.
const NOT_SECRET: &[&str] = &["SSH_AUTH_SOCK"];
/// Shorter values would blot out innocent text.
pub(crate) const SECRET_LEN: usize = 6;

/// The environment that an agent may be given.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// What the host has to pass on.
    available: BTreeMap<OsString, OsString>,
    /// Names that pass besides the runtime's own.
    pass: Vec<String>,
    /// What is set whatever the host has.
    set: BTreeMap<OsString, OsString>,
    /// Names of what is secret though its name does not say so.
    secret: BTreeSet<OsString>,
}

impl Environment {
    /// Chooses from the variables of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment, on request"
    )]
    pub fn of_this_process() -> Self {
        Self::from_vars(std::env::vars_os())
    }

    /// Chooses from the variables given.
    pub fn from_vars(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { available: vars.into_iter().collect(), ..Self::default() }
    }

    /// Lets a variable of the host pass; `*` at the end stands for any ending.
    #[must_use]
    pub fn pass(mut self, name: impl Into<String>) -> Self {
        self.pass.push(name.into());
        self
    }

    /// Gives the agent a variable.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.insert(name.into(), value.into());
        self
    }

    /// Gives the agent a variable that must never be shown, whatever its name is.
    #[must_use]
    pub fn set_secret(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.secret.insert(name.clone());
        self.set(name, value)
    }

    /// What was given as a secret, with its name.
    pub(crate) fn given_secrets(&self) -> impl Iterator<Item = (String, String)> {
        let given = self.secret.iter().filter_map(|name| Some((name, self.set.get(name)?)));
        given
            .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
            .filter(|(_, value): &(String, String)| value.len() >= SECRET_LEN)
    }

    /// All that the host has and all that is set, for those who must know what to hide.
    pub(crate) fn all(&self) -> Vec<(OsString, OsString)> {
        let mut all = self.available.clone();
        all.extend(self.set.clone());
        all.into_iter().collect()
    }

    /// A variable that was given for this agent, whatever the host has.
    pub fn given(&self, name: &str) -> Option<&OsStr> {
        self.set.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A variable as the agent would see it.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.set
            .get(OsStr::new(name))
            .or_else(|| self.available.get(OsStr::new(name)))
            .map(OsString::as_os_str)
    }

    /// The variables for an agent whose runtime lets `vendor` pass and never `banned`.
    pub(crate) fn select(&self, vendor: &[&str], banned: &[&str]) -> Vec<(OsString, OsString)> {
        let passes = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                BASE.iter().chain(vendor).any(|pattern| fits(pattern, name))
                    || self.pass.iter().any(|pattern| fits(pattern, name))
            })
        };
        let mut chosen: BTreeMap<OsString, OsString> =
            PLAIN_OUTPUT.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let passed = self.available.iter().filter(|(name, _)| passes(name)).chain(&self.set);
        chosen.extend(passed.map(|(name, value)| (name.clone(), value.clone())));
        chosen
            .into_iter()
            .filter(|(name, _)| !banned.iter().any(|banned| name.as_os_str() == OsStr::new(banned)))
            .collect()
    }
}

/// The values among an agent's variables that must never be shown, each with the name to show instead.
pub(crate) fn secrets(env: &[(OsString, OsString)]) -> Vec<(String, String)> {
    let texts = env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    texts
        .filter_map(|(name, value)| {
            let secret = if names_a_secret(name) { Some(value) } else { password_in(value) }?;
            // A number is a setting, and would blot out every count that happens to equal it.
            let plausible =
                secret.len() >= SECRET_LEN && !secret.bytes().all(|b| b.is_ascii_digit());
            plausible.then(|| (name.to_owned(), secret.to_owned()))
        })
        .collect()
}

fn names_a_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    !NOT_SECRET.contains(&name) && upper.split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// The password in an address such as `http://user:password@proxy`.
pub(crate) fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Environment {
        Environment::from_vars(
            [
                ("PATH", "/bin"),
                ("LC_ALL", "C"),
                ("VENDOR_KEY", "sk-secret"),
                ("NESTED", "1"),
                ("OTHER", "x"),
            ]
            .map(|(name, value)| (name.into(), value.into())),
        )
    }

    fn names(env: &[(OsString, OsString)]) -> Vec<&str> {
        env.iter().filter_map(|(name, _)| name.to_str()).collect()
    }

    #[test]
    fn only_what_is_listed_passes_and_a_banned_name_never_does() {
        let env = host().pass("NESTED").set("NESTED", "2").set("GIVEN", "y");
        assert_eq!(
            names(&env.select(&["VENDOR_KEY"], &["NESTED"])),
            ["GIVEN", "LC_ALL", "NO_COLOR", "PATH", "TERM", "VENDOR_KEY"]
        );
    }

    #[test]
    fn what_is_given_beats_what_the_host_has() {
        let env = host().set("PATH", "/opt/bin").select(&[], &[]);
        assert!(env.contains(&("PATH".into(), "/opt/bin".into())));
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        let env = host()
            .set("MY_TOKEN", "short")
            .set("MAX_OUTPUT_TOKENS", "many-tokens")
            .set("KEY_TTL_MS", "3600000")
            .set("HTTP_PROXY", "http://me:hunter23@proxy:80/")
            .set("DB_PASSWORD", "hunter22")
            .select(&["VENDOR_KEY"], &[]);
        assert_eq!(
            secrets(&env),
            [
                ("DB_PASSWORD".into(), "hunter22".into()),
                ("HTTP_PROXY".into(), "hunter23".into()),
                ("VENDOR_KEY".into(), "sk-secret".into()),
            ]
        );
    }
}
