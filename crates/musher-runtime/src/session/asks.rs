//! The asks of a session: who may answer, until when, and who did.

mod judge;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use musher_core::{
    Answer, Approval, Ask, AskDecision, AskId, ClosedBy, Rule, ToolKind, ToolPhase, ToolRules,
    ToolUpdate, ToolUse, Verdict, is_cut, merged,
};
use serde_json::Value as Json;
use tokio::time::Instant;

use super::port::{PermissionRequest, PermissionVerdict};
use super::{AskPolicy, CommandError};

/// Closed asks that are remembered, so that a late answer can be told who won.
const REMEMBERED: usize = 1024;

#[derive(Debug)]
struct Open {
    body: Ask,
    deadline: Option<Instant>,
    /// When the person is reminded; none once that was done.
    remind: Option<Instant>,
}

/// Every ask of one session.
#[derive(Debug)]
pub(super) struct SessionAsks {
    rules: ToolRules,
    policy: AskPolicy,
    reminder: Option<Duration>,
    cwd: PathBuf,
    open: BTreeMap<AskId, Open>,
    closed: HashMap<AskId, ClosedBy>,
}

/// A call that somebody asked about, or that needs permission.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    tool: &'a str,
    kind: ToolKind,
    subject: Option<&'a str>,
    input: &'a Json,
    shortened: bool,
}

impl<'a> From<&'a Approval> for Wanted<'a> {
    fn from(approval: &'a Approval) -> Self {
        let Approval { tool, tool_kind, subject, input, shortened, .. } = approval;
        let shortened = shortened.is_some();
        Self { tool, kind: *tool_kind, subject: subject.as_deref(), input, shortened }
    }
}

impl<'a> From<&'a PermissionRequest> for Wanted<'a> {
    fn from(request: &'a PermissionRequest) -> Self {
        let PermissionRequest { tool, kind, subject, input, shortened, .. } = request;
        Self { tool, kind: *kind, subject: subject.as_deref(), input, shortened: *shortened }
    }
}

impl Wanted<'_> {
    /// Whether what the rules look at may have been cut.
    fn is_unseen(&self) -> bool {
        let by_texts = matches!(self.kind, ToolKind::Mcp | ToolKind::Other);
        self.shortened && (by_texts || self.subject.is_none_or(is_cut))
    }
}

/// What becomes of a new ask.
#[derive(Debug)]
pub(super) enum Fate {
    Settled {
        by: ClosedBy,
        answer: Answer,
    },
    /// It waits, with this much time.
    Waits {
        deadline: Option<Duration>,
        /// What "always" would grant.
        rule: Option<Rule>,
    },
}

impl SessionAsks {
    pub(super) fn new(rules: ToolRules, policy: AskPolicy, cwd: PathBuf) -> Self {
        let (open, closed) = (BTreeMap::new(), HashMap::new());
        Self { rules, policy, reminder: None, cwd, open, closed }
    }

    /// The same, with a reminder of what has waited this long.
    pub(super) fn reminding_after(self, reminder: Option<Duration>) -> Self {
        Self { reminder, ..self }
    }

    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes in an ask: a rule settles it, nobody is there, or it waits.
    pub(super) fn open(&mut self, ask: &AskId, body: &Ask) -> Fate {
        // An agent may use an id again; then it is a new ask.
        self.closed.remove(ask);
        if let Some(answer) = self.by_rule(body) {
            self.remember(ask.clone(), ClosedBy::Rule);
            return Fate::Settled { by: ClosedBy::Rule, answer };
        }
        match self.policy {
            AskPolicy::Deny => {
                self.remember(ask.clone(), ClosedBy::Unattended);
                let reason = "Nobody is there to answer, so this was denied. Continue without it.";
                Fate::Settled {
                    by: ClosedBy::Unattended,
                    answer: Answer::Deny { reason: reason.into() },
                }
            }
            AskPolicy::Wait { deadline, .. } => {
                let until = deadline.and_then(|wait| Instant::now().checked_add(wait));
                let remind = self.reminder.and_then(|wait| Instant::now().checked_add(wait));
                let open = Open { body: body.clone(), deadline: until, remind };
                self.open.insert(ask.clone(), open);
                Fate::Waits { deadline, rule: self.proposal(body) }
            }
        }
    }

