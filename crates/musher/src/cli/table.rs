//! Tables for people: no lines, one row on one line, as wide as the terminal.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Row, Table as Layout, presets,
};

use super::terminal;
use super::text::one_line;

/// What a row is about, told by a sign and a word; the colour only repeats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    /// Somebody should look.
    Heed,
    Quiet,
}

impl Tone {
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Heed => AnsiColor::Yellow.on_default(),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}

/// The space around a cell.
const PADDING: u16 = 2;
/// What the last column needs to be of use.
const MIN_LAST_COLUMN_WIDTH: u16 = 10;

/// Rows under a heading. The first cell of a row tells its state.
#[derive(Debug)]
pub(crate) struct TextTable {
    layout: Layout,
    tones: Vec<(String, Tone)>,
}

impl TextTable {
    pub(crate) fn new(heading: &[&str]) -> Self {
        let mut layout = Layout::new();
        layout.load_style(presets::NOTHING).set_header(heading.iter().copied());
        layout.set_truncation_indicator("…");
        Self { layout, tones: Vec::new() }
    }

    /// Numbers stand below one another when they end at the same place.
    pub(crate) fn right(mut self, columns: &[usize]) -> Self {
        self.layout.discover_columns();
        for column in columns {
            if let Some(column) = self.layout.column_mut(*column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self
    }

    /// Adds a row. Whatever its cells say is made harmless and put on one line.
    pub(crate) fn row<const N: usize>(&mut self, tone: Tone, cells: [String; N]) {
        let cells = cells.map(|cell| one_line(&cell, 10_000));
        self.tones.push((cells.first().cloned().unwrap_or_default(), tone));
        let mut row = Row::from(cells.to_vec());
        row.max_height(1);
        self.layout.add_row(row);
    }

    /// The table as wide as the terminal, or as wide as it is when nobody looks at it.
    pub(crate) fn text(self) -> String {
        let width = std::io::stdout().is_terminal().then(terminal::width);
        self.in_width(width)
    }

    /// What is short and important keeps its place, as long as something is left for the last column.
    fn shrink_last(&mut self, width: u16) {
        let widths = self.layout.column_max_content_widths();
        let Some((_, fixed)) = widths.split_last() else { return };
        let needed: u16 = fixed.iter().map(|width| width.saturating_add(PADDING)).sum();
        if needed.saturating_add(MIN_LAST_COLUMN_WIDTH) > width {
            return;
        }
        for column in 0..fixed.len() {
            if let Some(column) = self.layout.column_mut(column) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }

    fn in_width(mut self, width: Option<usize>) -> String {
        if let Some(column) = self.layout.column_mut(0) {
            column.set_padding((0, 1));
        }
        match width.and_then(|width| u16::try_from(width).ok()) {
            Some(width) => {
                self.layout.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
                self.shrink_last(width);
            }
            None => {
                self.layout.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        let quiet = Tone::Quiet.style();
        let mut lines = self.layout.lines();
        let heading = lines.next().unwrap_or_default();
        let mut text = format!("{quiet}{}{quiet:#}", heading.trim_end());
        for (line, (first, tone)) in lines.zip(&self.tones) {
            let style = tone.style();
            text += "\n";
            // A first cell that was cut for want of room goes without its colour.
            text += &match line.strip_prefix(first.as_str()) {
                Some(rest) if !first.is_empty() => {
                    format!("{style}{first}{style:#}{}", rest.trim_end())
                }
                _ => line.trim_end().to_owned(),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::cli::text::plain;

    fn table() -> TextTable {
        let mut table = TextTable::new(&["STATE", "RUN", "COST", "WHAT"]).right(&[2]);
        let row = |state: &str, run: &str, cost: &str, what: &str| {
            [state, run, cost, what].map(str::to_owned)
        };
        table.row(Tone::Good, row("● live", "r7", "$0.12", "Fix the\x1b[31m login\nand more"));
        table.row(Tone::Bad, row("✗ failed", "r12", "$10.00", &"long ".repeat(40)));
        table
    }

    #[test]
    fn rows_stand_on_one_line_each_and_hostile_text_is_harmless() {
        let text = table().in_width(None);
        let lines: Vec<String> = plain(&text).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "STATE     RUN    COST  WHAT");
        assert_eq!(lines[1], "● live    r7    $0.12  Fix the login…");
        assert!(lines[2].starts_with("✗ failed  r12  $10.00  long long"), "{}", lines[2]);
        assert!(text.contains(&format!("{0}● live{0:#}", Tone::Good.style())), "{text:?}");
    }

    #[test]
    fn a_table_is_never_wider_than_the_terminal() {
        for width in [20, 40, 60, 100] {
            for line in plain(&table().in_width(Some(width))).lines() {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
        }
        let text = plain(&table().in_width(Some(40)));
        let last = text.lines().nth(2).unwrap();
        assert_eq!(last, "✗ failed  r12  $10.00  long long long…");
    }
}
