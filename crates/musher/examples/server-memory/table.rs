//! The table: what was measured, what it may be, and whether it is.

use std::fmt;

/// What was measured, in the order in which it was.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    found: String,
    bar: Bar,
}

#[derive(Debug)]
enum Bar {
    None,
    Met(String),
    Missed(String),
}

impl Table {
    /// A figure without a bar.
    pub(crate) fn note(&mut self, what: impl Into<String>, found: impl Into<String>) {
        self.add(what.into(), found.into(), Bar::None);
    }

    /// A figure that must not be greater than its bar.
    pub(crate) fn at_most(&mut self, what: impl Into<String>, found: f64, bar: f64, unit: &str) {
        let text = format!("≤ {bar} {unit}");
        let bar = if found <= bar { Bar::Met(text) } else { Bar::Missed(text) };
        self.add(what.into(), format!("{found:.2} {unit}"), bar);
    }

    /// Something that must hold.
    pub(crate) fn holds(
        &mut self,
        what: impl Into<String>,
        found: impl Into<String>,
        wanted: &str,
        holds: Holds,
    ) {
        let bar = match holds {
            Holds::Yes => Bar::Met(wanted.to_owned()),
            Holds::No => Bar::Missed(wanted.to_owned()),
        };
        self.add(what.into(), found.into(), bar);
    }

    pub(crate) fn is_met(&self) -> bool {
        self.rows.iter().all(|row| !matches!(row.bar, Bar::Missed(_)))
    }

    /// A long measurement shows each row as soon as it has it.
    fn add(&mut self, what: String, found: String, bar: Bar) {
        let row = Row { what, found, bar };
        println!("{row}");
        self.rows.push(row);
    }
}

/// Whether something is as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, bar } = self;
        match bar {
            Bar::None => write!(f, "| {what} | {found} | | |"),
            Bar::Met(bar) => write!(f, "| {what} | {found} | {bar} | met |"),
            Bar::Missed(bar) => write!(f, "| {what} | {found} | {bar} | MISSED |"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | found | bar | |\n|---|---|---|---|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}
