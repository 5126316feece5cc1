//! Hosts one session at the terminal: shows what it says, answers its asks, and heeds Ctrl-C.

use std::io::ErrorKind;
use std::time::Instant;

use musher_core::{Answer, AskId, EventKind};
use musher_runtime::{Runtime, SessionHandle, SessionOutput, SessionSpec, reap_orphans};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::super::asking::{Act, Asking};
use super::super::render::View;
use super::super::terminal::Typed;
use super::super::{CliExit, tell};
use crate::runner::{Alone, hints};

/// Runs a session to its end and tells how the command should exit.
pub(crate) async fn host(
    runtime: &dyn Runtime,
    spec: SessionSpec,
    tools: Alone,
    view: Box<dyn View>,
) -> CliExit {
    // Whoever wants us to end is heard before there is anything to end.
    let mut interrupts = signal(SignalKind::interrupt()).ok();
    let mut terms = signal(SignalKind::terminate()).ok();
    // A terminal that is closed takes its run with it, in good order.
    let mut hangups = signal(SignalKind::hangup()).ok();
    let mut quits = signal(SignalKind::quit()).ok();
    // Orphans of the agent come to us; the dead among them are ours to take in.
    let mut children = signal(SignalKind::child()).ok();
    let mut session = runtime.start(spec);
    // The agent's own tools are there for as long as it is.
    let _served = tools.open(session.handle());
    let mut host = Hosting {
        handle: session.handle(),
        view,
        asks: Asking::default(),
        typed: Typed::default(),
        strikes: 0,
    };
    let mut exit = CliExit::Bug;
    loop {
        tokio::select! {
            output = session.next() => match output {
                None => return exit,
                Some(mut output) => {
                    if let SessionOutput::Event(event) = &mut output {
                        hints::word(event, None);
                    }
                    if let SessionOutput::Event(event) = &output
                        && let EventKind::SessionEnded(end) = &event.kind
                    {
                        exit = CliExit::of(end);
                    }
                    host.show(&output).await;
                }
            },
            line = host.typed.next(), if !host.asks.is_empty() => host.line(line).await,
            () = next(&mut interrupts) => host.struck().await,
            () = next(&mut terms) => host.stop().await,
            () = next(&mut hangups) => host.stop().await,
            () = next(&mut quits) => host.kill().await,
            () = next(&mut children) => reap_orphans(),
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether an output is an ask that a person must answer.
fn opens(output: &SessionOutput) -> bool {
    match output {
        SessionOutput::Event(event) => {
            matches!(&event.kind, EventKind::AskOpened { settled: false, .. })
        }
        SessionOutput::Delta(_) => false,
    }
}

struct Hosting {
    handle: SessionHandle,
    view: Box<dyn View>,
    asks: Asking,
    typed: Typed,
    /// How often Ctrl-C was pressed.
    strikes: u32,
}

impl Hosting {
    async fn show(&mut self, output: &SessionOutput) {
        let asking = !self.asks.is_empty() || opens(output);
        if let Err(error) = self.view.show(output, asking)
            && self.strikes == 0
        {
            // A reader that went away, as `head` does, wants to hear no more; anything else is a fault.
            if error.kind() != ErrorKind::BrokenPipe {
                tell(&format!("error: standard output failed: {error}; the run is stopped"));
            }
            self.strikes = 1;
            self.stop().await;
        }
        if let SessionOutput::Event(event) = output {
            self.note(&event.kind);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only asks matter here")]
    fn note(&mut self, kind: &EventKind) {
        let act = match kind {
            EventKind::AskOpened { ask, body, settled: false, .. } => {
                self.asks.opened(ask, body, Instant::now())
            }
            EventKind::AskClosed { ask, .. } => self.asks.closed(ask, Instant::now()),
            _ => return,
        };
        self.tell(act);
    }

    /// Shows what is to be shown; gives the answer that is to be sent.
    fn tell(&mut self, act: Act) -> Option<(AskId, Answer)> {
        match act {
            Act::Nothing => None,
            Act::Put(words) => {
                self.typed.listen();
                self.view.ask(&words);
                None
            }
            Act::Show(words) => {
                self.view.ask(&words);
                None
            }
            Act::Answer(ask, answer) => Some((ask, answer)),
        }
    }

    async fn line(&mut self, line: Option<String>) {
        let act = self.asks.line(line.as_deref());
        let Some((ask, answer)) = self.tell(act) else { return };
        let next = match self.handle.answer(ask.clone(), answer).await {
            Ok(()) => self.asks.answered(&ask, Instant::now()),
            Err(error) => {
                self.view.say(&error.to_string());
                self.asks.refused(Instant::now())
            }
        };
        self.tell(next);
    }

    async fn stop(&mut self) {
        // The session may have ended by itself in the meantime.
        let _ended = self.handle.stop().await;
    }

    async fn kill(&mut self) {
        // The session may have ended by itself in the meantime.
        let _ended = self.handle.kill().await;
    }

    /// Ctrl-C: first the turn, then the run, then by force.
    async fn struck(&mut self) {
        self.strikes += 1;
        let interrupted = self.strikes == 1 && self.handle.interrupt().await.is_ok();
        // Each may come too late, which is as good.
        let _ended = match self.strikes {
            _ if interrupted => {
                self.view.say("interrupting the turn; Ctrl-C again stops the run");
                Ok(())
            }
            1 | 2 => {
                self.view.say("stopping; Ctrl-C again kills it");
                self.handle.stop().await
            }
            _ => self.handle.kill().await,
        };
    }
}
