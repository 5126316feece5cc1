//! A runtime with a program: a shell that answers every line, and leaves a sleeper behind when it is told to.

use std::sync::Arc;

use musher_runtime::backend::{
    Attempt, BackendEnd, BackendOrder, BackendProfile, LADDER, LineBody, ProcessRead, Signal,
    start_session,
};
use musher_runtime::core::{ErrorClass, ErrorInfo, EventKind, Trigger, TurnEnded, TurnOutcome};
use musher_runtime::{Capabilities, ProjectFile, Runtime, Session, SessionSpec};

const PROGRAM: &str = r#"
while read -r line; do
  if [ "$line" = sleep ]; then setsid sleep 1000 >/dev/null 2>&1 & echo $! > sleeper; fi
  echo "heard $line"
done"#;

#[derive(Debug, Default)]
pub(crate) struct Shell {}

impl Runtime for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        &[]
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let profile = BackendProfile::new("shell", self.capabilities());
        start_session(profile, spec, Arc::new(|attempt| Box::pin(converse(attempt))))
    }
}

async fn converse(mut attempt: Attempt) -> BackendEnd {
    let args = vec!["-c".into(), PROGRAM.into()];
    let mut process = match attempt.start_program("/bin/sh", args).await {
        Ok(process) => process,
        Err(error) => {
            return BackendEnd::failed(ErrorInfo::new(ErrorClass::Startup, error.to_string()));
        }
    };
    let control = process.control();
    let (mut ending, mut killing) = (false, false);
    loop {
        let port = &mut attempt.port;
        tokio::select! {
            biased;
            () = port.kill.cancelled(), if !killing => {
                killing = true;
                control.kill().await;
            }
            () = port.end.cancelled(), if !ending => {
                ending = true;
                control.end(LADDER).await;
            }
            Some(order) = port.orders.recv() => match order {
                BackendOrder::Prompt { text, .. } => {
                    let kind =
                        EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
                    attempt.tell(vec![Signal::event(kind)]).await;
                    control.write(format!("{text}\n").into()).await;
                }
                BackendOrder::Close => control.close_input().await,
                // It said by its capabilities that it can do none of these.
                BackendOrder::Steer { .. }
                | BackendOrder::Answer { .. }
                | BackendOrder::Permission { .. }
                | BackendOrder::Interrupt
                | BackendOrder::SetModel { .. }
                | BackendOrder::SetMode { .. }
                | _ => {}
            },
            heard = process.hear() => match heard {
                Some(ProcessRead::Lines(lines, _)) => {
                    for line in lines {
                        let LineBody::Whole(bytes) = line.body else { continue };
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        let mut ended = TurnEnded::synthesised(TurnOutcome::Completed, None);
                        ended.final_text = Some(text);
                        attempt.tell(vec![Signal::event(EventKind::TurnEnded(Box::new(ended)))]).await;
                    }
                }
                Some(ProcessRead::Ended(exit)) => {
                    let mut end = BackendEnd::default();
                    end.exit_code = exit.code;
                    end.signal = exit.signal;
                    end.survivors = exit.survivors;
                    return end;
                }
                Some(_) => {}
                None => return BackendEnd::default(),
            },
        }
    }
}
