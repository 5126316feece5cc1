//! One model call: asked again where that can help, read as it comes, and entered in the books.

mod bill;
mod incoming;
mod stream;

use std::borrow::Cow;
use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo, EventKind, HintCode, Level, RateLimit};
use tracing::warn;
use uuid::Uuid;

use super::agent::ModelAgent;
use super::inbox::WaitBroken;
use super::refusal::{Billed, RequestFailure, RetryAdvice};
use super::wire::{HistoryEntry, ModelAnswer, Outgoing, Request, ToolChoice, told_in};
use crate::attachments;
use crate::session::Signal;

/// How often a request is made again when nothing else was said.
const RETRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_CALL_RETRY_DELAY: Duration = Duration::from_secs(30);
/// A service that wants to be left alone for longer than this is not waited for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(15 * 60);
/// How many settings a service may refuse, one after another.
const ADAPTATIONS: u32 = 8;
/// Bytes of a token, where nobody counts.
const BYTES_PER_TOKEN: u64 = 4;

/// Why one try gave no answer.
#[derive(Debug)]
pub(super) enum Miss {
    Refused(RequestFailure),
    Broken(WaitBroken),
}

impl Miss {
    /// Whether a request that was missed so can have cost anything. One that was interrupted can.
    fn billed(&self) -> Billed {
        match self {
            Self::Refused(refusal) => refusal.billed,
            Self::Broken(_) => Billed::Maybe,
        }
    }
}

impl From<WaitBroken> for Miss {
    fn from(broken: WaitBroken) -> Self {
        Self::Broken(broken)
    }
}

impl From<RequestFailure> for Miss {
    fn from(refusal: RequestFailure) -> Self {
        Self::Refused(refusal)
    }
}

impl ModelAgent {
    /// Asks the model with all that was said so far. A conversation that turns out not to fit is made shorter once.
    pub(super) async fn ask_the_model(
        &mut self,
        choice: ToolChoice,
    ) -> Result<ModelAnswer, WaitBroken> {
        match self.call(choice).await {
            Err(WaitBroken::Failed(error)) if error.class == ErrorClass::ContextOverflow => {
                self.compact().await?;
                self.call(choice).await
            }
            done => done,
        }
    }

    /// Makes one model call, with as many tries as it may take.
    pub(super) async fn call(&mut self, choice: ToolChoice) -> Result<ModelAnswer, WaitBroken> {
        self.count_the_call().await?;
        let most = self.spec.model_options.retries.unwrap_or(RETRIES);
        let (mut tries, mut adaptations) = (0, 0);
        loop {
            let outgoing = self.write(choice).await?;
            let refusal = match self.attempt(outgoing).await {
                Ok(answer) => return Ok(answer),
                Err(Miss::Broken(broken)) => return Err(broken),
                Err(Miss::Refused(refusal)) => refusal,
            };
            if adaptations < ADAPTATIONS
                && let Some(learnt) = self.wire.adapt(&refusal)
            {
                adaptations += 1;
                self.notice(Level::Info, "adapted", learnt.to_owned()).await?;
                continue;
            }
            if self.gives_up_images(&refusal) {
                let why = format!("the model takes no such image: {}", refusal.error.message);
                self.outbox.event(attachments::not_shown(&why)).await?;
                continue;
            }
            let wait = match refusal.again {
                RetryAdvice::Later => jittered(tries),
                RetryAdvice::After(wait) if wait <= MAX_RETRY_AFTER => wait,
                RetryAdvice::Never | RetryAdvice::After(_) => {
                    self.limits(&refusal).await?;
                    return Err(WaitBroken::Failed(self.advised(*refusal.error)));
                }
            };
            if tries >= most {
                return Err(WaitBroken::Failed(self.advised(*refusal.error)));
            }
            tries += 1;
            // What a provider says may hold anything, and is in the record of the session alone.
            warn!(
                session.id = %self.history.session,
                attempt = tries,
                attempts = most,
                class = ?refusal.error.class,
                status = refusal.error.http,
                ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                "model call failed, trying again"
            );
            self.outbox
                .event(EventKind::Retry {
                    attempt: tries,
                    max: Some(most),
                    delay_ms: u64::try_from(wait.as_millis()).ok(),
                    cause: *refusal.error,
                })
                .await?;
            self.inbox.during(tokio::time::sleep(wait)).await?;
        }
    }

