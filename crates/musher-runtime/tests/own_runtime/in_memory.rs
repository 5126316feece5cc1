//! A runtime without a program: it repeats what it is told, or does the one tool that it has.

use std::sync::Arc;

use musher_runtime::backend::{
    Attempt, BackendEnd, BackendOrder, BackendProfile, PermissionRequest, PermissionVerdict,
    Signal, start_session,
};
use musher_runtime::core::{EventKind, SessionInfo, ToolKind, Trigger, TurnEnded, TurnOutcome};
use musher_runtime::{Capabilities, ProjectFile, Runtime, Session, SessionSpec};

#[derive(Debug, Default)]
pub(crate) struct Echo {}

impl Runtime for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        &[]
    }

    fn asks_a_model(&self) -> bool {
        false
    }

    fn start(&self, spec: SessionSpec) -> Session {
        let mut profile = BackendProfile::new("echo", self.capabilities());
        profile.asks_a_model = self.asks_a_model();
        start_session(profile, spec, Arc::new(|attempt| Box::pin(converse(attempt))))
    }
}

/// Answers prompts until nobody has any more.
async fn converse(mut attempt: Attempt) -> BackendEnd {
    let info = SessionInfo { session: Some("echo-1".into()), ..SessionInfo::default() };
    attempt.tell(vec![Signal::event(EventKind::SessionInfo(Box::new(info)))]).await;
    while let Some(order) = next(&mut attempt).await {
        let BackendOrder::Prompt { text, .. } = order else { break };
        let begun = EventKind::TurnStarted { trigger: Trigger::Prompt, prompts: Vec::new() };
        attempt.tell(vec![Signal::event(begun)]).await;
        let said = match text.as_str() {
            "shout" => shout(&mut attempt).await,
            "hang" => {
                attempt.port.end.cancelled().await;
                break;
            }
            "secret" => {
                attempt.hide("word", "open-sesame-1234").await;
                "the word is open-sesame-1234".to_owned()
            }
            _ => text,
        };
        let mut ended = TurnEnded::synthesised(TurnOutcome::Completed, None);
        ended.final_text = Some(said);
        attempt.tell(vec![Signal::event(EventKind::TurnEnded(Box::new(ended)))]).await;
    }
    BackendEnd::default()
}

/// The one tool: allowed unless a rule forbids it.
async fn shout(attempt: &mut Attempt) -> String {
    let input = serde_json::json!({});
    let request = PermissionRequest::new("call-1", "shout", ToolKind::Other, input);
    attempt.tell(vec![Signal::Permission(request)]).await;
    match next(attempt).await {
        Some(BackendOrder::Permission { verdict: PermissionVerdict::Deny { .. }, .. }) => {
            "denied".to_owned()
        }
        _ => "shouted".to_owned(),
    }
}

/// The next order; nothing when the session is to end.
async fn next(attempt: &mut Attempt) -> Option<BackendOrder> {
    let port = &mut attempt.port;
    tokio::select! {
        biased;
        () = port.kill.cancelled() => None,
        () = port.end.cancelled() => None,
        order = port.orders.recv() => order,
    }
}
