//! A row of the table: what it is called, what it measures, and how.

use std::pin::Pin;

use crate::bench::Bench;
use crate::measure::Measure;

/// What a row does with its rounds.
pub type Run = for<'a> fn(&'a mut Bench) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// One row. What it measures is known before it runs.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub measures: &'static [Measure],
    pub rounds: Rounds,
    pub needs: Needs,
    pub run: Run,
}

/// How often a row is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// As often as is asked for.
    Many,
    /// It takes long and hardly varies.
    Once,
}

/// What a row cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The release builds of what is measured, and a real disk.
    Programs,
    /// The same, and so much of the machine that it is run by name alone.
    Crowd,
    /// It shows how the others are judged, and is run by name alone.
    Nothing,
}

impl Rounds {
    pub fn of(self, asked: usize) -> usize {
        match self {
            Self::Many => asked,
            Self::Once => 1,
        }
    }
}
