//! Prompts with blanks: a small part of Jinja, checked when the file is read.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::machinery::{Token, tokenize};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, filters, syntax::SyntaxConfig};
use musher_core::{AgentName, Variables};

use super::agent::TemplateContext;
use super::nearest;
use super::reader::{Wrong, shown};

/// What an agent is asked if its project file says nothing else.
pub const DEFAULT_PROMPT: &str = "\
{{ story.title }}

{{ story.text }}

Work in this folder; it is a git worktree of your own, on the branch {{ branch }}. What you leave uncommitted is \
committed for you at the end. When you are done, say in a few sentences what you did and what is left to do.";

/// What an agent is told when it goes on with an earlier session and nothing else is said.
pub const DEFAULT_CONTINUE_PROMPT: &str = "Continue where you left off.";

/// What the names begin with that a story or a start gives values to.
const OWN: &str = "set";

/// Every name that a template may use, beside those that a story or a start gives values to.
pub(super) const VARIABLES: &[&str] = &[
    "story.id",
    "story.title",
    "story.text",
    "worktree",
    "branch",
    "base_branch",
    "agent.name",
    "agent.role",
    "agent.model",
];

/// Every filter that a template may use; none of them makes a long text out of a short one.
pub(super) const FILTERS: &[&str] = &[
    "capitalize",
    "default",
    "first",
    "last",
    "length",
    "lines",
    "lower",
    "title",
    "trim",
    "upper",
];

/// Every statement that a template may use. There is nothing to loop over.
pub(super) const STATEMENTS: &[&str] = &["if", "elif", "else", "endif", "raw", "endraw"];

/// Words of the language that are no variables.
const WORDS: &[&str] = &[
    "and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None",
];

/// The engine reads a tag and a chain of `elif`s by recursion, so their lengths are bounded.
const MAX_TAG_BYTES: usize = 100;
const MAX_ELIF_BRANCHES: usize = 50;
const DEEPEST: usize = 20;

/// More mistakes than this in one template help nobody.
const MAX_TEMPLATE_FAULTS: usize = 20;

/// A text with blanks that was found to be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
}

/// Why a text could not be made of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent {agent}: line {line} of its {field} cannot be filled in: {cause}")]
pub struct TemplateError {
    pub agent: AgentName,
    /// The key in the project file.
    pub field: &'static str,
    pub line: usize,
    pub cause: String,
}

/// A mistake in a template: which bytes of it, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateFault {
    pub(super) span: Range<usize>,
    pub(super) wrong: Wrong,
}

impl Template {
    /// Checks a text for the grammar and for names that there are not.
    pub(super) fn check(text: &str) -> Result<Self, Vec<TemplateFault>> {
        let Scan { mut faults, own, .. } = scan(text, VARIABLES);
        if faults.is_empty() {
            faults.extend(try_out(text, &own));
        }
        match faults.is_empty() {
            true => Ok(Self { text: text.to_owned() }),
            false => Err(faults),
        }
    }

