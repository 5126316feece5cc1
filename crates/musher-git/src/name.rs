//! Names that may stand in a git command, checked once, so that none can become an option or leave its place.

use serde::{Deserialize, Serialize};

/// The longest name of a branch in bytes: with its folder and a lock's ending it still fits every file system.
const MAX_BRANCH_NAME_BYTES: usize = 200;

/// A name that git or Musher does not take, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} cannot be the name of a {kind}: {why}")]
pub struct BadName {
    kind: &'static str,
    shown: String,
    why: &'static str,
}

impl BadName {
    pub(super) fn new(kind: &'static str, name: &[u8], why: &'static str) -> Self {
        let head = &name[..name.len().min(MAX_BRANCH_NAME_BYTES)];
        Self { kind, shown: String::from_utf8_lossy(head).into_owned(), why }
    }
}

/// The name of a local branch, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Branch(String);

impl Branch {
    /// Checks a name that came from outside.
    pub fn new(name: impl Into<String>) -> Result<Self, BadName> {
        let name = name.into();
        match refusal(&name) {
            None => Ok(Self(name)),
            Some(why) => Err(BadName::new("branch", name.as_bytes(), why)),
        }
    }

    /// The branch behind a full reference that git printed, if it is one that Musher takes.
    pub(super) fn of_ref(full: &[u8]) -> Option<Self> {
        let name = full.strip_prefix(b"refs/heads/")?;
        Self::new(std::str::from_utf8(name).ok()?).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The whole name, which no branch of a remote and no tag can be mistaken for.
    pub fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

/// The name under which work is kept: what follows `refs/musher/recovery/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecoveryName(String);

impl RecoveryName {
    /// Checks a name by the rules for branches.
    pub fn new(name: impl Into<String>) -> Result<Self, BadName> {
        let name = name.into();
        match refusal(&name) {
            None => Ok(Self(name)),
            Some(why) => Err(BadName::new("recovery ref", name.as_bytes(), why)),
        }
    }

    /// Keeps the work of a branch under the branch's own name.
    pub fn of(branch: &Branch) -> Self {
        let name = branch.as_str();
        Self(name.strip_prefix("musher/").unwrap_or(name).to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A reference that keeps work, by its full name, and what it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryRef {
    pub name: String,
    pub commit: Commit,
}

/// A commit by its object id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Commit(String);

/// A tree by its object id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeId(String);

macro_rules! object_ids {
    ($($name:ident $kind:literal),*) => {$(
        impl $name {
            /// Takes a whole id only: an abbreviation can come to mean something else.
            pub fn new(id: impl Into<String>) -> Result<Self, BadName> {
                let id = id.into();
                let hex = id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
                match hex && matches!(id.len(), 40 | 64) {
                    true => Ok(Self(id)),
                    false => {
                        Err(BadName::new($kind, id.as_bytes(), "give all 40 or 64 hex digits"))
                    }
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first digits, for people.
            pub fn short(&self) -> &str {
                &self.0[..12]
            }
        }
    )*};
}
object_ids!(Commit "commit", TreeId "tree");

macro_rules! texts {
    ($($name:ident),*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    )*};
}
texts!(Branch, RecoveryName, Commit, TreeId);

/// Whoever a commit is by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
}

impl Author {
    /// Checks that git will take the name and the address as they are.
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Result<Self, BadName> {
        let (name, email) = (name.into(), email.into());
        for text in [&name, &email] {
            let crud = |c: char| c.is_control() || matches!(c, '<' | '>');
            let only_marks = text.chars().all(|c| !c.is_alphanumeric());
            if only_marks || text.contains(crud) || text.len() > MAX_BRANCH_NAME_BYTES {
                let why = "write up to 200 letters without < and >";
                return Err(BadName::new("author", text.as_bytes(), why));
            }
        }
        Ok(Self { name, email })
    }

    /// Musher itself, for commits that only keep something.
    pub fn musher() -> Self {
        Self { name: "Musher".to_owned(), email: "musher@localhost".to_owned() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }
}

/// Why a name is refused: git's own rules for references, and ours against options and hidden letters.
fn refusal(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_BRANCH_NAME_BYTES {
        return Some("it is longer than 200 bytes");
    }
    if name.chars().any(|c| c.is_control() || c == ' ' || hidden(c)) {
        return Some("it has a blank, a control or a hidden letter in it");
    }
    if name.contains(['~', '^', ':', '?', '*', '[', '\\']) {
        return Some("it has one of ~ ^ : ? * [ \\ in it");
    }
    if name.contains("..") || name.contains("@{") || name == "@" || name == "HEAD" {
        return Some("git reads `..`, `@{`, `@` and `HEAD` as something else");
    }
    for part in name.split('/') {
        if part.is_empty() {
            return Some("it begins or ends with / or has // in it");
        }
        if part.starts_with(['.', '-']) || part.ends_with('.') || part.ends_with(".lock") {
            return Some("a part of it begins with . or - or ends with . or .lock");
        }
    }
    None
}

/// Letters that change how the letters around them look, or cannot be seen.
fn hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_are_taken() {
        for name in ["main", "musher/story-1/2", "feature/ünïcode", "v1.0", "a@b", "x-y", "r.lockx"]
        {
            assert_eq!(Branch::new(name).unwrap().full(), format!("refs/heads/{name}"));
        }
    }

    #[test]
    fn names_that_git_would_misread_are_refused() {
        let long = "x".repeat(201);
        let hostile = [
            "",
            "-x",
            "a/-x",
            "--upload-pack=x",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.lock/b",
            "a..b",
            "a@{1}",
            "@",
            "HEAD",
            "a b",
            "a\tb",
            "a\nb",
            "a\0b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "[a",
            "a\\b",
            "a\u{202e}b",
            "a\u{7f}b",
            "../x",
            "a/../b",
            &long,
        ];
        for name in hostile {
            assert!(Branch::new(name).is_err(), "{name:?}");
            assert!(RecoveryName::new(name).is_err(), "{name:?}");
            assert!(serde_json::from_value::<Branch>(name.into()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn only_whole_object_ids_are_taken() {
        assert!(Commit::new("a".repeat(40)).is_ok());
        assert!(Commit::new("0".repeat(64)).is_ok());
        for bad in ["", "HEAD", "abc", "-", &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
            assert!(Commit::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_author_that_git_would_alter_is_refused() {
        assert!(Author::new("Ada L.", "ada@example.org").is_ok());
        for bad in ["", " ", "...", "a\nb", "a<b", "a>b", "a\0b"] {
            assert!(Author::new(bad, "ada@example.org").is_err(), "{bad:?}");
            assert!(Author::new("Ada", bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_become_an_option_or_leave_their_place(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            for name in [text.clone(), format!("a/{text}"), format!("{text}/b")] {
                let Ok(branch) = Branch::new(name.clone()) else { continue };
                prop_assert!(branch.full().starts_with("refs/heads/"));
                for part in branch.as_str().split('/') {
                    prop_assert!(!part.is_empty() && !part.starts_with(['-', '.']));
                }
                prop_assert!(!name.bytes().any(|b| b < 0x21 || b == 0x7f));
            }
            if let Ok(commit) = Commit::new(text) {
                prop_assert!(commit.as_str().bytes().all(|b| b.is_ascii_hexdigit()));
            }
        }

        #[test]
        fn a_name_of_plain_letters_is_taken(name in "[a-z0-9][a-z0-9-]{0,63}/[1-9][0-9]{0,8}") {
            prop_assert!(Branch::new(name).is_ok());
        }
    }
}
