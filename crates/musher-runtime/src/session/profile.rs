//! What the driver is told of a runtime: its profile, and its own side of a session.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use super::port::{Attempt, BackendEnd};
use crate::{Capabilities, ProjectFile};

/// What the driver must know of a runtime.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackendProfile {
    pub name: Cow<'static, str>,
    pub capabilities: Capabilities,
    /// The vendor's documented variables, which pass by themselves.
    pub variables: &'static [&'static str],
    /// More of them, which pass only when the variable before them is set.
    pub chosen: &'static [(&'static str, &'static [&'static str])],
    /// Variables that never pass.
    pub banned: &'static [&'static str],
    /// What the program takes from the folder it works in.
    pub files: Cow<'static, [ProjectFile]>,
    /// Its calls are those of a model, so that one of which nobody says a word has an unknown cost.
    pub asks_a_model: bool,
}

impl BackendProfile {
    /// A runtime that takes no variables and no files, and whose work is done by a model.
    pub fn new(name: impl Into<Cow<'static, str>>, capabilities: Capabilities) -> Self {
        Self {
            name: name.into(),
            capabilities,
            variables: &[],
            chosen: &[],
            banned: &[],
            files: Cow::Borrowed(&[]),
            asks_a_model: true,
        }
    }
}

/// A runtime's own side: runs one attempt to its end.
pub type Backend =
    Arc<dyn Fn(Attempt) -> Pin<Box<dyn Future<Output = BackendEnd> + Send>> + Send + Sync>;
