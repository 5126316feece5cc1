//! Tool rules: what an agent may do by itself, may not do, or must ask for.
//!
//! A rule is `tool` or `tool(pattern)`. `tool` is a tool's own name, a kind of tool (`read`, `edit`, `search`,
//! `execute`, `fetch`, `mcp` …) or `*`; it may contain `*`, and upper and lower case are one. The pattern is compared with what the call is about: its command, its path or its
//! address. Deny beats everything; between ask and allow the more specific rule wins, and ask where neither is; what no
//! rule names is unsettled. What a person granted while the agent worked beats ask, for that was the question it
//! answered. What is protected is denied unless a rule names its place.

mod command;
mod explain;
mod order;
mod path;
mod propose;
mod scopes;
mod wildcard;

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ToolKind;
pub use explain::{DeadRule, Explained, RuleList};
pub use path::path_fits;
pub use scopes::RuleScope;
use wildcard::Star;

/// One rule, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error(
        "the rule is empty; write a tool such as `edit`, or a tool with a pattern such as `execute(git *)`"
    )]
    Empty,
    #[error("rule `{0}` has no closing parenthesis; write `tool(pattern)`")]
    Unclosed(String),
    #[error("rule `{0}` has an empty pattern; write `{1}` to mean every use of it")]
    EmptyPattern(String, String),
    #[error(
        "rule `{0}`: `{1}` is not a tool name; it may hold letters, digits, `_`, `-`, `.`, `:` and `*`"
    )]
    BadTool(String, String),
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(RuleError::Empty);
        }
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inner =
                    rest.strip_suffix(')').ok_or_else(|| RuleError::Unclosed(text.to_owned()))?;
                if inner.trim().is_empty() {
                    return Err(RuleError::EmptyPattern(text.to_owned(), tool.trim().to_owned()));
                }
                (tool.trim_end(), Some(inner.trim().to_owned()))
            }
        };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '*');
        if tool.is_empty() || !tool.chars().all(plain) {
            return Err(RuleError::BadTool(text.to_owned(), tool.to_owned()));
        }
        Ok(Self { tool: tool.to_owned(), pattern })
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One use of one tool, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    pub tool: &'a str,
    pub kind: ToolKind,
    /// The command, path, pattern or address that the call is about.
    pub subject: Option<&'a str>,
    /// Where the path really leads, once links are followed. A grant must fit this; a ban strikes by either.
    pub resolved: Option<&'a str>,
    /// Every text of a call whose input has no known shape, such as that of a tool server.
    pub texts: &'a [&'a str],
    /// The folder that relative paths start from, absolute.
    pub cwd: &'a str,
    /// A part of these texts is missing, because the call was too long. Nobody can say what a pattern would find there.
    pub unseen: bool,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow(Rule),
    Deny(Rule),
    Ask(Rule),
    /// No rule names it.
    Unsettled,
}

/// The rules of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// What a person granted in answer to asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Rule>,
    /// What is denied unless a rule names its place, however much another rule allows. Nobody writes these down: they
    /// are known of the programs that play agents.
    #[serde(skip)]
    pub protected: Vec<Rule>,
}

impl ToolRules {
    pub fn verdict(&self, tool_use: &ToolUse<'_>) -> Verdict {
        let any = |rules: &[Rule], reach| {
            rules.iter().find(|rule| rule.matches(tool_use, reach)).cloned()
        };
        // What might be found in the part that is missing is for a person to judge.
        let might = |rules: &[Rule]| {
            let named = rules.iter().find(|rule| tool_use.unseen && rule.concerns(tool_use));
            named.cloned()
        };
        if let Some(rule) = any(&self.deny, Reach::AnyPart) {
            Verdict::Deny(rule)
        } else if let Some(rule) = any(&self.protected, Reach::AnyPart) {
            self.named(tool_use, &rule).unwrap_or(Verdict::Deny(rule))
        } else if let Some(rule) = might(&self.deny).or_else(|| might(&self.protected)) {
            Verdict::Ask(rule)
        } else if let Some(rule) = any(&self.granted, Reach::EveryPart) {
            Verdict::Allow(rule)
        } else if let Some(rule) = self.asked(tool_use, |_| true) {
            Verdict::Ask(rule.clone())
        } else if let Some(rule) = self.allowed(tool_use, |_| true) {
            Verdict::Allow(rule.clone())
        } else {
            Verdict::Unsettled
        }
    }

