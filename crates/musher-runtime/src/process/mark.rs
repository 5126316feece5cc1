//! The mark: what every process of a run carries in its environment, so that the sweep can find it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use uuid::Uuid;

/// The variable that carries it.
pub const MARK: &str = "MUSHER_MARK";

/// Whether a text can be a mark: it becomes a part of a path and of a variable.
pub(crate) fn is_mark(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (8..=64).contains(&text.len()) && text.chars().all(plain)
}

/// One run's mark. A run inside a run carries both, the outer one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunMark {
    own: String,
    value: String,
    /// The marks of this process that it is inside of, the outermost first.
    inside: Vec<String>,
}

impl RunMark {
    /// A new mark, inside the marks that this process itself carries.
    pub(crate) fn new(inherited: Option<&OsStr>) -> Self {
        Self::named(Uuid::new_v4().simple().to_string(), inherited)
    }

    /// A mark that the host has chosen.
    pub(crate) fn named(own: String, inherited: Option<&OsStr>) -> Self {
        let value = match inherited.and_then(OsStr::to_str).filter(|outer| !outer.is_empty()) {
            Some(outer) => format!("{outer}/{own}"),
            None => own.clone(),
        };
        Self { own, value, inside: Vec::new() }
    }

    /// A new mark for a part of what carries this one: it is found with the whole, and can be ended alone.
    pub(crate) fn part(&self) -> Self {
        let mut inside = self.inside.clone();
        inside.push(self.own.clone());
        Self { inside, ..Self::new(Some(OsStr::new(&self.value))) }
    }

    /// What goes into the environment.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// The outermost of the marks that this process has given away, which is that of the run.
    pub(super) fn own(&self) -> &str {
        self.inside.first().unwrap_or(&self.own)
    }

    /// The marks that it is inside of, and itself.
    pub(super) fn way(&self) -> impl Iterator<Item = &str> {
        self.inside.iter().chain([&self.own]).map(String::as_str)
    }

    /// Whether all marks of another value are around this one.
    pub(super) fn is_inside(&self, value: &[u8]) -> bool {
        let mut around = self.value.split('/').filter(|part| *part != self.own);
        value.split(|&byte| byte == b'/').all(|part| around.any(|own| own.as_bytes() == part))
    }

    pub(super) fn is_in(&self, value: &[u8]) -> bool {
        value.split(|&byte| byte == b'/').any(|part| OsStr::from_bytes(part) == self.own.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outer_run_finds_the_processes_of_a_run_inside_it() {
        let outer = RunMark::new(None);
        let inner = RunMark::new(Some(OsStr::new(outer.value())));
        assert!(outer.is_in(inner.value().as_bytes()));
        assert!(inner.is_in(inner.value().as_bytes()));
        assert!(!inner.is_in(outer.value().as_bytes()));
    }

    #[test]
    fn a_part_is_found_with_its_whole_and_apart_from_other_parts() {
        let whole = RunMark::new(None);
        let (one, other) = (whole.part(), whole.part().part());
        assert!(whole.is_in(one.value().as_bytes()) && whole.is_in(other.value().as_bytes()));
        assert!(!one.is_in(other.value().as_bytes()) && !other.is_in(one.value().as_bytes()));
        assert_eq!(other.way().count(), 3);
    }
}
