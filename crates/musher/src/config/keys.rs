//! Every key that a project file may hold, table by table.

/// One table and its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyTable {
    /// As it is named in messages.
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
}

pub(super) const TOP: KeyTable = KeyTable {
    name: "the project file",
    keys: &[
        "base_branch",
        "auto_commit",
        "agent",
        "runtime",
        "worktree",
        "sandbox",
        "limits",
        "server",
    ],
};

pub(super) const AGENT: KeyTable = KeyTable {
    name: "[[agent]]",
    keys: &[
        "name",
        "runtime",
        "model",
        "role",
        "prompt",
        "prompt_file",
        "system_prompt",
        "system_prompt_file",
        "system_prompt_mode",
        "continue_prompt",
        "command",
        "args",
        "env",
        "rules",
        "permission_mode",
        "max_turns",
        "budget_usd",
        "inactivity",
        "wall_clock",
        "ask_deadline",
        "ask_reminder",
        "ask_default",
        "linger",
        "sandbox",
        "base_url",
        "wire",
        "key",
        "headers",
        "temperature",
        "effort",
        "max_output",
        "window",
        "prices",
    ],
};

/// An agent's program that speaks ACP. What was tested is for Musher alone to say.
pub(super) const RUNTIME: KeyTable = KeyTable {
    name: "[[runtime]]",
    keys: &[
        "name",
        "program",
        "args",
        "env",
        "variables",
        "trusted",
        "confined",
        "leaves_out",
        "install",
        "login",
        "login_file",
        "executes",
        "obeys",
        "usage",
        "powers",
    ],
};

pub(super) const LAUNCH: KeyTable = KeyTable { name: "this table", keys: &["args", "env"] };

pub(super) const POWERS: KeyTable = KeyTable {
    name: "powers",
    keys: &[
        "resume",
        "fork",
        "approvals",
        "questions",
        "set_model",
        "set_mode",
        "effort",
        "images",
        "cost",
    ],
};

/// Those of an agent that are for runtimes which speak to a model themselves.
pub(super) const MODEL: &[&str] =
    &["base_url", "wire", "key", "headers", "temperature", "max_output", "window", "prices"];

pub(super) const KEY: KeyTable = KeyTable { name: "key", keys: &["env", "file", "command"] };

pub(super) const RULES: KeyTable = KeyTable { name: "rules", keys: &["allow", "ask", "deny"] };

pub(super) const VARIABLE: KeyTable = KeyTable { name: "a value with a source", keys: &["from"] };

pub(super) const WORKTREE: KeyTable =
    KeyTable { name: "[worktree]", keys: &["setup", "copy", "keep"] };

pub(super) const SANDBOX: KeyTable = KeyTable {
    name: "[sandbox]",
    keys: &[
        "profile",
        "read",
        "write",
        "hosts",
        "caches",
        "nested",
        "processes",
        "memory",
        "cpu",
        "image",
    ],
};

pub(super) const LIMITS: KeyTable =
    KeyTable { name: "[limits]", keys: &["runs", "runs_per_agent", "runs_per_story"] };

pub(super) const SERVER: KeyTable = KeyTable { name: "[server]", keys: &["listen", "origins"] };