    fn by_rule(&self, body: &Ask) -> Option<Answer> {
        let Ask::Approval(approval) = body else {
            return None;
        };
        match self.judge(approval, &self.rules) {
            Verdict::Deny(rule) => Some(Answer::Deny { reason: self.forbidden(&rule) }),
            Verdict::Allow(_) if !approval.human_only => Some(Answer::Allow { input: None }),
            Verdict::Allow(_) | Verdict::Ask(_) | Verdict::Unsettled => None,
        }
    }

    /// The rule that a person would grant by saying "always".
    fn proposal(&self, body: &Ask) -> Option<Rule> {
        let Ask::Approval(approval) = body else {
            return None;
        };
        match approval.human_only {
            true => None,
            false => self.with_use((&**approval).into(), Rule::for_use),
        }
    }

    /// What the rules say to a call that the agent has not asked about.
    pub(super) fn permission(&self, request: &PermissionRequest) -> PermissionVerdict {
        match self.verdict(request.into()) {
            Verdict::Deny(rule) => PermissionVerdict::Deny { reason: self.forbidden(&rule) },
            // What a person must be asked about is never waved through.
            Verdict::Allow(_) if matches!(request.kind, ToolKind::Question | ToolKind::Plan) => {
                PermissionVerdict::NoOpinion
            }
            Verdict::Allow(_) => PermissionVerdict::Allow,
            Verdict::Ask(_) => PermissionVerdict::Ask,
            Verdict::Unsettled => PermissionVerdict::NoOpinion,
        }
    }

    /// Why a call is denied.
    fn forbidden(&self, rule: &Rule) -> String {
        match self.rules.protected.contains(rule) && !self.rules.deny.contains(rule) {
            false => format!("The rule `{rule}` forbids this."),
            true => format!(
                "An agent's program would run what stands there, so `{rule}` is denied unless the person names that path in a rule."
            ),
        }
    }

    fn verdict(&self, wanted: Wanted<'_>) -> Verdict {
        self.with_use(wanted, |wanted| self.rules.verdict(wanted))
    }

