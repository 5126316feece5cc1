//! Where the pinned real programs of others are installed.

use std::path::PathBuf;

/// The version that the recordings and the protocol notes were made with.
const CLAUDE: &str = "claude-code-2.1.325/node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/// The pinned Claude Code, if it is installed.
pub fn claude() -> Option<PathBuf> {
    let path = cache()?.join(CLAUDE);
    path.is_file().then_some(path)
}

/// The pinned Claude Code; panics with what to do when it is absent.
pub fn require_claude() -> PathBuf {
    let place = cache().unwrap_or_default().join(CLAUDE);
    claude().unwrap_or_else(|| {
        panic!("the pinned Claude Code is not at {}: run scripts/install-clis", place.display())
    })
}

/// The pinned official MCP client.
const MCP_CLIENT: &str = "mcp-client-2.4.0";

/// The folder of the pinned official MCP client; panics with what to do when it is absent.
pub fn require_mcp_client() -> PathBuf {
    let place = cache().unwrap_or_default().join(MCP_CLIENT);
    assert!(
        place.join("node_modules").is_dir(),
        "the pinned MCP client is not at {}: run scripts/install-mcp-client",
        place.display()
    );
    place
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests find the cache where the install script put it"
)]
fn cache() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value))
    };
    folder("MUSHER_CLI_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("musher/clis")))
        .or_else(|| Some(folder("HOME")?.join(".cache/musher/clis")))
}
