//! The tokens that were made for browsers and programs: each has a name, and each can be taken back alone.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use musher_os::untrusted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use super::{AccessToken, HomeError, write_whole};

/// The file in the state directory. It holds no token, only what tells one when it is shown.
const FILE: &str = "tokens.json";
/// It is never longer.
const MAX_TOKENS_FILE_BYTES: u64 = 64 << 20;
/// More than this nobody keeps apart.
const MAX_TOKENS: usize = 200;
/// Tokens that were taken back and are remembered, so that their holders are told so.
const REMEMBERED: usize = 200;
/// How exactly the last use is known, in milliseconds.
const MINUTE: i64 = 60_000;

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenAccess {
    /// Everything.
    Full,
    /// Only the door for programs that operate the team.
    Operator,
}

/// A token that somebody holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldToken {
    pub id: String,
    pub name: String,
    pub scope: TokenAccess,
    /// SHA-256 of the token, in hex.
    hash: String,
    /// Unix milliseconds.
    pub made_at: i64,
    /// Unix milliseconds, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<i64>,
}

impl HeldToken {
    fn is_live(&self) -> bool {
        self.revoked_at.is_none()
    }
}

/// The file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The number of the last token; no id is given twice.
    last: u64,
    tokens: Vec<HeldToken>,
}

/// Why a token was not made or taken back.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("a token's name has 1 to 64 characters, and none that cannot be seen")]
    BadName,
    #[error("there are {MAX_TOKENS} tokens already")]
    TooMany,
    #[error("there is no token {id}")]
    NoSuchToken { id: String },
    #[error("{} cannot be written: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
}

/// What a token that was shown is worth.
#[derive(Debug, Clone)]
pub enum Shown {
    /// It opens what its scope says, until it is taken back.
    Held { id: String, scope: TokenAccess, revoked: CancellationToken },
    /// It was taken back.
    Revoked,
    /// It was never one of ours.
    Unknown,
}

/// All tokens of a state directory, and the one who keeps them.
#[derive(Debug)]
pub struct TokenStore {
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    kept: Kept,
    /// What ends when a token is taken back, by its id.
    ends: HashMap<String, CancellationToken>,
}

impl TokenStore {
    /// Reads the tokens of a state directory.
    pub fn open(state: &Path) -> Result<Self, HomeError> {
        let path = state.join(FILE);
        let kept = match untrusted::read_if_there(&path, MAX_TOKENS_FILE_BYTES) {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Ok(None) => Ok(Kept::default()),
            Err(unfit) => Err(unfit.into_io()),
        };
        match kept {
            Ok(kept) => Ok(Self { path, inner: Mutex::new(Inner { kept, ..Inner::default() }) }),
            Err(source) => Err(HomeError::Unusable { path, source }),
        }
    }