    /// The error with what a person can do about it, where we know that.
    fn advised(&self, error: ErrorInfo) -> ErrorInfo {
        let about = &self.service.about;
        let address = format!("`base_url` or {}", about.base_variable);
        let hint = match (error.class, error.http) {
            _ if error.hint.is_some() => return error,
            (ErrorClass::Auth, _) => {
                let variable = about.key_variables.first().copied().unwrap_or_default();
                format!("see that the key is right: {variable}, or what `key` of the agent names")
            }
            (ErrorClass::ModelNotFound, _) => {
                format!("give a model that the service has; its address is {address}")
            }
            (ErrorClass::Network, _) => {
                format!(
                    "see that the service can be reached, and that its address is right: {address}"
                )
            }
            (ErrorClass::Protocol, _) | (_, Some(404 | 405)) => {
                format!(
                    "see that the address ({address}) and the wire format are those of the service"
                )
            }
            (_, _) => return error,
        };
        error.with_hint(hint)
    }

    /// Says that a model call begins, unless the run may make no more.
    async fn count_the_call(&mut self) -> Result<(), WaitBroken> {
        if let Some(max) = self.spec.limits.max_turns.filter(|max| self.calls >= *max) {
            let message = format!("the limit of {max} model calls was reached");
            return Err(WaitBroken::OutOfTurns(
                ErrorInfo::new(ErrorClass::MaxTurns, message).hinting(HintCode::RaiseMaxTurns),
            ));
        }
        self.calls += 1;
        self.outbox.send(vec![Signal::ModelCall], None).await
    }

    async fn write(&self, choice: ToolChoice) -> Result<Outgoing, WaitBroken> {
        let entries = self.with_images(told_in(self.wire.name(), &self.history.entries)).await?;
        let known = self.prices.find(&self.model).and_then(|model| model.max_output);
        Ok(self.wire.write(&Request {
            session: self.history.session.as_str(),
            model: &self.model,
            system: &self.system,
            entries: &entries,
            tools: &self.offered,
            choice,
            options: &self.spec.model_options,
            max_output: self.spec.model_options.max_output.or(known),
        }))
    }

    /// The entries with the bytes of their images, which are read for each request and kept for none.
    async fn with_images<'a>(
        &self,
        entries: Cow<'a, [HistoryEntry]>,
    ) -> Result<Cow<'a, [HistoryEntry]>, WaitBroken> {
        let shows = |entry: &HistoryEntry| matches!(entry, HistoryEntry::User { images, .. } if !images.is_empty());
        if self.no_images || !entries.iter().any(shows) {
            return Ok(entries);
        }
        let mut entries = entries.into_owned();
        for entry in &mut entries {
            if let HistoryEntry::User { images, .. } = entry {
                let (loaded, lost) = attachments::load(std::mem::take(images)).await;
                *images = loaded;
                for notice in lost {
                    self.outbox.event(notice).await?;
                }
            }
        }
        Ok(Cow::Owned(entries))
    }

    /// Whether a request was refused for its images, which are left out from now on.
    fn gives_up_images(&mut self, refusal: &RequestFailure) -> bool {
        let has = |entry: &HistoryEntry| matches!(entry, HistoryEntry::User { images, .. } if !images.is_empty());
        let refused = matches!(refusal.error.http, Some(400 | 404 | 413 | 415 | 422));
        let gives_up = !self.no_images
            && refused
            && refusal.names(&["image"])
            && self.history.entries.iter().any(has);
        self.no_images |= gives_up;
        gives_up
    }

    /// Tells of a limit that will not pass soon.
    pub(super) async fn limits(&self, refusal: &RequestFailure) -> Result<(), WaitBroken> {
        let error = &*refusal.error;
        if !matches!(error.class, ErrorClass::UsageLimit | ErrorClass::RateLimit) {
            return Ok(());
        }
        let resets_at = match refusal.again {
            RetryAdvice::After(wait) => i64::try_from(wait.as_millis())
                .ok()
                .map(|wait| crate::clock::now_ms().saturating_add(wait)),
            RetryAdvice::Never | RetryAdvice::Later => None,
        };
        let limit = RateLimit {
            exhausted: true,
            status: "refused".into(),
            window: None,
            resets_at,
            used: None,
            error: Some(error.clone()),
        };
        self.outbox.event(EventKind::RateLimit(Box::new(limit))).await
    }

    /// How many tokens the model can look at, as far as anybody knows.
    pub(super) fn window(&self) -> Option<u64> {
        let known = || self.prices.find(&self.model).and_then(|model| model.window);
        self.spec.model_options.window.or_else(known)
    }
}

/// Tokens of so many bytes, where nobody counts.
pub(super) fn estimated(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

/// Twice as long each time, and never the same for two that wait.
fn jittered(tries: u32) -> Duration {
    let longest = FIRST_WAIT.saturating_mul(1 << tries.min(16)).min(MAX_CALL_RETRY_DELAY);
    // The last 32 bits of a random id are random.
    let dice = Uuid::new_v4().as_u128() as u32;
    longest.mul_f64(0.5 + 0.5 * f64::from(dice) / f64::from(u32::MAX))
}
