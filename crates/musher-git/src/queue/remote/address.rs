//! The address of a remote: a place and never a command, and shown without a password.

use std::fmt;

use crate::config::is_address;

/// An address that git may be given.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAddress(String);

impl RemoteAddress {
    /// Takes an address that is a place.
    pub fn new(written: &str) -> Option<Self> {
        let plain = is_address(written.as_bytes()) && !written.chars().any(char::is_control);
        plain.then(|| Self(written.to_owned()))
    }

    /// The whole address, which may hold a password.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address for people, without what may be a password.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return self.0.clone();
        };
        let host_ends = rest.find('/').unwrap_or(rest.len());
        match rest[..host_ends].rfind('@') {
            Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
            None => self.0.clone(),
        }
    }

    /// What git said, without what may be a password.
    pub(super) fn without_secrets(&self, said: &str) -> String {
        let said = said.replace(&self.0, &self.shown());
        let Some((_, rest)) = self.0.split_once("://") else { return said };
        let host_ends = rest.find('/').unwrap_or(rest.len());
        let Some(at) = rest[..host_ends].rfind('@') else { return said };
        let user = &rest[..at];
        let password = user.split_once(':').map_or("", |(_, password)| password);
        let secrets = [user, password].into_iter().filter(|secret| secret.len() > 3);
        secrets.fold(said, |said, secret| said.replace(secret, "…"))
    }
}

impl fmt::Debug for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let address = RemoteAddress::new("https://ada:hunter2@host.example/x@y.git").unwrap();
        assert_eq!(address.shown(), "https://host.example/x@y.git");
        assert!(!format!("{address:?}").contains("hunter2"));
        let said = address.without_secrets(
            "fatal: unable to access 'https://ada:hunter2@host.example/x@y.git/': ada:hunter2 hunter2",
        );
        assert!(!said.contains("hunter2"), "{said}");
        let ssh = RemoteAddress::new("git@host:x.git").unwrap();
        assert_eq!(ssh.shown(), "git@host:x.git");
    }

    #[test]
    fn a_command_is_no_address() {
        for command in ["ext::sh -c x", "-x", "--upload-pack=x", "../x", "fd::1", "https://h/\nx"] {
            assert!(RemoteAddress::new(command).is_none(), "{command:?}");
        }
    }
}
