//! What must not be seen of an agent, for those who show texts that it has left elsewhere, such as files.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tracing::warn;

use crate::process::{self, Environment, SECRET_LEN};
use crate::secret_finder::SecretFinder;
use crate::session::{KeySource, SessionSpec};

/// A key in a file is its first line, and no file of keys is longer.
const MAX_KEY_FILE_BYTES: u64 = 64 * 1024;
/// A line of a secret of several lines is looked for by itself if it is at least so long.
const LINE: usize = 16;

/// Secrets that are known by value, each with the name to show instead. None is ever shown or written.
#[derive(Debug, Default)]
pub struct Secrets {
    finder: Option<Arc<SecretFinder>>,
}

impl Secrets {
    /// `known` are names with values.
    pub fn new(known: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all: BTreeSet<(String, String)> = BTreeSet::new();
        for (name, value) in known {
            // Files are looked at line by line.
            let lines =
                value.lines().filter(|line| line.len() >= LINE && !line.starts_with("-----"));
            let lines = lines.map(|line| (name.clone(), line.to_owned()));
            if value.contains('\n') {
                all.extend(lines);
            }
            if value.len() >= SECRET_LEN {
                all.insert((name, value));
            }
        }
        let all: Vec<(String, String)> = all.into_iter().collect();
        Self { finder: SecretFinder::new(&all) }
    }

    /// The secrets in a text from its beginning on: the name of each, and where it stands. That is one place, or one in each
    /// line that it is wrapped over.
    pub fn find(&self, text: &str) -> Vec<(&str, Vec<Range<usize>>)> {
        let found = self.finder.iter().flat_map(|finder| finder.find(text.as_bytes()));
        found.map(|found| (found.name, found.pieces)).collect()
    }

    /// The names of the secrets that are in a text.
    pub fn names_in(&self, text: &str) -> BTreeSet<&str> {
        self.find(text).into_iter().map(|(name, _)| name).collect()
    }

    /// Puts names in place of the secrets in a text.
    pub fn hide(&self, text: &mut String) {
        if let Some(finder) = &self.finder {
            finder.hide_in(text);
        }
    }
}

impl Environment {
    /// The secrets among all that the host has, whether an agent is given them or not: names with values.
    pub fn known_secrets(&self) -> Vec<(String, String)> {
        let mut found = process::secrets(&self.all());
        found.extend(self.given_secrets());
        found
    }
}

impl SessionSpec {
    /// What must not be seen of this session, as it can be read now where it is configured: names with values.
    pub fn known_secrets(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = self.secrets(&self.environment.all());
        if let Some(source @ KeySource::File(path)) = &self.model_options.key {
            found.extend(first_line(path).map(|key| (source.to_string(), key)));
        }
        found
    }
}

/// The first line of a small file that is one; whatever else has its name is not waited for.
fn first_line(path: &Path) -> Option<String> {
    let unread = |cause: &std::io::Error| {
        warn!(file = %path.display(), %cause, "key file cannot be read, so its key is not looked for");
    };
    let kind = std::fs::metadata(path).inspect_err(unread).ok()?;
    if !kind.is_file() || kind.len() > MAX_KEY_FILE_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(path).inspect_err(unread).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_and_hidden_wherever_they_stand() {
        let key = ("API_KEY".to_owned(), "sk-123456789".to_owned());
        let pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----\n".to_owned();
        let secrets = Secrets::new([key, ("PEM".into(), pem), ("SHORT_KEY".into(), "abc".into())]);
        let text = "let key = \"sk-123456789\"; // abc";
        assert_eq!(secrets.names_in(text), BTreeSet::from(["API_KEY"]));
        let mut shown = text.to_owned();
        secrets.hide(&mut shown);
        assert_eq!(shown, "let key = \"[redacted API_KEY]\"; // abc");
        assert_eq!(secrets.names_in("+MIIEvQIBADANBgkqhkiG"), BTreeSet::from(["PEM"]));
        assert!(secrets.names_in("-----BEGIN KEY-----").is_empty());
        assert!(Secrets::default().names_in(text).is_empty());
    }

    #[test]
    fn what_the_host_has_is_known_though_no_agent_is_given_it() {
        let vars = [("HOST_TOKEN", "tok-abcdef"), ("HOME", "/root")];
        let environment =
            Environment::from_vars(vars.map(|(name, value)| (name.into(), value.into())))
                .set_secret("PLAIN", "given-secret");
        let known = environment.known_secrets();
        assert!(known.contains(&("HOST_TOKEN".into(), "tok-abcdef".into())), "{known:?}");
        assert!(known.contains(&("PLAIN".into(), "given-secret".into())), "{known:?}");
        assert_eq!(known.iter().filter(|(name, _)| name == "HOME").count(), 0);
    }
}
