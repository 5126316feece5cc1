//! What a person decided while working: grants that outlive a session, and caps. It is kept in the state directory.
//!
//! The file is never in the repository, where an agent could edit it. It is read again whenever it matters, so that
//! what a person wrote into it by hand counts; a file with a mistake in it grants nothing and is never written over.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use musher_core::{AgentName, IdError, Rule, RunId, StoryId, Usd};
use toml::de::DeTable;

use super::keys::KeyTable;
use super::problem::{ConfigErrors, Problems};
use super::reader::{TableFields, ValueReader, Wrong};
use super::{file, raw, value};

/// The file in the state directory.
const FILE: &str = "local.toml";

/// What the file begins with.
const HEAD: &str = "# What was granted and capped while working, see docs/project-file.md. Musher writes this file anew \
                    when that changes; comments are not kept.\n";

/// More grants than this are no decisions any more.
const MAX_GRANTS: usize = 1000;

const TOP: KeyTable = KeyTable { name: "local.toml", keys: &["grant", "caps"] };
const GRANT: KeyTable =
    KeyTable { name: "[[grant]]", keys: &["agent", "rule", "story", "run", "at"] };
const CAPS: KeyTable = KeyTable { name: "[caps]", keys: &["day_usd"] };

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalSettings {
    pub grants: Vec<LocalGrant>,
    pub caps: LocalCaps,
}

/// Whom a rule was granted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantHolder {
    Agent(AgentName),
    /// Every agent of the project. No agent has the name that stands for it.
    Everyone,
}

impl GrantHolder {
    /// Stands for every agent.
    const EVERYONE: &str = "*";

    fn has(&self, agent: &AgentName) -> bool {
        match self {
            Self::Agent(own) => own == agent,
            Self::Everyone => true,
        }
    }
}

impl std::fmt::Display for GrantHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Everyone => f.write_str(Self::EVERYONE),
        }
    }
}

impl FromStr for GrantHolder {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text {
            Self::EVERYONE => Ok(Self::Everyone),
            agent => AgentName::parse(agent).map(Self::Agent),
        }
    }
}

/// A tool rule that a person granted in answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalGrant {
    pub agent: GrantHolder,
    pub rule: Rule,
    /// On which story it was asked; a person may have written the grant by hand.
    pub story: Option<StoryId>,
    /// In which run it was asked.
    pub run: Option<RunId>,
    /// Unix milliseconds.
    pub at: Option<i64>,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LocalCaps {
    /// By all runs together on one day (UTC); no run starts when it is reached.
    pub day_usd: Option<Usd>,
}

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error(transparent)]
    Broken(#[from] ConfigErrors),
    #[error("the rule `{rule}` cannot be kept: {why}")]
    BadRule { rule: String, why: String },
    #[error("{} holds {MAX_GRANTS} grants already", path.display())]
    Full { path: PathBuf },
    #[error("{} cannot be written: {cause}", path.display())]
    Write { path: PathBuf, cause: std::io::Error },
}

impl LocalSettings {
    /// What an agent was granted.
    pub fn granted(&self, agent: &AgentName) -> Vec<Rule> {
        let own = self.grants.iter().filter(|grant| grant.agent.has(agent));
        own.map(|grant| grant.rule.clone()).collect()
    }
}

/// The file, and the one who writes it.
#[derive(Debug)]
pub struct LocalFile {
    state: PathBuf,
    /// Held from reading to writing, so that no change is lost.
    writing: Mutex<()>,
}

