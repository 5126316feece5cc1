//! Whole lines, a line that is being streamed, and a spinner that never gets in the way of either.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use super::super::super::text::plain;
use indicatif::{ProgressBar, ProgressStyle};

/// What stands on the terminal.
#[derive(Debug, Default)]
pub(super) struct TerminalLines {
    spinner: Option<ProgressBar>,
    /// Text was written without its line ending.
    open: bool,
}

impl TerminalLines {
    /// Shows that something is under way; only on a terminal, and never on an open line.
    pub(super) fn wait(&mut self, message: &str) {
        if self.open || !io::stderr().is_terminal() {
            return;
        }
        let bar = self.spinner.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} {wide_msg:.dim} {elapsed:.dim}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        bar.set_message(plain(message));
    }

    fn stop_waiting(&mut self) {
        if let Some(bar) = self.spinner.take() {
            bar.finish_and_clear();
        }
    }

    /// Adds to the open line.
    pub(super) fn stream(&mut self, text: &str) -> io::Result<()> {
        self.stop_waiting();
        self.open = true;
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// Ends the open line.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.stop_waiting();
        if std::mem::take(&mut self.open) {
            anstream::stdout().write_all(b"\n")?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.close()?;
        let mut out = anstream::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Shows where to type. What the person types ends the line.
    pub(super) fn prompt(&mut self) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        write!(out, "> ")?;
        out.flush()
    }
}