    /// Shows somebody a call as the rules see it.
    fn with_use<T>(&self, wanted: Wanted<'_>, look: impl FnOnce(&ToolUse<'_>) -> T) -> T {
        let unseen = wanted.is_unseen();
        let Wanted { tool, kind, subject, input, .. } = wanted;
        let mut texts = Vec::new();
        let resolved = match kind {
            ToolKind::Read | ToolKind::Edit | ToolKind::Search => {
                subject.map(|path| resolve(&self.cwd, path))
            }
            ToolKind::Mcp | ToolKind::Other => {
                gather(input, &mut texts);
                None
            }
            ToolKind::Execute
            | ToolKind::Fetch
            | ToolKind::Subagent
            | ToolKind::Question
            | ToolKind::Plan => None,
        };
        look(&ToolUse {
            tool,
            kind,
            subject,
            resolved: resolved.as_deref(),
            texts: &texts,
            cwd: &self.cwd.to_string_lossy(),
            unseen,
        })
    }

    /// Takes a person's answer, or says why it comes too late, does not fit or may not be given. What a person has
    /// changed of a call is told, because it is what will be done.
    pub(super) fn answer(
        &mut self,
        ask: &AskId,
        answer: &Answer,
    ) -> Result<Option<ToolUpdate>, CommandError> {
        if let Some(by) = self.closed.get(ask) {
            return Err(CommandError::AskClosed { ask: ask.clone(), by: *by });
        }
        let Some(open) = self.open.get(ask) else {
            return Err(CommandError::NoSuchAsk(ask.clone()));
        };
        open.body
            .accepts(answer)
            .map_err(|why| CommandError::WrongAnswer { ask: ask.clone(), why })?;
        let changed = match (&open.body, answer) {
            (Ask::Approval(approval), Answer::Allow { input: Some(_) })
                if approval.shortened.is_some() =>
            {
                let why = "it is too long to be changed here; allow it as it is, or deny it";
                return Err(CommandError::WrongAnswer { ask: ask.clone(), why });
            }
            (Ask::Approval(approval), Answer::Allow { input: Some(_) }) if approval.as_is => {
                let why = "this agent takes yes or no only; allow it as it is, or deny it";
                return Err(CommandError::WrongAnswer { ask: ask.clone(), why });
            }
            (Ask::Approval(approval), Answer::Allow { input: Some(changes) }) => {
                self.changed(approval, changes)?
            }
            (Ask::Approval(approval), Answer::AllowAlways { rule: Some(rule), .. }) => {
                self.check_grant(ask, approval, rule)?;
                if !self.rules.granted.contains(rule) {
                    self.rules.granted.push(rule.clone());
                }
                None
            }
            _ => None,
        };
        self.close(ask, ClosedBy::Person);
        Ok(changed)
    }

    /// A grant must at least fit the use to which it is the answer.
    fn check_grant(
        &self,
        ask: &AskId,
        approval: &Approval,
        rule: &Rule,
    ) -> Result<(), CommandError> {
        let alone = ToolRules { granted: vec![rule.clone()], ..ToolRules::default() };
        match self.judge(approval, &alone) {
            Verdict::Allow(_) => Ok(()),
            Verdict::Deny(_) | Verdict::Ask(_) | Verdict::Unsettled => {
                let why = "the rule does not fit what is asked; grant the one that was offered";
                Err(CommandError::WrongAnswer { ask: ask.clone(), why })
            }
        }
    }

    /// Closes what waits and is answered by the rules as they are now.
    pub(super) fn settled(&mut self) -> Vec<(AskId, Answer)> {
        let answered =
            |(ask, open): (&AskId, &Open)| Some((ask.clone(), self.by_rule(&open.body)?));
        let settled: Vec<(AskId, Answer)> = self.open.iter().filter_map(answered).collect();
        settled.iter().for_each(|(ask, _)| {
            self.close(ask, ClosedBy::Rule);
        });
        settled
    }

    /// The call as a person has changed it; a ban holds for people too.
    fn changed(
        &self,
        approval: &Approval,
        changes: &Json,
    ) -> Result<Option<ToolUpdate>, CommandError> {
        let input = merged(&approval.input, Some(changes));
        let subject = match &approval.subject_field {
            Some(field) => input[field].as_str().map(str::to_owned),
            None => approval.subject.clone(),
        };
        let subject_now = subject.as_deref();
        let wanted = Wanted { subject: subject_now, input: &input, ..Wanted::from(approval) };
        let verdict = self.verdict(wanted);
        if let Verdict::Deny(rule) = verdict {
            return Err(CommandError::Forbidden(rule.to_string()));
        }
        Ok(approval.call.clone().map(|call| ToolUpdate {
            subject,
            input: Some(input),
            ..ToolUpdate::phase(call, ToolPhase::Running)
        }))
    }

    /// Closes an ask that is open; `false` if it was not.
    pub(super) fn close(&mut self, ask: &AskId, by: ClosedBy) -> bool {
        let was_open = self.open.remove(ask).is_some();
        if was_open {
            self.remember(ask.clone(), by);
        }
        was_open
    }

    /// Closes everything that is open.
    pub(super) fn close_all(&mut self, by: ClosedBy) -> Vec<AskId> {
        let asks: Vec<AskId> = self.open.keys().cloned().collect();
        asks.iter().for_each(|ask| {
            self.close(ask, by);
        });
        asks
    }

    /// When the next deadline passes.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let times = self.open.values().flat_map(|open| [open.deadline, open.remind]);
        times.flatten().min()
    }

    /// What is to be said about asks that have waited for a while; each is told once.
    pub(super) fn reminders(&mut self) -> Vec<String> {
        let (now, waited) = (Instant::now(), self.reminder.unwrap_or_default());
        let mut due = Vec::new();
        for open in self.open.values_mut() {
            if open.remind.is_some_and(|at| at <= now) {
                open.remind = None;
                due.push(format!(
                    "Still waiting for you after {}: {}",
                    words(waited),
                    about(&open.body)
                ));
            }
        }
        due
    }

    /// Closes what is overdue with its default.
    pub(super) fn overdue(&mut self) -> Vec<(AskId, Answer)> {
        let now = Instant::now();
        let due: Vec<(AskId, Answer)> = self
            .open
            .iter()
            .filter(|(_, open)| open.deadline.is_some_and(|deadline| deadline <= now))
            .map(|(ask, open)| (ask.clone(), self.default_answer(&open.body)))
            .collect();
        due.iter().for_each(|(ask, _)| {
            self.close(ask, ClosedBy::Deadline);
        });
        due
    }

    fn default_answer(&self, body: &Ask) -> Answer {
        let default = match self.policy {
            AskPolicy::Wait { default, .. } => default,
            AskPolicy::Deny => AskDecision::Deny,
        };
        let may_allow = match body {
            // What nobody could see whole is not waved through because nobody looked.
            Ask::Approval(approval) => {
                !approval.human_only && !Wanted::from(&**approval).is_unseen()
            }
            // Nobody can answer a question or approve a plan for a person.
            Ask::Plan { .. } | Ask::Question { .. } | Ask::Form { .. } => false,
        };
        if default == AskDecision::Allow && may_allow {
            Answer::Allow { input: None }
        } else {
            Answer::Deny { reason: "No answer came in time. Continue without it.".into() }
        }
    }

    fn remember(&mut self, ask: AskId, by: ClosedBy) {
        if self.closed.len() >= REMEMBERED {
            self.closed.clear();
        }
        self.closed.insert(ask, by);
    }
}