impl LocalFile {
    /// The file of a state directory, whether or not it is there.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned(), writing: Mutex::default() }
    }

    pub fn path(&self) -> PathBuf {
        self.state.join(FILE)
    }

    /// Reads the file; without one, nothing is granted and nothing is capped.
    pub fn read(&self) -> Result<LocalSettings, ConfigErrors> {
        let Some(source) = file::local(&self.state, Path::new(FILE))? else {
            return Ok(LocalSettings::default());
        };
        let mut reader = ValueReader { source: &source, problems: Problems::default() };
        let (top, errors) = DeTable::parse_recoverable(&source.text);
        let mut local = LocalSettings::default();
        if errors.is_empty() {
            let top = reader.open(top.get_ref(), 0..0, TOP);
            for fields in reader.tables(&top, "grant", GRANT) {
                local.grants.extend(grant(&mut reader, &fields));
            }
            if let Some(fields) = reader.table(&top, "caps", CAPS) {
                local.caps.day_usd = reader.amount(&fields, "day_usd").map(Usd::from_dollars);
            }
        } else {
            raw::grammar(&mut reader, &errors);
        }
        match reader.problems.finish() {
            None => Ok(local),
            Some(errors) => Err(errors),
        }
    }

    /// Keeps a grant; one that is there already stays as it is.
    pub fn grant(&self, grant: LocalGrant) -> Result<(), LocalError> {
        let rule = grant.rule.to_string();
        // What could not be read back would break the whole file.
        if let Err(Wrong { message: why, .. }) = value::rule(&rule) {
            return Err(LocalError::BadRule { rule: rule.escape_debug().to_string(), why });
        }
        self.change(|local| {
            let same = |known: &LocalGrant| known.agent == grant.agent && known.rule == grant.rule;
            if local.grants.iter().any(same) {
                return Ok(false);
            }
            if local.grants.len() >= MAX_GRANTS {
                return Err(LocalError::Full { path: self.path() });
            }
            local.grants.push(grant);
            Ok(true)
        })?;
        Ok(())
    }

    /// Takes a grant back; `false` if there was none.
    pub fn revoke(&self, agent: &GrantHolder, rule: &Rule) -> Result<bool, LocalError> {
        self.change(|local| {
            let before = local.grants.len();
            local.grants.retain(|grant| !(grant.agent == *agent && grant.rule == *rule));
            Ok(local.grants.len() < before)
        })
    }

    /// Sets how much may be spent on one day.
    pub fn cap(&self, day_usd: Option<Usd>) -> Result<(), LocalError> {
        self.change(|local| Ok(std::mem::replace(&mut local.caps.day_usd, day_usd) != day_usd))?;
        Ok(())
    }

    /// Reads, changes and writes; `change` says whether anything is different.
    fn change(
        &self,
        change: impl FnOnce(&mut LocalSettings) -> Result<bool, LocalError>,
    ) -> Result<bool, LocalError> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut local = self.read()?;
        let changed = change(&mut local)?;
        if changed {
            let path = self.path();
            file::write_private(&path, local.to_text().as_bytes())
                .map_err(|cause| LocalError::Write { path, cause })?;
        }
        Ok(changed)
    }
}

impl LocalSettings {
    /// The file's text.
    fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        if let Some(usd) = self.caps.day_usd {
            text += &format!("\n[caps]\nday_usd = {}\n", toml::Value::Float(usd.dollars()));
        }
        for LocalGrant { agent, rule, story, run, at } in &self.grants {
            let quoted = |text: String| toml::Value::String(text).to_string();
            text += &format!("\n[[grant]]\nagent = {}\n", quoted(agent.to_string()));
            text += &format!("rule = {}\n", quoted(rule.to_string()));
            if let Some(story) = story {
                text += &format!("story = {}\n", quoted(story.to_string()));
            }
            if let Some(run) = run {
                text += &format!("run = {}\n", quoted(run.to_string()));
            }
            if let Some(at) = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()) {
                text += &format!("at = {at}\n");
            }
        }
        text
    }
}

