//! What the terminal can do, and lines that a person types.

use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::AsFd;

use rustix::termios::{QueueSelector, tcflush};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::text::wrapped;

/// Whether a person is there to be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Lines typed at the terminal; nothing is read before the first ask.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    lines: Option<mpsc::Receiver<String>>,
}

impl Typed {
    /// Listens to the keyboard from now on: what was typed before a question is no answer to it.
    pub(crate) fn listen(&mut self) {
        // Without a terminal there is nothing to throw away.
        let _no_terminal = tcflush(std::io::stdin(), QueueSelector::IFlush);
        if let Some(lines) = &mut self.lines {
            while lines.try_recv().is_ok() {}
            return;
        }
        let (sender, lines) = mpsc::channel(8);
        // A read from a terminal cannot be cancelled, so it gets a thread that ends with the program.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// The next line; `None` when the keyboard is gone. Waits for ever if nobody listens.
    pub(crate) async fn next(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }
}

/// Ctrl-C, from now on: one that comes while nobody waits for it is not lost.
#[derive(Debug)]
pub(crate) struct Interrupts {
    signal: Option<Signal>,
}

impl Interrupts {
    pub(crate) fn listen() -> Self {
        Self { signal: signal(SignalKind::interrupt()).ok() }
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        match &mut self.signal {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Tells the person something on standard error. If nobody is there to read it, nobody needs it.
pub(crate) fn tell(text: &str) {
    let text = match seen_width(std::io::stderr()) {
        Some(width) => wrapped(text, width, 0),
        None => text.to_owned(),
    };
    let _nobody = writeln!(anstream::stderr(), "{text}");
}

/// The width to write for.
pub(crate) fn width() -> usize {
    seen_width(std::io::stdout()).unwrap_or(100)
}

/// The width of what somebody looks at; nothing if it is no terminal, or too narrow to be one.
pub(crate) fn seen_width(output: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width >= 20)
}
