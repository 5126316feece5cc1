//! The signals that a server heeds, from its first moment on.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::runner::launch;

pub(super) struct Signals {
    interrupts: Option<Signal>,
    terms: Option<Signal>,
    hangups: Option<Signal>,
    children: Option<Signal>,
}

impl Signals {
    pub(super) fn heed() -> Self {
        Self {
            interrupts: signal(SignalKind::interrupt()).ok(),
            terms: signal(SignalKind::terminate()).ok(),
            hangups: signal(SignalKind::hangup()).ok(),
            children: signal(SignalKind::child()).ok(),
        }
    }

    /// Waits until somebody wants the server to end, and takes in runners that have ended meanwhile.
    pub(super) async fn told_to_end(&mut self) {
        loop {
            tokio::select! {
                () = next(&mut self.interrupts) => return,
                () = next(&mut self.terms) => return,
                () = next(&mut self.hangups) => return,
                () = next(&mut self.children) => launch::reap(),
            }
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
