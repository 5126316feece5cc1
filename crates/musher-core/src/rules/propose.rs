//! The rule that "always" would grant: the narrowest one that is still of use, or none where none is safe.

use super::order::{KINDS, is_literal};
use super::path::{self, Where};
use super::{Reach, Rule, ToolUse, command};
use crate::ToolKind;

/// A rule that a person cannot take in at a glance is not offered.
const MAX_PROPOSED_RULE_BYTES: usize = 200;

/// Commands whose arguments may vary. What they run is what the agent wrote in its worktree anyway, so that no
/// argument gives them more power than they have.
const ANY_ARGUMENTS: &[(&str, &[&str])] = &[
    ("bun", &["test"]),
    ("bundle", &["install"]),
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "nextest", "test", "tree"]),
    ("deno", &["check", "fmt", "lint", "test"]),
    ("dotnet", &["build", "test"]),
    ("git", &["add", "ls-files", "rev-parse", "status"]),
    ("go", &["build", "fmt", "test", "vet"]),
    ("gradle", &["build", "check", "test"]),
    ("mix", &["compile", "format", "test"]),
    ("mvn", &["compile", "test", "verify"]),
    ("npm", &["ci", "test"]),
    ("pnpm", &["test"]),
    ("swift", &["build", "test"]),
    ("yarn", &["test"]),
    ("zig", &["build", "fmt", "test"]),
];

impl Rule {
    /// The rule that a person grants by saying "always" to this use. It fits the use itself, never fits it with another
    /// command behind it, and is absent where no rule is both safe and of use.
    pub fn for_use(tool_use: &ToolUse<'_>) -> Option<Self> {
        let rule = match tool_use.kind {
            ToolKind::Execute => Self::of(tool_use, for_command(tool_use.subject?)?),
            ToolKind::Read | ToolKind::Edit | ToolKind::Search => {
                Self::of(tool_use, for_path(tool_use)?)
            }
            ToolKind::Fetch => Self::of(tool_use, for_address(tool_use.subject?)?),
            // The inputs of a tool server have no known shape, so its tool is the least that can be named.
            ToolKind::Mcp => Self { tool: own_name(tool_use.tool)?, pattern: None },
            ToolKind::Subagent | ToolKind::Question | ToolKind::Plan | ToolKind::Other => {
                return None;
            }
        };
        // What is offered is what will be read back from a file, and it must answer the very use it was made from.
        let read: Self = rule.to_string().parse().ok()?;
        (read == rule && rule.matches(tool_use, Reach::EveryPart)).then_some(rule)
    }

    fn of(tool_use: &ToolUse<'_>, pattern: String) -> Self {
        Self { tool: tool_use.kind.as_str().to_owned(), pattern: Some(pattern) }
    }
}

/// The command itself, or its first two words where the rest may vary.
fn for_command(line: &str) -> Option<String> {
    let command = command::only(line)?;
    let mut words = command.split_whitespace();
    let (program, verb) = (words.next()?, words.next());
    if command::runs_others(program) {
        return None;
    }
    if let (Some(verb), true) = (verb, takes_any_arguments(program, verb)) {
        return Some(format!("{program} {verb} *"));
    }
    // What a variable or a set of files stands for may be something else the next time.
    (is_plain(command) && !command.contains(['$', '['])).then(|| command.to_owned())
}

/// Whether the arguments behind a verb give the command no more power than it has.
pub(super) fn takes_any_arguments(program: &str, verb: Option<&str>) -> bool {
    let known = ANY_ARGUMENTS.iter().find(|(known, _)| *known == program);
    known.is_some_and(|(_, verbs)| verb.is_some_and(|verb| verbs.contains(&verb)))
}

fn for_path(tool_use: &ToolUse<'_>) -> Option<String> {
    let path = tool_use.resolved.or(tool_use.subject)?;
    let path = match (path::placed(path, tool_use.cwd), tool_use.kind) {
        // Whoever writes there decides what git or Musher does next.
        (Where::Inside(path), ToolKind::Edit) if is_reserved(&path) => return None,
        (Where::Outside(_), ToolKind::Edit) => return None,
        (Where::Inside(path) | Where::Outside(path), _) => path,
    };
    is_plain(&path).then_some(path)
}

fn is_reserved(path: &str) -> bool {
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git") || part == ".musher")
}

/// All of a site that is reached by its name and in secret; else the address itself.
pub(super) fn for_address(address: &str) -> Option<String> {
    let address = address.trim();
    let host = address.strip_prefix("https://").and_then(|rest| rest.split('/').next());
    let named = |host: &str| {
        host.contains('.')
            && host.contains(|c: char| c.is_ascii_alphabetic())
            && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    };
    match host.filter(|host| named(host)) {
        Some(host) if address.len() > "https://".len() + host.len() => {
            Some(format!("https://{host}/*"))
        }
        Some(_) | None => is_plain(address).then(|| address.to_owned()),
    }
}

/// A tool's own name, if it cannot be mistaken for a kind or a family of tools.
fn own_name(tool: &str) -> Option<String> {
    let is_kind = KINDS.iter().any(|kind| tool.eq_ignore_ascii_case(kind.as_str()));
    (!is_kind && is_plain(tool)).then(|| tool.to_owned())
}

/// Whether a text means itself as a pattern, and shows a person what it is.
pub(super) fn is_plain(text: &str) -> bool {
    let shown = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    !text.is_empty()
        && text.len() <= MAX_PROPOSED_RULE_BYTES
        && is_literal(text)
        && text.chars().all(shown)
}
