//! How a model is reached and asked, in words that no vendor owns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{self, Environment};

/// The choices of an agent whose runtime speaks to a model itself. What is left out is the runtime's own choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOptions {
    /// Where the model is served; otherwise the vendor's variable says so, or it is the vendor's own service.
    pub base_url: Option<String>,
    /// Where the key comes from; it is never written here itself.
    pub key: Option<KeySource>,
    /// Headers that are sent with every request, besides those that the wire format needs.
    pub headers: BTreeMap<String, String>,
    /// The wire format, where a runtime has several.
    pub wire: Option<String>,
    pub temperature: Option<f64>,
    /// How hard the model should think, in the vendor's words: such as `low`, `medium` or `high`.
    pub effort: Option<String>,
    /// The most tokens of one answer.
    pub max_output: Option<u64>,
    /// How many tokens the model can look at, where the table does not know it or is wrong.
    pub window: Option<u64>,
    /// A file of prices and windows that goes before the table that is shipped.
    pub prices: Option<PathBuf>,
    /// How long the service may be silent inside an answer.
    pub idle: Option<Duration>,
    /// How often a failed request is made again.
    pub retries: Option<u32>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// A variable of this name.
    Env(String),
    /// The first line of a file.
    File(PathBuf),
    /// The first line that a command prints.
    Command(String),
}

impl std::fmt::Display for KeySource {
    /// The source in words; it never shows the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Command(_) => f.write_str("a command"),
        }
    }
}

impl ModelOptions {
    /// What must never be shown: the key's variable, the headers, and a password in the address.
    pub(super) fn secrets(&self, environment: &Environment) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if let Some(KeySource::Env(name)) = &self.key
            && let Some(value) = environment.get(name).and_then(|value| value.to_str())
        {
            found.push((name.clone(), value.to_owned()));
        }
        for (name, value) in &self.headers {
            // A header is a scheme and a secret, and either the whole or the secret may turn up.
            let secret = value.split_whitespace().next_back().unwrap_or_default();
            found.extend([value, secret].map(|text| (name.clone(), text.to_owned())));
        }
        if let Some(password) = self.base_url.as_deref().and_then(process::password_in) {
            found.push(("password".into(), password.to_owned()));
        }
        found.retain(|(_, text)| text.len() >= process::SECRET_LEN);
        found
    }
}
