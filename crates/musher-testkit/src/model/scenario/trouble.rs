//! The scenarios in which the service fails: errors, limits, silence, cut streams and garbage.

use super::Scene;
use crate::model::reply::{Answer, Ending, Refusal};

/// The answer of a failing scenario; `None` if the scenario is not one of these.
pub(super) fn answer(scene: &Scene<'_>) -> Option<Answer> {
    let marker = scene.marker;
    let refusal = match marker.name.as_str() {
        "hang" => return Some(Answer::Hang),
        "hang_mid" => return Some(scene.broken(Ending::Silence)),
        "cut" => return Some(scene.at_first(|| scene.broken(Ending::Cut))),
        "inline_err" => return Some(scene.at_first(|| scene.broken(Ending::Overloaded))),
        "garbage" => return Some(scene.at_first(|| Answer::Garbage)),
        "err" => return Some(scene.at_first(|| Answer::Refuse(scene.dressed(error(scene))))),
        "limit" => limit(scene),
        "credit" => Refusal::new(
            400,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
        ),
        "auth" => Refusal::new(401, "invalid x-api-key").with("x-should-retry", "false"),
        "forbidden" => Refusal::new(
            403,
            "Your API key does not have permission to use the specified resource.",
        ),
        "ctxfull" => Refusal::new(400, "prompt is too long: 1000001 tokens > 1000000 maximum"),
        "nomodel" => no_model(&scene.conversation.model),
        _ => return None,
    };
    Some(Answer::Refuse(scene.dressed(refusal)))
}

pub(super) fn no_model(model: &str) -> Refusal {
    Refusal::new(404, format!("model: {model}"))
}

fn error(scene: &Scene<'_>) -> Refusal {
    let status = u16::try_from(scene.marker.number("status", 529)).unwrap_or(529);
    let message = match status {
        429 => "This request would exceed your rate limit.",
        503 => "Service unavailable",
        529 => "Overloaded",
        _ => "Internal server error",
    };
    Refusal::new(status, scene.marker.text("say", message))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the header is a wall-clock time that the client compares with its own clock"
)]
fn limit(scene: &Scene<'_>) -> Refusal {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let reset = now + scene.marker.number("reset", 3600);
    let claim = scene
        .marker
        .get("claim")
        .map_or_else(|| "five_hour".to_owned(), |claim| claim.replace(' ', "_"));
    Refusal::new(
        429,
        "This request would exceed your account's rate limit. Please try again later.",
    )
    .with("anthropic-ratelimit-unified-status", "rejected")
    .with("anthropic-ratelimit-unified-reset", reset.to_string())
    .with("anthropic-ratelimit-unified-representative-claim", claim)
    .with("x-should-retry", "false")
}

impl Scene<'_> {
    /// Fails the first `n` requests with this marker (once unless told, always for 0); then all is well.
    fn at_first(&self, fail: impl FnOnce() -> Answer) -> Answer {
        let times = self.marker.number("n", 1);
        if self.desk.fails(&self.marker.raw, times) {
            fail()
        } else {
            self.say("All is well again.")
        }
    }

    fn dressed(&self, mut refusal: Refusal) -> Refusal {
        if let Some(retry) = self.marker.flag("retry") {
            refusal.headers.retain(|(name, _)| *name != "x-should-retry");
            refusal = refusal.with("x-should-retry", retry.to_string());
        }
        if let Some(seconds) = self.marker.get("retry_after") {
            refusal = refusal.with("retry-after", seconds);
        }
        refusal
    }
}
