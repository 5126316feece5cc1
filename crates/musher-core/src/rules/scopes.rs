//! The rules that "Always allow" offers for one use, from the exact one to the widest that is safe to grant.

use super::order::is_literal;
use super::path::{self, Where};
use super::{Reach, Rule, ToolUse, command, propose};
use crate::ToolKind;

/// Programs that do whatever their arguments say: run code, reach other machines, remove or overwrite files. What was
/// agreed to once says nothing of their next arguments, so only the exact command is offered.
const EXACT_ONLY: &[&str] = &[
    "apt",
    "apt-get",
    "awk",
    "brew",
    "chmod",
    "chown",
    "cp",
    "crontab",
    "curl",
    "dd",
    "docker",
    "ed",
    "emacs",
    "find",
    "gawk",
    "gcloud",
    "gdb",
    "gh",
    "git",
    "helm",
    "install",
    "kill",
    "killall",
    "kubectl",
    "ln",
    "lua",
    "mkfs",
    "mount",
    "mv",
    "nc",
    "node",
    "npx",
    "openssl",
    "osascript",
    "perl",
    "php",
    "pip",
    "pip3",
    "pkill",
    "podman",
    "psql",
    "python",
    "python3",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "sftp",
    "shred",
    "sqlite3",
    "ssh",
    "systemctl",
    "tar",
    "tee",
    "terraform",
    "truncate",
    "uv",
    "uvx",
    "vi",
    "vim",
    "wget",
];

/// One rule that can be granted, and what it means in a few words.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RuleScope {
    pub rule: Rule,
    pub label: String,
}

impl Rule {
    /// What a person can grant for this use, the narrowest first. Each fits the use itself, survives being written and
    /// read, and never fits a line with another command behind it, save for the last one of commands, which says that
    /// it allows all of them. Empty where [`Rule::for_use`] offers nothing.
    pub fn scopes(tool_use: &ToolUse<'_>) -> Vec<RuleScope> {
        let Some(offered) = Self::for_use(tool_use) else { return Vec::new() };
        let mut scopes: Vec<RuleScope> = Vec::new();
        let wanted = match tool_use.kind {
            ToolKind::Execute => for_command(tool_use.subject.unwrap_or_default()),
            ToolKind::Read | ToolKind::Edit | ToolKind::Search => for_path(tool_use),
            ToolKind::Fetch => for_address(tool_use.subject.unwrap_or_default()),
            ToolKind::Mcp => for_server(tool_use.tool),
            ToolKind::Subagent | ToolKind::Question | ToolKind::Plan | ToolKind::Other => {
                Vec::new()
            }
        };
        let wanted =
            wanted.into_iter().map(|(pattern, label)| match tool_use.kind == ToolKind::Mcp {
                true => (pattern.unwrap_or_default(), None, label),
                false => (tool_use.kind.as_str().to_owned(), pattern, label),
            });
        for (tool, pattern, label) in wanted {
            let rule = Self { tool, pattern };
            let read = rule.to_string().parse::<Self>().ok();
            let fits = read.as_ref() == Some(&rule) && rule.matches(tool_use, Reach::EveryPart);
            if fits && scopes.iter().all(|scope| scope.rule != rule) {
                scopes.push(RuleScope { rule, label });
            }
        }
        if scopes.iter().all(|scope| scope.rule != offered) {
            let label = format!("`{offered}`");
            scopes.insert(0, RuleScope { rule: offered, label });
        }
        scopes
    }
}

type Wanted = (Option<String>, String);

/// This command, its verb, its program, every command.
fn for_command(line: &str) -> Vec<Wanted> {
    let Some(command) = command::only(line) else { return Vec::new() };
    let mut scopes = Vec::new();
    if propose::is_plain(command) && !command.contains(['$', '[']) {
        scopes.push((Some(command.to_owned()), "Only this exact command".to_owned()));
    }
    let mut words = command.split_whitespace();
    let (program, verb) = (words.next().unwrap_or_default(), words.next());
    let word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+');
        !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
    };
    let varies = propose::takes_any_arguments(program, verb);
    let open = word(program) && !EXACT_ONLY.contains(&program);
    if let Some(verb) = verb.filter(|verb| word(verb) && (varies || open)) {
        let label = format!("`{program} {verb}` with any arguments");
        scopes.push((Some(format!("{program} {verb} *")), label));
    }
    if open {
        scopes.push((Some(format!("{program} *")), format!("Every `{program}` command")));
        scopes.push((None, "Every command, without exception".to_owned()));
    }
    scopes
}

/// This file, its folder, the working folder. Edits are never opened for the whole folder, because git's own files and
/// the project file are in it.
fn for_path(tool_use: &ToolUse<'_>) -> Vec<Wanted> {
    let path = tool_use.resolved.or(tool_use.subject).unwrap_or_default();
    let (path, inside) = match path::placed(path, tool_use.cwd) {
        Where::Inside(path) => (path, true),
        Where::Outside(path) => (path, false),
    };
    let mut scopes = vec![(Some(path.clone()), "Only this path".to_owned())];
    if !inside {
        return scopes;
    }
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    if let Some(folder) = folder.filter(|folder| is_literal(folder)) {
        scopes.push((Some(format!("{folder}/**")), format!("Everything in `{folder}`")));
        let top = folder.split('/').next().unwrap_or_default();
        scopes.push((Some(format!("{top}/**")), format!("Everything in `{top}`")));
    }
    if tool_use.kind != ToolKind::Edit {
        scopes.push((Some("./**".to_owned()), "Everything in the working folder".to_owned()));
    }
    scopes
}

/// This address, its site.
fn for_address(address: &str) -> Vec<Wanted> {
    let address = address.trim();
    let mut scopes = Vec::new();
    if propose::is_plain(address) {
        scopes.push((Some(address.to_owned()), "Only this address".to_owned()));
    }
    if let Some(site) = propose::for_address(address).filter(|site| site.ends_with("/*")) {
        let label = format!("Everything at {}", site.trim_end_matches("/*"));
        scopes.push((Some(site), label));
    }
    scopes
}

/// This tool, all tools of its server. What stands first is the name of the tool and no pattern.
fn for_server(tool: &str) -> Vec<Wanted> {
    let mut scopes = vec![(Some(tool.to_owned()), "Every use of this tool".to_owned())];
    let server = tool.rsplit_once("__").map(|(server, _)| server);
    if let Some(server) = server.filter(|server| server.contains("__")) {
        let name = server.rsplit("__").next().unwrap_or(server);
        scopes.push((Some(format!("{server}__*")), format!("Every tool of the server `{name}`")));
    }
    scopes
}
