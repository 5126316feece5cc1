//! The agents that are known by name, and what of theirs is known beyond one preset. Only here and in `presets/` they are named.

macro_rules! shipped {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("presets/", $name, ".toml")))),*] };
}

/// Adding one is adding a file, and its name here.
pub(super) const SHIPPED: &[(&str, &str)] = shipped![
    "amp-acp",
    "auggie",
    "claude-acp",
    "cline",
    "codebuddy",
    "codex-acp",
    "copilot",
    "cursor",
    "deepagents",
    "devin",
    "droid",
    "fast-agent",
    "gemini-cli",
    "goose",
    "junie",
    "kilo",
    "kimi",
    "mistral-vibe",
    "opencode",
    "qoder",
    "qwen",
    "stakpak",
];

/// Variables that would make an agent believe it runs inside another one, or that load code into it.
pub(super) const BANNED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "NODE_OPTIONS",
];

/// The published prices of the models that agents use.
pub(super) const PRICES: [&str; 3] = [
    include_str!("../anthropic/prices.toml"),
    include_str!("../gemini/prices.toml"),
    include_str!("../openai/prices.toml"),
];
