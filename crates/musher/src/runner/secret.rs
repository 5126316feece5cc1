//! The secret that a connection has to show before a runner obeys it.

use subtle::ConstantTimeEq;

/// 256 random bits that the runner makes.
#[derive(Clone)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn mint() -> std::io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// For whoever has to show it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is it, found out in a time that tells nothing.
    pub(super) fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