    /// The ask rule that holds: one that fits, and than which no allow rule that fits is more specific.
    fn asked(&self, tool_use: &ToolUse<'_>, counts: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        let fits = |ask: &Rule| {
            // What might be found in the part that is missing is for a person to judge.
            ask.matches(tool_use, Reach::AnyPart) || (tool_use.unseen && ask.concerns(tool_use))
        };
        let lifted = |ask: &Rule| {
            let lifts = |allow: &Rule| {
                allow.matches(tool_use, Reach::EveryPart) && allow.is_more_specific(ask, tool_use)
            };
            self.allow.iter().any(|allow| counts(allow) && lifts(allow))
        };
        self.ask.iter().find(|ask| counts(ask) && fits(ask) && !lifted(ask))
    }

    /// The most specific allow rule that fits.
    fn allowed(&self, tool_use: &ToolUse<'_>, counts: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        let fits = |rule: &Rule| counts(rule) && rule.matches(tool_use, Reach::EveryPart);
        let fitting: Vec<&Rule> = self.allow.iter().filter(|rule| fits(rule)).collect();
        let beaten =
            |rule: &Rule| fitting.iter().any(|other| other.is_more_specific(rule, tool_use));
        fitting.iter().find(|rule| !beaten(rule)).copied()
    }

    /// What the rules say that name the place of something protected. A wide rule does not mean it: who means it names it.
    fn named(&self, tool_use: &ToolUse<'_>, protected: &Rule) -> Option<Verdict> {
        let any = |rules: &[Rule], reach| {
            let fits = |rule: &&Rule| rule.names(protected) && rule.matches(tool_use, reach);
            rules.iter().find(fits).cloned()
        };
        any(&self.granted, Reach::EveryPart)
            .map(Verdict::Allow)
            .or_else(|| {
                let asked = self.asked(tool_use, |rule| rule.names(protected));
                asked.cloned().map(Verdict::Ask)
            })
            .or_else(|| {
                let allowed = self.allowed(tool_use, |rule| rule.names(protected));
                allowed.cloned().map(Verdict::Allow)
            })
    }

    /// Whether some rule can hold back a call that the agent would otherwise make without asking.
    pub fn restrict(&self) -> bool {
        !self.deny.is_empty() || !self.ask.is_empty()
    }

    /// Whether every call must be seen: a rule can hold one back, or something is protected.
    pub fn see_every_call(&self) -> bool {
        self.restrict() || !self.protected.is_empty()
    }
}

/// A command line may hold several commands: a grant must cover all of them, a ban strikes if it names one.
#[derive(Debug, Clone, Copy)]
enum Reach {
    AnyPart,
    EveryPart,
}

impl Rule {
    /// What stands in its parentheses.
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Whether it is for every tool, whatever it is called.
    pub fn names_every_tool(&self) -> bool {
        self.tool.chars().all(|c| c == '*')
    }

    /// Whether the place that `protected` is about stands in this rule as a name of its own.
    fn names(&self, protected: &Self) -> bool {
        let (Some(pattern), Some(place)) = (&self.pattern, &protected.pattern) else {
            return false;
        };
        let place = place.split('/').find(|part| !part.contains(['*', '?']));
        place.is_some_and(|place| pattern.split('/').any(|part| part == place))
    }

    /// Whether it is about this tool.
    fn concerns(&self, tool_use: &ToolUse<'_>) -> bool {
        let (named, tool) = (self.tool.to_lowercase(), tool_use.tool.to_lowercase());
        wildcard::matches(&named, &tool, Star::Any) || named == tool_use.kind.as_str()
    }

    fn matches(&self, tool_use: &ToolUse<'_>, reach: Reach) -> bool {
        if !self.concerns(tool_use) {
            return false;
        }
        let Some(pattern) = &self.pattern else { return true };
        if tool_use.unseen && matches!(reach, Reach::EveryPart) {
            return false;
        }
        match tool_use.kind {
            ToolKind::Execute => tool_use.subject.is_some_and(|line| match reach {
                Reach::AnyPart => command::any_part(pattern, line),
                Reach::EveryPart => command::every_part(pattern, line),
            }),
            ToolKind::Read | ToolKind::Edit | ToolKind::Search => {
                let fits = |path: &str| path::matches(pattern, path, tool_use.cwd);
                match reach {
                    Reach::AnyPart => {
                        tool_use.subject.is_some_and(fits) || tool_use.resolved.is_some_and(fits)
                    }
                    Reach::EveryPart => tool_use.resolved.or(tool_use.subject).is_some_and(fits),
                }
            }
            ToolKind::Fetch
            | ToolKind::Mcp
            | ToolKind::Subagent
            | ToolKind::Question
            | ToolKind::Plan
            | ToolKind::Other => {
                let mut texts = tool_use.subject.into_iter().chain(tool_use.texts.iter().copied());
                let fits = |text: &str| wildcard::matches(pattern, text, Star::Any);
                match reach {
                    Reach::AnyPart => texts.any(fits),
                    Reach::EveryPart => {
                        let mut texts = texts.peekable();
                        texts.peek().is_some() && texts.all(fits)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
