//! The scenarios in which the service fails: errors, limits, silence, cut streams and garbage.

use super::{Scene, refuse};
use crate::model::conversation::Wire;
use crate::model::reply::{Answer, Ending, Mishap};
use crate::model::trouble::{Fault, Trouble};

/// The answer of a failing scenario; `None` if the scenario is not one of these.
pub(super) fn answer(scene: &Scene<'_>) -> Option<Answer> {
    let marker = scene.marker;
    if window_is_full(scene) {
        return Some(refuse(Trouble::ContextFull));
    }
    let trouble = match marker.name.as_str() {
        "hang" => return Some(Answer::Hang),
        "hang_mid" => return Some(scene.broken(Ending::Silence)),
        "cut" => {
            let at_end = marker.get("at") == Some("end");
            let ending = if at_end { Ending::Unmarked } else { Ending::Cut };
            return Some(scene.at_first(|| scene.broken(ending)));
        }
        "eof" => return Some(scene.at_first(|| scene.broken(Ending::Eof))),
        "half" => return Some(scene.at_first(|| scene.broken(Ending::Half))),
        "inline_err" => {
            let mishap = mishap(scene);
            return Some(scene.at_first(|| scene.broken(Ending::Error(mishap))));
        }
        "body" => {
            let (kind, text) = (marker.text("as", "application/json"), marker.text("say", "{}"));
            return Some(scene.at_first(|| Answer::Text { kind, text }));
        }
        "garbage" => return Some(scene.at_first(|| Answer::Garbage)),
        "html" => {
            let status = u16::try_from(marker.number("status", 200)).unwrap_or(200);
            return Some(scene.at_first(|| Answer::Page(status)));
        }
        "err" => return Some(scene.at_first(|| scene.dressed(error(scene)))),
        "rate" => return Some(scene.at_first(|| scene.dressed(Trouble::Rate))),
        "limit" => limit(scene),
        "credit" => Trouble::Credit,
        "auth" => Trouble::WrongKey,
        "forbidden" => Trouble::Forbidden,
        "ctxfull" => Trouble::ContextFull,
        "nomodel" => Trouble::NoModel(scene.conversation.model.clone()),
        // These two say so with an error; the others have an answer for it.
        "blocked" if matches!(scene.conversation.wire, Wire::Responses | Wire::Chat) => {
            Trouble::Blocked
        }
        _ => return None,
    };
    Some(scene.dressed(trouble))
}

/// Any scenario may have a window of so many messages, so that a client has to make its history shorter.
fn window_is_full(scene: &Scene<'_>) -> bool {
    let messages = u64::try_from(scene.conversation.turns.len()).unwrap_or(u64::MAX);
    messages > scene.marker.number("window", u64::MAX)
}

fn mishap(scene: &Scene<'_>) -> Mishap {
    match scene.marker.get("kind") {
        Some("server") => Mishap::Server,
        Some("rate") => Mishap::Rate,
        Some("context") => Mishap::Context,
        Some(_) | None => Mishap::Overloaded,
    }
}

fn error(scene: &Scene<'_>) -> Trouble {
    match scene.marker.get("status").and_then(|status| status.parse().ok()) {
        Some(429) => Trouble::Rate,
        Some(status) => Trouble::Status(status),
        None => Trouble::Overloaded,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the header is a wall-clock time that the client compares with its own clock"
)]
fn limit(scene: &Scene<'_>) -> Trouble {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let reset = now + scene.marker.number("reset", 3600);
    let claim = scene
        .marker
        .get("claim")
        .map_or_else(|| "five_hour".to_owned(), |claim| claim.replace(' ', "_"));
    Trouble::Limit { reset, claim }
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

    fn dressed(&self, trouble: Trouble) -> Answer {
        let marker = self.marker;
        let text = |key: &str| marker.get(key).map(str::to_owned);
        Answer::Refuse(Fault {
            trouble,
            // An `err` that is over says something else, so there the two need no keys of their own.
            say: text("error").or_else(|| text("say").filter(|_| marker.name == "err")),
            retry: marker.flag("retry"),
            after: text("retry_after"),
            after_ms: text("retry_after_ms"),
        })
    }
}