    /// Makes a token. It is told once, and only what tells it again is kept.
    pub fn add(
        &self,
        name: &str,
        scope: TokenAccess,
        now: i64,
    ) -> Result<(HeldToken, AccessToken), TokensError> {
        let seen = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
        if name.trim().is_empty() || name.chars().count() > 64 || !name.chars().all(seen) {
            return Err(TokensError::BadName);
        }
        let unwritten = |cause| TokensError::Write { path: self.path.clone(), cause };
        let token = AccessToken::mint().map_err(unwritten)?;
        let mut inner = self.inner();
        let mut kept = inner.kept.clone();
        if kept.tokens.iter().filter(|held| held.is_live()).count() >= MAX_TOKENS {
            return Err(TokensError::TooMany);
        }
        kept.last += 1;
        let held = HeldToken {
            id: format!("t{}", kept.last),
            name: name.trim().to_owned(),
            scope,
            hash: hash(token.as_str()),
            made_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        kept.tokens.push(held.clone());
        self.write(&kept)?;
        inner.kept = kept;
        Ok((held, token))
    }

    /// Takes a token back: whoever shows it from now on is refused, and what it opened ends.
    pub fn revoke(&self, id: &str, now: i64) -> Result<(), TokensError> {
        let mut inner = self.inner();
        let mut kept = inner.kept.clone();
        let Some(held) = kept.tokens.iter_mut().find(|held| held.id == id) else {
            return Err(TokensError::NoSuchToken { id: id.to_owned() });
        };
        held.revoked_at.get_or_insert(now);
        let revoked = kept.tokens.iter().filter(|held| !held.is_live()).count();
        let mut forgotten = revoked.saturating_sub(REMEMBERED);
        kept.tokens.retain(|held| {
            let forget = !held.is_live() && forgotten > 0;
            forgotten -= usize::from(forget);
            !forget
        });
        self.write(&kept)?;
        inner.kept = kept;
        if let Some(end) = inner.ends.remove(id) {
            end.cancel();
        }
        Ok(())
    }

    /// The tokens that count, in the order in which they were made.
    pub fn list(&self) -> Vec<HeldToken> {
        self.inner().kept.tokens.iter().filter(|held| held.is_live()).cloned().collect()
    }

    /// What a token that somebody shows is worth.
    pub fn show(&self, given: &str) -> Shown {
        let mut inner = self.inner();
        let given = hash(given);
        // All are compared, and each whole, so that the time tells nothing.
        let mut found = None;
        for held in &inner.kept.tokens {
            if bool::from(held.hash.as_bytes().ct_eq(given.as_bytes())) {
                found = Some(held.clone());
            }
        }
        match found {
            None => Shown::Unknown,
            Some(held) if !held.is_live() => Shown::Revoked,
            Some(HeldToken { id, scope, .. }) => {
                let revoked = inner.ends.entry(id.clone()).or_default().clone();
                Shown::Held { id, scope, revoked }
            }
        }
    }

    /// Notes that a token was used; `true` if that is worth writing down.
    pub fn used(&self, id: &str, now: i64) -> bool {
        let minute = now - now.rem_euclid(MINUTE);
        let mut inner = self.inner();
        let held = inner.kept.tokens.iter_mut().find(|held| held.id == id);
        held.is_some_and(|held| held.last_used_at.replace(minute) != Some(minute))
    }

    /// Writes down when tokens were last used. It can be known again only by use, so a failure is passed over.
    pub fn keep_uses(&self) {
        let inner = self.inner();
        if let Err(error) = self.write(&inner.kept) {
            tracing::debug!(cause = %error, "times at which tokens were used are not kept");
        }
    }

    fn write(&self, kept: &Kept) -> Result<(), TokensError> {
        let unwritten = |cause| TokensError::Write { path: self.path.clone(), cause };
        let text = serde_json::to_vec_pretty(kept).map_err(|error| unwritten(error.into()))?;
        write_whole(&self.path, &text).map_err(unwritten)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_told_once_and_the_file_holds_only_what_tells_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(folder.path()).unwrap();
        let (held, token) = tokens.add("Chrome on Linux", TokenAccess::Full, 5).unwrap();
        assert_eq!(held.id, "t1");
        let file = folder.path().join(FILE);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("Chrome on Linux") && !text.contains(token.as_str()), "{text}");
        let again = TokenStore::open(folder.path()).unwrap();
        assert!(matches!(again.show(token.as_str()), Shown::Held { scope: TokenAccess::Full, .. }));
        assert!(matches!(again.show("something else"), Shown::Unknown));
    }

    #[test]
    fn a_token_that_was_taken_back_ends_what_it_opened_and_is_never_forgotten_for_an_unknown_one() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(folder.path()).unwrap();
        let (one, first) = tokens.add("one", TokenAccess::Full, 1).unwrap();
        let (_, second) = tokens.add("two", TokenAccess::Operator, 2).unwrap();
        let Shown::Held { revoked, .. } = tokens.show(first.as_str()) else { panic!("unknown") };
        tokens.revoke(&one.id, 3).unwrap();
        tokens.revoke(&one.id, 4).unwrap();
        assert!(revoked.is_cancelled());
        for tokens in [tokens, TokenStore::open(folder.path()).unwrap()] {
            assert!(matches!(tokens.show(first.as_str()), Shown::Revoked));
            assert!(matches!(
                tokens.show(second.as_str()),
                Shown::Held { scope: TokenAccess::Operator, .. }
            ));
            let names: Vec<String> = tokens.list().into_iter().map(|held| held.name).collect();
            assert_eq!(names, ["two"]);
            let missing = tokens.revoke("t9", 5).unwrap_err();
            assert!(matches!(missing, TokensError::NoSuchToken { .. }), "{missing}");
        }
        let tokens = TokenStore::open(folder.path()).unwrap();
        assert_eq!(
            tokens.add("three", TokenAccess::Full, 6).unwrap().0.id,
            "t3",
            "no id comes twice"
        );
    }

    #[test]
    fn the_last_use_is_known_to_the_minute_and_written_once_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(folder.path()).unwrap();
        let (held, _) = tokens.add("one", TokenAccess::Full, 1).unwrap();
        assert!(tokens.used(&held.id, 61_234));
        assert!(!tokens.used(&held.id, 119_999));
        assert!(tokens.used(&held.id, 120_000));
        assert!(!tokens.used("t9", 1), "nobody uses what there is not");
        tokens.keep_uses();
        let again = TokenStore::open(folder.path()).unwrap();
        assert_eq!(again.list()[0].last_used_at, Some(120_000));
    }

    #[test]
    fn names_that_cannot_be_read_and_files_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(folder.path()).unwrap();
        for name in ["", "  ", "a\nb", "\u{202e}x", &"x".repeat(65)] {
            assert!(tokens.add(name, TokenAccess::Full, 1).is_err(), "{name:?}");
        }
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(TokenStore::open(folder.path()).is_err());
    }
}
