//! How the fake agent takes signals: it ignores them, stops, dies of them, or closes its mouth.

use std::fs::OpenOptions;
use std::io;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::family::{LONGEST, rest};
use crate::output::say;

/// A caught signal that is thrown away is as good as an ignored one, and needs no unsafe code.
pub(crate) fn ignore_term() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        say("ready\n")?;
        let end = tokio::time::sleep(std::time::Duration::from_secs(LONGEST));
        tokio::pin!(end);
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {}
                () = &mut end => return Ok(()),
            }
        }
    })
}

pub(crate) fn stop_self() -> io::Result<()> {
    say("ready\n")?;
    kill_process(getpid(), Signal::STOP)?;
    say("continued\n")
}

pub(crate) fn die(number: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(number).ok_or(io::ErrorKind::InvalidInput)?;
    // Rust catches SIGSEGV and SIGBUS once to look for a stack overflow; the second one kills.
    kill_process(getpid(), signal)?;
    kill_process(getpid(), signal)?;
    // A signal whose default is to do nothing leaves this program running.
    rest(5);
    Err(io::Error::other(format!("signal {number} did not kill")))
}

/// Puts /dev/null in the place of stdout, which closes the pipe that was there.
pub(crate) fn closed_stdout() -> io::Result<()> {
    let nothing = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(nothing)?;
    rest(30);
    Ok(())
}
