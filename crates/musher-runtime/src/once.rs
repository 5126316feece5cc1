//! One-shot work: a prompt in, a result out.

use musher_core::{ErrorInfo, Event, EventKind, Outcome, SessionEnded, SessionId, Tokens, Usd};
use tokio_util::sync::CancellationToken;

use crate::{AskPolicy, Runtime, SessionOutput, SessionSpec};

/// What one-shot work gave.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub outcome: Outcome,
    pub error: Option<ErrorInfo>,
    /// The agent's last answer.
    pub response: String,
    /// Every event, in order.
    pub transcript: Vec<Event>,
    pub usage: Tokens,
    pub cost_usd: Option<Usd>,
    pub session: Option<SessionId>,
}

/// Runs one prompt to its end. Asks that no rule settles are denied, because nobody is there to answer.
///
/// Cancelling the token stops the agent gently; dropping the future kills it. When the future resolves, the agent's
/// whole process tree is gone.
///
/// ```no_run
/// use musher_runtime::{CancellationToken, Environment, SessionSpec, claude_code::ClaudeCode, run_once};
///
/// # async fn example() {
/// let spec = SessionSpec::new("Which files are here?", "/tmp", Environment::of_this_process());
/// let result = run_once(&ClaudeCode::default(), spec, &CancellationToken::new()).await;
/// println!("{:?}: {} ({:?})", result.outcome, result.response, result.cost_usd);
/// # }
/// ```
pub async fn run_once(
    runtime: &dyn Runtime,
    mut spec: SessionSpec,
    cancel: &CancellationToken,
) -> RunResult {
    spec.asks = AskPolicy::Deny;
    let mut session = runtime.start(spec);
    let handle = session.handle();
    let mut transcript = Vec::new();
    let mut response = String::new();
    let mut stopping = false;
    loop {
        let output = tokio::select! {
            output = session.next() => output,
            () = cancel.cancelled(), if !stopping => {
                stopping = true;
                // It may have ended by itself in the meantime.
                let _ended = handle.stop().await;
                continue;
            }
        };
        let Some(output) = output else { break };
        let SessionOutput::Event(event) = output else {
            continue;
        };
        if let EventKind::TurnEnded(turn) = &event.kind
            && let Some(text) = &turn.final_text
        {
            response.clone_from(text);
        }
        transcript.push(event);
    }
    let end = transcript.last().and_then(|event| {
        let EventKind::SessionEnded(end) = &event.kind else { return None };
        Some((**end).clone())
    });
    result(end, response, transcript)
}

fn result(end: Option<SessionEnded>, response: String, transcript: Vec<Event>) -> RunResult {
    match end {
        Some(end) => RunResult {
            outcome: end.outcome,
            error: end.error,
            response,
            transcript,
            usage: end.usage,
            cost_usd: end.cost_usd,
            session: end.session,
        },
        // Only a tokio runtime that is shutting down takes the end away.
        None => RunResult {
            outcome: Outcome::Lost,
            error: None,
            response,
            transcript,
            usage: Tokens::default(),
            cost_usd: None,
            session: None,
        },
    }
}
