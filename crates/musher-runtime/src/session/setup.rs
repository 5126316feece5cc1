//! Commands that make the folder ready before the agent starts; what they print is told as it comes.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use musher_core::{ErrorClass, ErrorInfo, EventKind, HintCode, Level};

use super::port::{Attempt, BackendEnd, FrameBatch, Signal};
use super::profile::Backend;
use crate::process::{
    Confinement, Errors, Launch, LineBody, OutputLine, Process, ProcessOutcome, ProcessorShare,
    Said, StdinMode, Weight,
};
use crate::session::LADDER;

/// The code of the notices that carry what a setup command printed.
const OUTPUT: &str = "setup";
/// The code of the notice that says that everything is ready.
const DONE: &str = "setup_done";

/// The same backend, started once the commands of the spec have succeeded. A second attempt does not repeat them.
pub(super) fn before(backend: Backend) -> Backend {
    let done = Arc::new(AtomicBool::new(false));
    Arc::new(move |attempt| {
        let (backend, done) = (backend.clone(), done.clone());
        let all: Pin<Box<dyn Future<Output = BackendEnd> + Send>> = Box::pin(async move {
            if !done.load(Ordering::Relaxed) {
                for command in &attempt.spec.setup {
                    if let Err(ended) = run(&attempt, command).await {
                        return ended;
                    }
                }
                done.store(true, Ordering::Relaxed);
                say(&attempt, DONE, "the folder is ready".into(), None).await;
            }
            backend(attempt).await
        });
        all
    })
}

async fn run(attempt: &Attempt, command: &str) -> Result<(), BackendEnd> {
    say(attempt, OUTPUT, format!("$ {command}"), None).await;
    let launch = Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        cwd: attempt.spec.cwd.clone(),
        env: attempt.env.to_vec(),
        mark: attempt.mark.clone(),
        containment: attempt.spec.containment,
        stdin: StdinMode::Null,
        stderr: Errors::WithOutput,
        weights: attempt.weights.clone(),
        tap: None,
        confinement: attempt.spec.sandbox.clone().map(Confinement::of),
        share: ProcessorShare::default(),
    };
    let failed = |why: String| {
        let message = format!("the setup command `{command}` {why}");
        BackendEnd::failed(ErrorInfo::new(ErrorClass::Config, message).hinting(HintCode::FixSetup))
    };
    let mut process =
        Process::start(launch).await.map_err(|error| failed(format!("did not start: {error}")))?;
    let control = process.control();
    let (mut ending, mut killing) = (false, false);
    loop {
        let said = tokio::select! {
            biased;
            () = attempt.port.kill.cancelled(), if !killing => {
                killing = true;
                control.kill().await;
                continue;
            }
            () = attempt.port.end.cancelled(), if !ending => {
                ending = true;
                control.end(LADDER).await;
                continue;
            }
            said = process.next() => said,
        };
        match said {
            Some(Said::Line(line, weight)) => {
                let mut telling = pin!(say(attempt, OUTPUT, shown(&line), Some(weight)));
                // A host that does not listen must not keep the end from reaching the process.
                loop {
                    tokio::select! {
                        () = &mut telling => break,
                        () = attempt.port.end.cancelled(), if !ending => {
                            ending = true;
                            control.end(LADDER).await;
                        }
                    }
                }
            }
            Some(Said::Ended(exit)) if ending || killing => return Err(cut_short(exit)),
            Some(Said::Ended(exit)) => {
                return match (exit.code, exit.signal) {
                    (Some(0), _) => Ok(()),
                    (Some(code), _) => Err(failed(format!("exited with {code}"))),
                    (None, Some(signal)) => Err(failed(format!("was ended by signal {signal}"))),
                    (None, None) => Err(failed("ended, and nobody knows how".into())),
                };
            }
            None => return Err(BackendEnd::default()),
        }
    }
}

fn cut_short(exit: ProcessOutcome) -> BackendEnd {
    BackendEnd {
        exit_code: exit.code,
        signal: exit.signal,
        survivors: exit.survivors,
        ..BackendEnd::default()
    }
}

fn shown(line: &OutputLine) -> String {
    match &line.body {
        LineBody::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        LineBody::Shortened(_) | LineBody::Cut { .. } => format!("[a line of {} bytes]", line.len),
    }
}

/// Tells the driver, unless the session is being ended by force and nobody listens.
async fn say(attempt: &Attempt, code: &str, text: String, weight: Option<Weight>) {
    let code = Some(code.to_owned());
    let notice = EventKind::Notice { level: Level::Info, code, text };
    let batch = FrameBatch { weight, ..vec![Signal::event(notice)].into() };
    tokio::select! {
        biased;
        () = attempt.port.kill.cancelled() => {}
        _gone = attempt.port.signals.send(batch) => {}
    }
}
