//! What ARCHITECTURE.md allows: who may import whom, and where a vendor may be named.

pub(crate) const VENDORS: &[&str] = &["claude", "anthropic", "codex", "openai", "gemini"];

/// The folders of the vendors, each with a file of its name beside it.
pub(crate) const VENDOR_FOLDERS: &[&str] = &[
    "acp/presets",
    "acp/translate/tests",
    "anthropic",
    "claude_code",
    "codex",
    "gemini",
    "openai",
];

/// Where a vendor may be named outside its own folder, and why.
pub(crate) const VENDOR_EXCEPTIONS: &[Exception] = &[
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("pub mod claude_code;"),
        reason: "a runtime's folder has to be declared",
    },
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("pub mod anthropic;"),
        reason: "a runtime's folder has to be declared",
    },
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("pub mod codex;"),
        reason: "a runtime's folder has to be declared",
    },
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("pub mod gemini;"),
        reason: "a runtime's folder has to be declared",
    },
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("pub mod openai;"),
        reason: "a runtime's folder has to be declared",
    },
    Exception {
        file: "crates/musher-runtime/src/lib.rs",
        lines: Lines::Containing("feature = "),
        reason: "a runtime is a feature",
    },
    Exception {
        file: "crates/musher-runtime/src/runtime.rs",
        lines: Lines::Docs,
        reason: "the example has to start some runtime",
    },
    Exception {
        file: "crates/musher-runtime/src/once.rs",
        lines: Lines::Docs,
        reason: "the example has to start some runtime",
    },
    Exception {
        file: "crates/musher/src/secrets/shapes.rs",
        lines: Lines::All,
        reason: "a key is named by the service that gives it",
    },
    Exception {
        file: "crates/musher/src/runtimes.rs",
        lines: Lines::All,
        reason: "the one table from names to runtimes",
    },
    Exception {
        file: "crates/musher/src/cli/run.rs",
        lines: Lines::Containing("default_value = "),
        reason: "the default of --runtime is a name from that table",
    },
];

pub(crate) struct Exception {
    pub(crate) file: &'static str,
    pub(crate) lines: Lines,
    pub(crate) reason: &'static str,
}

pub(crate) enum Lines {
    All,
    Docs,
    Containing(&'static str),
}

/// Which modules of musher-runtime a part may name.
pub(crate) const IMPORTS: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("secret_finder", &[]),
    ("clock", &[]),
    ("task", &[]),
    ("runtime", &[API]),
    ("once", &[API]),
    ("project_files", &["project_files"]),
    ("process", &["process", "json", "task", "secret_finder"]),
    ("attachments", &["attachments", API]),
    (
        "session",
        &["session", "attachments", "process", "task", "clock", "tools", "secret_finder", API],
    ),
    ("peer", &["peer", "json"]),
    ("prices", &[]),
    ("backend", &["session", "process"]),
    ("conversation", &["conversation", "attachments", "session", "process", "peer", "json"]),
    (
        "acp",
        &[
            "acp",
            "attachments",
            "conversation",
            "session",
            "process",
            "peer",
            "json",
            "prices",
            API,
        ],
    ),
    (
        "claude_code",
        &["claude_code", "conversation", "session", "process", "peer", "json", "prices", API],
    ),
    ("codex", &["codex", "conversation", "session", "process", "peer", "json", "prices", API]),
    ("script", &["script", "session", "process", "peer", API]),
    ("gates", &["gates", "session", "process", "tools", API]),
    ("tools", &["tools", "process", "task", API]),
    ("model", &["model", "attachments", "session", "process", "tools", "clock", "prices", API]),
    ("anthropic", &["model", API]),
    ("gemini", &["model", API]),
    ("openai", &["model", API]),
];
/// Which modules of musher a part may name. The command line is the top and may name all.
pub(crate) const PRODUCT_IMPORTS: &[(&str, &[&str])] = &[
    ("config", &["config", "runtimes"]),
    ("home", &["home"]),
    ("runtimes", &[]),
    ("logging", &["logging"]),
    ("diagnostics", &["diagnostics", "config", "home", "runner", "runtimes"]),
    ("mcp", &["mcp"]),
    ("runner", &["runner", "runtimes", "mcp"]),
    ("bus", &["runner"]),
    ("journal", &["journal"]),
    ("pool", &["pool", "journal"]),
    ("settings", &["config", "pool", "runtimes"]),
    ("secrets", &["runner"]),
    ("watch", &["watch", "bus", "diagnostics", "journal", "pool", "runner"]),
    (
        "api",
        &[
            "api",
            "bus",
            "diagnostics",
            "config",
            "home",
            "journal",
            "mcp",
            "pool",
            "runner",
            "runtimes",
            "secrets",
            "settings",
            "watch",
        ],
    ),
    (
        "supervisor",
        &[
            "supervisor",
            "api",
            "bus",
            "diagnostics",
            "config",
            "home",
            "journal",
            "pool",
            "runner",
            "runtimes",
            "secrets",
            "settings",
            "watch",
        ],
    ),
];
/// The crates that ship, each with those of ours that it may know.
pub(crate) const SHIPPED: &[(&str, &[&str])] = &[
    ("musher-core", &[]),
    ("musher-client", &["musher-core"]),
    ("musher-os", &[]),
    ("musher-sandbox", &[]),
    ("musher-git", &["musher-core", "musher-os", "musher-sandbox"]),
    ("musher-log", &["musher-core", "musher-os"]),
    ("musher-runtime", &["musher-core", "musher-os", "musher-sandbox"]),
    ("musher-web", &[]),
    (
        "musher",
        &[
            "musher-client",
            "musher-core",
            "musher-git",
            "musher-log",
            "musher-os",
            "musher-runtime",
            "musher-sandbox",
            "musher-web",
        ],
    ),
];
/// What only a crate at the top has: the network, a database, the command line.
pub(crate) const OF_THE_TOP: &[&str] =
    &["axum", "clap", "hyper", "reqwest", "rmcp", "rusqlite", "rustls", "utoipa"];
/// The crates that must not know it, not even by way of others.
pub(crate) const LEAVES: &[&str] =
    &["musher-core", "musher-os", "musher-sandbox", "musher-git", "musher-log"];
/// The types that the crate shows to others.
pub(crate) const API: &str = "(public types)";
