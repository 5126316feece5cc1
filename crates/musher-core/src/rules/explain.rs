//! Why the rules say what they say, and which rules can never say anything.

use super::{Reach, Rule, ToolRules, ToolUse, Verdict, command};
use crate::ToolKind;

/// The lists of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleList {
    Allow,
    Ask,
    Deny,
    /// Granted by a person in answer to an ask.
    Granted,
    /// Denied unless a rule names the place.
    Protected,
}

impl RuleList {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Granted => "granted",
            Self::Protected => "protected",
        }
    }
}

/// What the rules say to one use, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub verdict: Verdict,
    /// Where the rule that decides stands; none if no rule does.
    pub list: Option<RuleList>,
    /// Why that rule decides, in a sentence.
    pub why: String,
    /// The other rules that fit the use.
    pub beaten: Vec<(RuleList, Rule)>,
}

/// A rule that decides nothing, whatever is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRule {
    pub list: RuleList,
    /// Its place in the list.
    pub index: usize,
    pub rule: Rule,
    /// Why, in words that go on from the rule.
    pub why: String,
}

impl ToolRules {
    /// The verdict on a use, with the rule that decides and those that it beats.
    pub fn explain(&self, tool_use: &ToolUse<'_>) -> Explained {
        let verdict = self.verdict(tool_use);
        let fitting = self.fitting(tool_use);
        let (lists, decides): (&[RuleList], _) = match &verdict {
            Verdict::Deny(rule) => (&[RuleList::Deny, RuleList::Protected], Some(rule)),
            Verdict::Ask(rule) => {
                (&[RuleList::Ask, RuleList::Deny, RuleList::Protected], Some(rule))
            }
            Verdict::Allow(rule) => (&[RuleList::Granted, RuleList::Allow], Some(rule)),
            Verdict::Unsettled => (&[], None),
        };
        let holds = |list: &RuleList, rule: &Rule| self.of(*list).contains(rule);
        let list = decides.and_then(|rule| lists.iter().copied().find(|list| holds(list, rule)));
        let beaten: Vec<(RuleList, Rule)> = fitting
            .into_iter()
            .filter(|(of, rule)| Some(*of) != list || Some(rule) != decides)
            .collect();
        let asks = beaten.iter().any(|(list, _)| *list == RuleList::Ask);
        let why = match (&verdict, list) {
            (Verdict::Deny(_), Some(RuleList::Protected)) => {
                "an agent's program would run this file, and no rule names its place".to_owned()
            }
            (Verdict::Deny(_), _) => "deny beats every other rule".to_owned(),
            (Verdict::Allow(_), Some(RuleList::Granted)) => {
                "a person granted it in answer to an ask".to_owned()
            }
            (Verdict::Allow(rule), _) if asks => {
                format!("`{rule}` is more specific than every ask rule that fits")
            }
            (Verdict::Allow(_), _) => "no deny or ask rule fits".to_owned(),
            (Verdict::Ask(_), Some(RuleList::Ask)) => {
                match beaten.iter().any(|(list, _)| *list == RuleList::Allow) {
                    true => "no allow rule that fits is more specific than it".to_owned(),
                    false => "no deny or allow rule fits".to_owned(),
                }
            }
            (Verdict::Ask(_), _) => {
                "the call is too long to be seen whole, and this rule might fit the rest".to_owned()
            }
            (Verdict::Unsettled, _) => {
                "no rule fits; the agent's own settings decide, and if it asks, you are asked"
                    .to_owned()
            }
        };
        Explained { verdict, list, why, beaten }
    }

    fn fitting(&self, tool_use: &ToolUse<'_>) -> Vec<(RuleList, Rule)> {
        let lists = [
            (RuleList::Deny, Reach::AnyPart),
            (RuleList::Protected, Reach::AnyPart),
            (RuleList::Granted, Reach::EveryPart),
            (RuleList::Ask, Reach::AnyPart),
            (RuleList::Allow, Reach::EveryPart),
        ];
        let mut found = Vec::new();
        for (list, reach) in lists {
            let fits = self.of(list).iter().filter(|rule| rule.matches(tool_use, reach));
            found.extend(fits.map(|rule| (list, rule.clone())));
        }
        found
    }

    fn of(&self, list: RuleList) -> &[Rule] {
        match list {
            RuleList::Allow => &self.allow,
            RuleList::Ask => &self.ask,
            RuleList::Deny => &self.deny,
            RuleList::Granted => &self.granted,
            RuleList::Protected => &self.protected,
        }
    }

    /// The rules that can never decide anything, with the reason.
    pub fn dead(&self) -> Vec<DeadRule> {
        let mut dead = Vec::new();
        for list in [RuleList::Allow, RuleList::Ask, RuleList::Deny, RuleList::Granted] {
            for (index, rule) in self.of(list).iter().enumerate() {
                if let Some(why) = self.why_dead(list, rule) {
                    dead.push(DeadRule { list, index, rule: rule.clone(), why });
                }
            }
        }
        dead
    }

    fn why_dead(&self, list: RuleList, rule: &Rule) -> Option<String> {
        if let Some(why) = fits_nothing(list, rule) {
            return Some(why);
        }
        let bans = |ban: &&Rule| list != RuleList::Deny && ban.covers(rule);
        if let Some(ban) = self.deny.iter().find(bans) {
            return Some(format!("never wins, because deny `{ban}` covers all of it"));
        }
        let ties = |ask: &&Rule| list == RuleList::Allow && ask.covers(rule) && rule.covers(ask);
        let ask = self.ask.iter().find(ties)?;
        Some(format!("never wins, because ask `{ask}` is as specific, and then ask wins"))
    }

    /// The pairs of an allow rule and an ask rule that it is more specific than. Builds before 0.2 asked there.
    pub fn loosened(&self) -> Vec<(&Rule, &Rule)> {
        let narrower = |allow: &Rule, ask: &Rule| ask.covers(allow) && !allow.covers(ask);
        let mut pairs = Vec::new();
        for allow in &self.allow {
            pairs
                .extend(self.ask.iter().filter(|ask| narrower(allow, ask)).map(|ask| (allow, ask)));
        }
        pairs
    }
}

/// Why a rule fits nothing that an agent can do.
fn fits_nothing(list: RuleList, rule: &Rule) -> Option<String> {
    let pattern = rule.pattern.as_deref()?;
    match rule.kind()? {
        ToolKind::Read | ToolKind::Edit | ToolKind::Search => {
            let parts = || pattern.split('/');
            if parts().any(|part| part == "..") {
                return Some("fits nothing, because paths are compared without `..`".into());
            }
            (parts().next() == Some("~")).then(|| {
                "fits nothing, because `~` has no meaning here; write the whole path".into()
            })
        }
        ToolKind::Execute if matches!(list, RuleList::Allow | RuleList::Granted) => {
            let several = pattern != "*" && !command::may_be_one(pattern);
            several.then(|| {
                "fits nothing, because each command of a line is compared alone and none with redirections is allowed".into()
            })
        }
        ToolKind::Execute
        | ToolKind::Fetch
        | ToolKind::Mcp
        | ToolKind::Subagent
        | ToolKind::Question
        | ToolKind::Plan
        | ToolKind::Other => None,
    }
}