    /// A text of our own, which the tests check.
    pub(super) fn built_in(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Fills in the blanks, or says on which line and why not.
    pub(super) fn render(&self, values: &Value) -> Result<String, (usize, String)> {
        fill(&self.text, values).map_err(|error| {
            let is_undefined = error.kind() == minijinja::ErrorKind::UndefinedError;
            let missing = is_undefined.then(|| missing(&self.text, values)).flatten();
            (error.line().unwrap_or(1), missing.unwrap_or_else(|| in_words(&error)))
        })
    }
}

/// Fills in a text in which only the given variables may stand; the error says what is wrong with it.
pub fn fill_in(text: &str, set: &Variables) -> Result<String, String> {
    let values = minijinja::context! { set => set };
    let Scan { faults, .. } = scan(text, &[]);
    if let Some(TemplateFault { wrong: Wrong { message, fix }, .. }) = faults.into_iter().next() {
        return Err(fix.map_or(message.clone(), |fix| format!("{message}; {fix}")));
    }
    let said = Template::built_in(text).render(&values);
    said.map_err(|(line, cause)| format!("line {line} cannot be filled in: {cause}"))
}

/// The first variable of a template that has no value, in words, with the one that was likely meant.
fn missing(text: &str, values: &Value) -> Option<String> {
    let set = values.get_attr(OWN).ok()?;
    let given = |name: &str| set.get_attr(name).is_ok_and(|value| !value.is_undefined());
    let own = scan(text, VARIABLES).own;
    let name = own.iter().find(|name| !given(name))?;
    let known: Vec<String> = set.try_iter().ok()?.map(|key| key.to_string()).collect();
    let instead = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{OWN}.{near}`?"),
        None => format!("give it with --set {name}=VALUE, or in the story's context"),
    };
    Some(format!("there is no variable `{OWN}.{name}`; {instead}"))
}

/// What a template sees.
pub(super) fn values(context: &TemplateContext<'_>, agent: [&str; 3]) -> Value {
    let [name, role, model] = agent;
    let TemplateContext { story, worktree, branch, base_branch, set } = *context;
    minijinja::context! {
        story => minijinja::context! { id => story.id, title => story.title, text => story.text },
        worktree => worktree,
        branch => branch,
        base_branch => base_branch,
        agent => minijinja::context! { name => name, role => role, model => model },
        set => set,
    }
}

fn fill(text: &str, values: &Value) -> Result<String, minijinja::Error> {
    let mut engine = Environment::empty();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.add_filter("capitalize", filters::capitalize);
    engine.add_filter("default", filters::default);
    engine.add_filter("first", filters::first);
    engine.add_filter("last", filters::last);
    engine.add_filter("length", filters::length);
    engine.add_filter("lines", filters::lines);
    engine.add_filter("lower", filters::lower);
    engine.add_filter("title", filters::title);
    engine.add_filter("trim", filters::trim);
    engine.add_filter("upper", filters::upper);
    engine.template_from_str(text)?.render(values)
}

fn in_words(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

/// Sample values, with these of a story's or a start's own.
pub(super) fn sample(set: &Variables) -> TemplateContext<'_> {
    let story =
        super::TemplateStory { id: "sample-1", title: "A sample", text: "What is to be done." };
    TemplateContext {
        story,
        worktree: "/sample",
        branch: "musher/sample-1/1",
        base_branch: "main",
        set,
    }
}

/// Fills in sample values, which finds what no scan of words can.
fn try_out(text: &str, own: &BTreeSet<String>) -> Option<TemplateFault> {
    let set = own.iter().map(|name| (name.clone(), "a value".to_owned())).collect();
    let sample = sample(&set);
    let error = fill(text, &values(&sample, ["sample", "coder", "model"])).err()?;
    let line = error.line().unwrap_or(1);
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text[start..].lines().next().unwrap_or_default();
    let blank = rest.len() - rest.trim_start().len();
    let wrong = Wrong::new(format!("this template cannot be filled in: {}", in_words(&error)))
        .with_fix("to write braces as they are, put them between {% raw %} and {% endraw %}");
    Some(TemplateFault { span: start + blank..start + rest.len(), wrong })
}

/// Goes through the words of every tag, in which these names may stand.
fn scan<'t>(text: &'t str, names: &'static [&'static str]) -> Scan<'t> {
    let mut scan = Scan { names, ..Scan::default() };
    for token in tokenize(text, false, SyntaxConfig::default()) {
        match token {
            Ok((token, span)) => {
                let span = span.start_offset as usize..span.end_offset as usize;
                scan.take(token, span);
            }
            // The engine itself says it better, with the line.
            Err(_) => break,
        }
        if scan.lost || scan.faults.len() >= MAX_TEMPLATE_FAULTS {
            break;
        }
    }
    scan
}

#[derive(Debug, Default)]
struct Scan<'t> {
    names: &'static [&'static str],
    /// The names that a story or a start must give values to, without what they begin with.
    own: BTreeSet<String>,
    /// The words of the tag that is open.
    tag: Vec<(Token<'t>, Range<usize>)>,
    branches: usize,
    depth: usize,
    /// A tag was given up, and what follows cannot be told from its rest.
    lost: bool,
    faults: Vec<TemplateFault>,
}

impl<'t> Scan<'t> {
    fn take(&mut self, token: Token<'t>, span: Range<usize>) {
        let ends = matches!(token, Token::VariableEnd | Token::BlockEnd);
        if !matches!(token, Token::TemplateData(_)) {
            self.tag.push((token, span));
        }
        if ends || self.tag.len() > MAX_TAG_BYTES {
            self.close();
        }
    }

    fn fault(&mut self, span: Range<usize>, wrong: Wrong) {
        self.faults.push(TemplateFault { span, wrong });
    }

    fn close(&mut self) {
        let tag = std::mem::take(&mut self.tag);
        let Some((first, start)) = tag.first() else { return };
        if tag.len() > MAX_TAG_BYTES {
            let wrong = Wrong::new("this tag is too long").with_fix("split it into several");
            self.lost = true;
            return self.fault(start.clone(), wrong);
        }
        match (first, tag.get(1)) {
            (Token::BlockStart, Some((Token::Ident(word), span))) => {
                if STATEMENTS.contains(word) {
                    self.branch(word, span.clone());
                    self.expression(&tag[2..]);
                } else {
                    let what = format!("templates have no statement `{}`", shown(word));
                    let fix = format!("they have {}", STATEMENTS.join(", "));
                    self.fault(span.clone(), Wrong::new(what).with_fix(fix));
                }
            }
            _ => self.expression(&tag[1..]),
        }
    }

    fn branch(&mut self, word: &str, span: Range<usize>) {
        match word {
            "if" => self.depth += 1,
            "elif" => self.branches += 1,
            "endif" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.branches > MAX_ELIF_BRANCHES || self.depth > DEEPEST {
            let wrong = Wrong::new("this template has too many branches");
            self.fault(span, wrong.with_fix("make it simpler"));
        }
    }

    fn expression(&mut self, words: &[(Token<'t>, Range<usize>)]) {
        let mut at = 0;
        while let Some((token, span)) = words.get(at) {
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|(token, _)| token);
            at += 1;
            match (token, before) {
                (Token::Mul | Token::Pow, _) => {
                    let wrong = Wrong::new(format!("templates have no operator {token}"));
                    self.fault(span.clone(), wrong);
                }
                (Token::Ident(name), Some(Token::Pipe)) => self.filter(name, span.clone()),
                (Token::Ident("is"), _) => {
                    let wrong = Wrong::new("templates have no tests with `is`");
                    return self
                        .fault(span.clone(), wrong.with_fix("compare with `==`, `!=` or `in`"));
                }
                // What follows a dot belongs to a name that was looked at, or to a value of the template's own.
                (Token::Ident(_), Some(Token::Dot)) => {}
                (Token::Ident(word), _) if WORDS.contains(word) => {}
                (Token::Ident(name), _) => {
                    at += self.variable(name, span.clone(), &words[at..]);
                }
                _ => {}
            }
        }
    }

    fn filter(&mut self, name: &str, span: Range<usize>) {
        if FILTERS.contains(&name) {
            return;
        }
        let fix = match nearest(name, FILTERS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", FILTERS.join(", ")),
        };
        let wrong = Wrong::new(format!("templates have no filter `{}`", shown(name)));
        self.fault(span, wrong.with_fix(fix));
    }

    /// Looks at a name with all that hangs on it by dots, and says how many more words that was.
    fn variable(
        &mut self,
        first: &str,
        mut span: Range<usize>,
        rest: &[(Token<'t>, Range<usize>)],
    ) -> usize {
        let mut name = first.to_owned();
        let mut used = 0;
        while let [(Token::Dot, _), (Token::Ident(part), end), ..] = &rest[used..] {
            name = format!("{name}.{part}");
            span.end = end.end;
            used += 2;
        }
        if matches!(rest.get(used), Some((Token::ParenOpen, _))) {
            let wrong = Wrong::new(format!("templates have no function `{}`", shown(&name)));
            self.fault(span, wrong);
        } else if let Some(own) = name.strip_prefix("set.").filter(|own| !own.contains('.')) {
            let has_default =
                matches!(&rest[used..], [(Token::Pipe, _), (Token::Ident("default"), _), ..]);
            if !has_default {
                self.own.insert(own.to_owned());
            }
        } else if !self.names.contains(&name.as_str()) {
            let fix = match nearest(&name, self.names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", [self.names, &["set.NAME"]].concat().join(", ")),
            };
            let wrong = Wrong::new(format!("there is no variable `{}`", shown(&name)));
            self.fault(span, wrong.with_fix(fix));
        }
        used
    }
}