fn grant(reader: &mut ValueReader<'_>, fields: &TableFields<'_, '_>) -> Option<LocalGrant> {
    reader.require(fields, "agent", "name the agent, such as agent = \"coder\"");
    reader.require(fields, "rule", "write a tool rule, such as rule = \"execute(git status)\"");
    let id = |error: IdError| Wrong::new(error.to_string());
    let agent = reader.text(fields, "agent");
    let agent = agent
        .and_then(|given| reader.parse(&given, |text| GrantHolder::from_str(text).map_err(id)));
    let rule = reader.text(fields, "rule");
    let rule = rule.and_then(|given| reader.parse(&given, value::rule));
    let story = reader.text(fields, "story");
    let story =
        story.and_then(|given| reader.parse(&given, |text| StoryId::parse(text).map_err(id)));
    let run = reader.text(fields, "run");
    let run = run.and_then(|given| reader.parse(&given, |text| RunId::parse(text).map_err(id)));
    let at = reader.moment(fields, "at");
    Some(LocalGrant { agent: agent?, rule: rule?, story, run, at })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn at(folder: &tempfile::TempDir) -> LocalFile {
        LocalFile::new(folder.path())
    }

    fn grant(agent: &str, rule: &str) -> LocalGrant {
        LocalGrant {
            agent: agent.parse().unwrap(),
            rule: rule.parse().unwrap(),
            story: Some("s1".parse().unwrap()),
            run: Some("r12".parse().unwrap()),
            at: Some(1_794_717_441_820),
        }
    }

    #[test]
    fn what_is_granted_and_capped_is_read_back_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = at(&folder);
        assert_eq!(file.read().unwrap(), LocalSettings::default());
        let tricky = r#"execute(git commit -m "it's \ 'so'")"#;
        let first = grant("coder", "execute(cargo test *)");
        file.grant(first.clone()).unwrap();
        file.grant(first.clone()).unwrap();
        file.grant(grant("coder", tricky)).unwrap();
        file.grant(grant("other", "mcp__db__query")).unwrap();
        file.grant(grant("*", "fetch(https://docs.example/*)")).unwrap();
        file.cap(Some(Usd::from_dollars(2.5))).unwrap();
        let local = file.read().unwrap();
        assert_eq!(local.grants[0], first);
        assert_eq!(local.grants.len(), 4, "a grant is kept once");
        assert_eq!(local.caps.day_usd, Some(Usd::from_dollars(2.5)));
        let rules: Vec<String> =
            local.granted(&"coder".parse().unwrap()).iter().map(ToString::to_string).collect();
        assert_eq!(rules, ["execute(cargo test *)", tricky, "fetch(https://docs.example/*)"]);
        assert_eq!(local.granted(&"third".parse().unwrap()).len(), 1, "every agent has one");
        let mode = file.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(file.revoke(&first.agent, &first.rule).unwrap());
        assert!(!file.revoke(&first.agent, &first.rule).unwrap());
        file.cap(None).unwrap();
        let local = file.read().unwrap();
        assert_eq!((local.grants.len(), local.caps.day_usd), (3, None));
    }

    #[test]
    fn a_file_broken_by_hand_is_reported_with_its_line_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = at(&folder);
        for (text, says) in [
            ("[[grant]]\nagent = \"a\"\nrule = \"execute(\"\n", ":3:8: "),
            ("[[grant]]\nagent = \"a\"\nrul = \"x\"\n", ":3:1: [[grant]] has no key `rul`"),
            ("[[grant]]\nrule = \"x\"\n", ":1:1: [[grant]] has no `agent`"),
            ("[[grant]]\nagent = \"../x\"\nrule = \"x\"\n", ":2:9: "),
            ("\n[caps]\nday_usd = -1\n", ":3:11: `day_usd` must be a number above 0"),
            ("[caps]\nday_usd = \"5\"\n", ":2:11: "),
            ("[caps\n", ":1:"),
            ("[[grant]]\nagent = \"a\"\nrule = \"x\"\nat = 5\n", ":4:6: "),
            ("grants = []\n", ":1:1: local.toml has no key `grants`"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let errors = file.read().unwrap_err().to_string();
            assert!(errors.contains(says), "{text:?} gives {errors}");
            assert!(errors.contains("local.toml:"), "{errors}");
            let refused = file.grant(grant("coder", "execute")).unwrap_err();
            assert!(matches!(refused, LocalError::Broken(_)), "{refused}");
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_stands_in_the_file_it_is_read_or_refused(text in "(.|\n){0,200}") {
            let folder = tempfile::tempdir().unwrap();
            let file = at(&folder);
            std::fs::write(file.path(), text).unwrap();
            let _either = file.read();
        }

        #[test]
        fn any_rule_that_is_kept_is_read_back(pattern in "[^\0]{1,60}") {
            let folder = tempfile::tempdir().unwrap();
            let file = at(&folder);
            if let Ok(rule) = format!("execute({pattern})").parse::<Rule>() {
                let given = LocalGrant { rule, ..grant("coder", "x") };
                let kept = file.grant(given.clone()).is_ok();
                proptest::prop_assert_eq!(kept, !given.rule.to_string().contains(char::is_control));
                let grants = if kept { vec![given] } else { vec![] };
                proptest::prop_assert_eq!(file.read().unwrap().grants, grants);
            }
        }
    }
}