/// Every text in a value.
fn gather<'a>(value: &'a Json, texts: &mut Vec<&'a str>) {
    if let Some(text) = value.as_str() {
        texts.push(text);
    }
    value.as_array().into_iter().flatten().for_each(|item| gather(item, texts));
    value.as_object().into_iter().flatten().for_each(|(_, item)| gather(item, texts));
}

/// Links that are followed before a path is given up as leading in circles.
const LINKS: usize = 16;

/// The path as the disk has it: a link that leads out of the folder is seen as what it leads to, whether that is
/// there or not.
fn resolve(cwd: &Path, path: &str) -> String {
    let mut full = cwd.join(path);
    for _ in 0..LINKS {
        let mut missing = Vec::new();
        let mut existing = full.clone();
        let link = loop {
            if let Ok(real) = existing.canonicalize() {
                let resolved = missing.iter().rev().fold(real, |path, part| path.join(part));
                return resolved.to_string_lossy().into_owned();
            }
            if let Ok(target) = existing.read_link() {
                break existing.parent().unwrap_or(cwd).join(target);
            }
            // `..` below something that does not exist is settled by the rules, on the plain path.
            match (existing.parent().map(Path::to_path_buf), existing.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    existing = parent;
                }
                _ => return full.to_string_lossy().into_owned(),
            }
        };
        full = missing.iter().rev().fold(link, |path, part| path.join(part));
    }
    // It leads nowhere that could be found out, and so nowhere that was granted.
    "/".to_owned()
}

/// What an ask is about, in a line.
fn about(body: &Ask) -> String {
    match body {
        Ask::Approval(approval) => match &approval.subject {
            Some(subject) => {
                format!("{} {}", approval.tool, subject.lines().next().unwrap_or_default())
            }
            None => approval.tool.clone(),
        },
        Ask::Question { questions } => match questions.first() {
            Some(question) => question.text.lines().next().unwrap_or_default().to_owned(),
            None => "a question".to_owned(),
        },
        Ask::Plan { .. } => "a plan".to_owned(),
        Ask::Form { .. } => "a form".to_owned(),
    }
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_folder_is_seen_as_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", cwd.join("innocent")).unwrap();
        std::os::unix::fs::symlink("/no/such/place", cwd.join("dangling")).unwrap();
        std::os::unix::fs::symlink("circle", cwd.join("circle")).unwrap();
        let rules =
            ToolRules { allow: vec!["edit(./**)".parse().unwrap()], ..ToolRules::default() };
        let asks = SessionAsks::new(rules, AskPolicy::default(), cwd);
        let edit = |path: &str| {
            let (kind, subject) = (ToolKind::Edit, Some(path));
            let input = &Json::Null;
            asks.verdict(Wanted { tool: "Edit", kind, subject, input, shortened: false })
        };
        assert!(matches!(edit("new/file"), Verdict::Allow(_)));
        assert_eq!(edit("innocent/passwd"), Verdict::Unsettled);
        assert_eq!(edit("innocent/new-file"), Verdict::Unsettled);
        assert_eq!(edit("new/../../out"), Verdict::Unsettled);
        assert_eq!(edit("dangling"), Verdict::Unsettled);
        assert_eq!(edit("dangling/file"), Verdict::Unsettled);
        assert_eq!(edit("circle"), Verdict::Unsettled);
        for link in 0..30 {
            let target =
                if link == 0 { "/no/such/place".into() } else { format!("chain{}", link - 1) };
            std::os::unix::fs::symlink(target, asks.cwd.join(format!("chain{link}"))).unwrap();
        }
        assert_eq!(edit("chain29"), Verdict::Unsettled);
    }
}
