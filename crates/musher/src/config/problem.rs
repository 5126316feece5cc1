//! What is wrong with a file: where, what, and what to write instead.

use std::fmt;
use std::path::{Path, PathBuf};

/// More mistakes than this help nobody; the rest are counted.
const MAX_CONFIG_PROBLEMS: usize = 50;

/// Every mistake that was found, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    /// Never empty.
    pub problems: Vec<ConfigProblem>,
    /// How many more there are.
    pub more: usize,
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl From<ConfigProblem> for ConfigErrors {
    fn from(problem: ConfigProblem) -> Self {
        Self { problems: vec![problem], more: 0 }
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// As seen from the repository.
    pub file: PathBuf,
    /// None if the file as a whole is wrong.
    pub place: Option<TextSpan>,
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl ConfigProblem {
    /// A mistake of the file as a whole.
    pub(super) fn of_file(file: impl AsRef<Path>, message: impl Into<String>) -> Self {
        let file = file.as_ref().to_owned();
        Self { file, place: None, message: message.into(), fix: None }
    }

    pub(super) fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// A stretch of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line, cut to what fits a screen.
    pub excerpt: String,
    /// How many screen columns of the excerpt come before the stretch.
    pub before: usize,
    /// How many screen columns the stretch takes, at least 1.
    pub width: usize,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let Some(place) = &self.place else {
            write!(f, "{file}: {}", self.message)?;
            return self.fix.iter().try_for_each(|fix| write!(f, "\n  {fix}"));
        };
        let TextSpan { line, column, excerpt, before, width } = place;
        let gutter = line.to_string().len();
        writeln!(f, "{file}:{line}:{column}: {}", self.message)?;
        writeln!(f, "  {line} | {excerpt}")?;
        write!(f, "  {:gutter$} | {:before$}{:^<width$}", "", "", "")?;
        self.fix.iter().try_for_each(|fix| write!(f, " {fix}"))
    }
}

/// Gathers mistakes, up to a bound.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<ConfigProblem>,
    more: usize,
}

impl Problems {
    /// Adds a mistake; it is put into words only if there is still room for it.
    pub(super) fn add(&mut self, problem: impl FnOnce() -> ConfigProblem) {
        match self.found.len() < MAX_CONFIG_PROBLEMS {
            true => self.found.push(problem()),
            false => self.more += 1,
        }
    }

    /// All of them in the order of the file, or none if there was no mistake.
    pub(super) fn finish(mut self) -> Option<ConfigErrors> {
        if self.found.is_empty() {
            return None;
        }
        self.found.sort_by_key(|problem| {
            let place = problem.place.as_ref().map(|place| (place.line, place.column));
            (problem.file.clone(), place)
        });
        Some(ConfigErrors { problems: self.found, more: self.more })
    }
}
