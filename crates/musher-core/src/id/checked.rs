//! Ids that come from outside and become paths, branches and arguments: each is checked before it exists.

use serde::{Deserialize, Serialize};

/// A text that is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {what}: {rule}")]
pub struct IdError {
    what: &'static str,
    rule: &'static str,
    /// The head of what was given, made fit to be shown.
    given: String,
}

impl IdError {
    fn new(what: &'static str, rule: &'static str, given: &str) -> Self {
        let mut head: String = given.chars().take(64).collect();
        if head.len() < given.len() {
            head.push('…');
        }
        Self { what, rule, given: head.escape_debug().to_string() }
    }

    /// What an id of this kind must look like.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

macro_rules! checked {
    ($($(#[$doc:meta])* $name:ident: $what:literal, $rule:literal, $valid:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id, if the text is one.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let valid: fn(&[u8]) -> bool = $valid;
                match valid(text.as_bytes()) {
                    true => Ok(Self(text.to_owned())),
                    false => Err(IdError::new($what, $rule, text)),
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

checked! {
    /// A story. It becomes a part of branch names and paths.
    StoryId: "a story id",
        "use 1 to 64 small letters, digits and `-`, beginning with a letter or digit",
        |bytes| is_name(bytes, b"-");
    /// A named seat on the team.
    AgentName: "an agent's name",
        "use 1 to 64 small letters, digits, `-` and `_`, beginning with a letter or digit",
        |bytes| is_name(bytes, b"-_");
    /// A word by which stories are sorted.
    Label: "a label",
        "use 1 to 64 small letters, digits and `-`, beginning with a letter or digit",
        |bytes| is_name(bytes, b"-");
    /// The name of a branch that a person has chosen, such as `fix/login`.
    BranchName: "the name of a branch",
        "use 1 to 100 letters, digits and `.`, `_`, `-` in parts between `/`, each beginning with a letter or digit",
        is_branch;
    /// One command as its sender named it, so that sending it twice does it once.
    CommandId: "a command id",
        "use 1 to 128 visible ASCII characters without spaces",
        |bytes| (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
}

impl StoryId {
    /// The id that the pool gives to its `n`th story.
    pub fn minted(n: u64) -> Self {
        Self(format!("s{n}"))
    }
}

/// Small letters and digits, then these and the marks; nothing that a path or an option is made of.
fn is_name(bytes: &[u8], marks: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= 64
        && bytes.first().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || marks.contains(byte))
}

/// Parts between slashes that git, a path and a command line all take as they are. `musher/` is where branches without a name are.
fn is_branch(bytes: &[u8]) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let part = |part: &[u8]| {
        part.first().is_some_and(u8::is_ascii_alphanumeric)
            && part.iter().all(inner)
            && !part.ends_with(b".")
            && !part.ends_with(b".lock")
            && !part.windows(2).any(|two| two == b"..")
    };
    bytes.len() <= 100
        && bytes.split(|byte| *byte == b'/').all(part)
        && !bytes.starts_with(b"musher/")
        && bytes != b"HEAD"
}

/// One run: `r1`, `r2` …; a larger number is a later run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(u64);

impl RunId {
    const MAX_NUMBER: u64 = 999_999_999_999_999_999;

    /// The run with this number; numbers outside 1 to 10^18 - 1 are moved to the nearest one.
    pub fn minted(n: u64) -> Self {
        Self(n.clamp(1, Self::MAX_NUMBER))
    }

    /// The id, if the text is one.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let error = || {
            let rule = "use `r` and a number of at most 18 digits that does not begin with 0";
            IdError::new("a run id", rule, text)
        };
        let digits = text.strip_prefix('r').ok_or_else(error)?;
        let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(n) if plain && digits.len() <= 18 => Ok(Self(n)),
            _ => Err(error()),
        }
    }

    /// The number of the run.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl std::str::FromStr for RunId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// One worktree slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotId(pub u32);

impl std::fmt::Display for SlotId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests;
