//! How a run's model is reached and asked. No secret is in it, only where each is found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use musher_runtime::{Environment, KeySource, ModelOptions};
use serde::{Deserialize, Serialize};

use super::{SpecEnvValue, SpecError};

/// The choices of an agent whose runtime speaks to a model itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyFrom>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SpecEnvValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PathBuf>,
}

/// Where a key is found by the runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyFrom {
    Env(String),
    /// A path that begins with `~/` starts at the home of the runner's user.
    File(PathBuf),
    Command(String),
}

impl ModelSpec {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for a session, with what the runner's own variables hold.
    pub(super) fn options(&self, environment: &Environment) -> Result<ModelOptions, SpecError> {
        let mut headers = BTreeMap::new();
        for (name, value) in &self.headers {
            let value = match value {
                SpecEnvValue::Value(value) => value.clone(),
                SpecEnvValue::From(from) => {
                    let given = environment.get(from).and_then(|value| value.to_str());
                    let missing = || SpecError::NoHeader { name: name.clone(), from: from.clone() };
                    given.ok_or_else(missing)?.to_owned()
                }
            };
            headers.insert(name.clone(), value);
        }
        let key = match &self.key {
            None => None,
            Some(KeyFrom::Env(name)) => Some(KeySource::Env(name.clone())),
            Some(KeyFrom::File(path)) => Some(KeySource::File(at_home(path, environment)?)),
            Some(KeyFrom::Command(command)) => Some(KeySource::Command(command.clone())),
        };
        Ok(ModelOptions {
            base_url: self.base_url.clone(),
            key,
            headers,
            wire: self.wire.clone(),
            temperature: self.temperature,
            effort: self.effort.clone(),
            max_output: self.max_output,
            window: self.window,
            prices: self.prices.clone(),
            ..ModelOptions::default()
        })
    }
}

fn at_home(path: &Path, environment: &Environment) -> Result<PathBuf, SpecError> {
    match path.strip_prefix("~") {
        Err(_) => Ok(path.to_owned()),
        Ok(rest) => match environment.get("HOME") {
            Some(home) => Ok(Path::new(home).join(rest)),
            None => Err(SpecError::NoHome(path.to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_from_the_runners_variable_and_a_key_file_from_home() {
        let spec = ModelSpec {
            key: Some(KeyFrom::File("~/keys/one".into())),
            headers: [("X-Team".to_owned(), SpecEnvValue::From("TEAM".into()))].into(),
            ..ModelSpec::default()
        };
        let bare = Environment::default();
        assert!(matches!(spec.options(&bare), Err(SpecError::NoHeader { .. })));
        let named = bare.set("TEAM", "blue");
        assert!(matches!(spec.options(&named), Err(SpecError::NoHome(_))));
        let options = spec.options(&named.set("HOME", "/home/me")).unwrap();
        assert_eq!(options.headers["X-Team"], "blue");
        assert_eq!(options.key, Some(KeySource::File("/home/me/keys/one".into())));
    }

    #[test]
    fn a_spec_that_says_nothing_about_its_model_is_written_without_it() {
        assert_eq!(serde_json::to_string(&ModelSpec::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<ModelSpec>("{}").unwrap().is_empty());
    }
}
