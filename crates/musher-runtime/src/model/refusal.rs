//! What a service says instead of an answer, and whether asking again can help.

use std::time::Duration;

use musher_core::{ErrorClass, ErrorInfo};
use reqwest::header::HeaderMap;
use serde_json::Value as Json;

/// Of an error that came as something else than JSON, this much is shown.
const SHOWN: usize = 300;

/// A request that got no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestFailure {
    pub(crate) error: Box<ErrorInfo>,
    pub(crate) again: RetryAdvice,
    pub(crate) billed: Billed,
}

/// Whether a request that got no answer can have cost anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Billed {
    /// It was never sent, or was refused before the model did anything.
    No,
    /// The model may have worked for it.
    Maybe,
}

/// Whether asking again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    Never,
    /// After a while of our choice.
    Later,
    /// After the time that the service named.
    After(Duration),
}

/// An HTTP answer that is no success.
#[derive(Debug)]
pub(crate) struct HttpRefusal<'a> {
    pub(crate) status: u16,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

impl RequestFailure {
    pub(crate) fn never(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(class, message, RetryAdvice::Never)
    }

    pub(crate) fn later(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(class, message, RetryAdvice::Later)
    }

    fn new(class: ErrorClass, message: impl Into<String>, again: RetryAdvice) -> Self {
        Self { error: Box::new(ErrorInfo::new(class, message)), again, billed: Billed::Maybe }
    }

    /// The same of a request for which no model has worked.
    #[must_use]
    pub(crate) fn unbilled(self) -> Self {
        Self { billed: Billed::No, ..self }
    }

    /// What came is no answer in this format.
    pub(crate) fn no_answer(kind: &str, format: &str, body: &[u8], again: RetryAdvice) -> Self {
        let kind = if kind.is_empty() { "no content type".to_owned() } else { format!("`{kind}`") };
        let came = match shown(body) {
            came if came.is_empty() => "nothing".to_owned(),
            came => came,
        };
        let message = format!(
            "the service answered with {kind}, which is no answer in the format `{format}`: {came}"
        );
        let mut refusal = Self::new(ErrorClass::Protocol, message, again);
        refusal.error.hint = Some("look at the base address and the wire format".into());
        refusal
    }

    /// The stream ended before it said that it would.
    pub(crate) fn cut_off() -> Self {
        Self::later(ErrorClass::Network, "the service broke off in the middle of its answer")
    }

    /// The same of an error that came inside an answer: only what may pass by itself is asked again.
    #[must_use]
    pub(crate) fn told_inside(mut self) -> Self {
        if !matches!(
            self.error.class,
            ErrorClass::Server | ErrorClass::Overloaded | ErrorClass::RateLimit
        ) {
            self.again = RetryAdvice::Never;
        }
        self
    }

    #[must_use]
    pub(crate) fn with_code(mut self, code: Option<&str>) -> Self {
        self.error.code = code.filter(|code| !code.is_empty()).map(str::to_owned);
        self
    }

    /// Whether the refusal names one of these words, as services do with what they do not take.
    pub(crate) fn names(&self, words: &[&str]) -> bool {
        let text = self.error.message.to_lowercase();
        words.iter().any(|word| text.contains(word))
    }
}

impl HttpRefusal<'_> {
    /// The body as JSON; `Null` when it is none.
    pub(crate) fn json(&self) -> Json {
        let json: Json = serde_json::from_slice(self.body).unwrap_or_default();
        // One vendor puts its error into a list when the answer would have been one.
        json.get(0).cloned().unwrap_or(json)
    }

    /// The refusal as the status tells it, with the words of the service if there are any.
    pub(crate) fn plain(&self, message: Option<&str>, code: Option<&str>) -> RequestFailure {
        let (class, retried) = by_status(self.status);
        let message = match message.filter(|message| !message.is_empty()) {
            Some(message) => message.to_owned(),
            None => self.shown(),
        };
        let again = if retried { self.later() } else { RetryAdvice::Never };
        let mut refusal = RequestFailure::new(class, message, again).unbilled().with_code(code);
        refusal.error.http = Some(self.status);
        refusal.error.request_id = ["request-id", "x-request-id", "x-goog-request-id"]
            .iter()
            .find_map(|name| self.header(name))
            .map(str::to_owned);
        match self.header("x-should-retry") {
            Some("true") if again == RetryAdvice::Never => refusal.again = self.later(),
            Some("false") => refusal.again = RetryAdvice::Never,
            Some(_) | None => {}
        }
        refusal
    }

    /// How long the service wants to be left alone.
    pub(crate) fn later(&self) -> RetryAdvice {
        let millis = self.header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
        let wait = match (millis, self.header("retry-after")) {
            (Some(millis), _) => of_seconds(millis / 1000.0),
            (None, Some(text)) => retry_after(text, crate::clock::now_ms()),
            (None, None) => None,
        };
        wait.map_or(RetryAdvice::Later, RetryAdvice::After)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What came, for a person to recognise: a page of HTML says that the address is wrong.
    fn shown(&self) -> String {
        let text = shown(self.body);
        if text.is_empty() {
            return format!("the service answered {} and said nothing", self.status);
        }
        format!("the service answered {}: {text}", self.status)
    }
}

/// The beginning of what came, as text.
fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    text.trim().to_owned()
}

/// What the standard header says: seconds, or the date until which to wait. A date that is past says nothing.
fn retry_after(text: &str, now_ms: i64) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return of_seconds(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let now = Duration::from_millis(u64::try_from(now_ms).ok()?);
    let wait = date.duration_since(std::time::UNIX_EPOCH).ok()?.checked_sub(now)?;
    (!wait.is_zero()).then_some(wait)
}

/// So many seconds; more than fit are as good as for ever.
pub(crate) fn of_seconds(seconds: f64) -> Option<Duration> {
    let longest = Duration::MAX.as_secs_f64();
    if seconds >= longest { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
}

/// What a status means by itself, and whether asking again can help.
fn by_status(status: u16) -> (ErrorClass, bool) {
    match status {
        401 | 403 => (ErrorClass::Auth, false),
        402 => (ErrorClass::Billing, false),
        404 => (ErrorClass::ModelNotFound, false),
        408 | 409 => (ErrorClass::Server, true),
        413 => (ErrorClass::ContextOverflow, false),
        429 => (ErrorClass::RateLimit, true),
        503 | 529 => (ErrorClass::Overloaded, true),
        500..=599 => (ErrorClass::Server, true),
        300..=399 => (ErrorClass::Config, false),
        _ => (ErrorClass::InvalidRequest, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wed, 21 Oct 2026 07:28:00 GMT.
    const NOW: i64 = 1_792_567_680_000;

    #[test]
    fn a_service_names_a_time_in_seconds_or_by_a_date() {
        let wait = |text| retry_after(text, NOW);
        assert_eq!(wait("2"), Some(Duration::from_secs(2)));
        assert_eq!(wait(" 1.5 "), Some(Duration::from_millis(1500)));
        assert_eq!(wait("0"), Some(Duration::ZERO));
        assert_eq!(wait("Wed, 21 Oct 2026 07:28:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(wait("Wednesday, 21-Oct-26 07:29:00 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(wait("Wed Oct 21 08:28:00 2026"), Some(Duration::from_secs(3600)));
        assert_eq!(wait("1e300"), Some(Duration::MAX));
        assert_eq!(wait("inf"), Some(Duration::MAX));
    }

    #[test]
    fn a_time_that_is_past_or_none_at_all_says_nothing() {
        let dates = ["Wed, 21 Oct 2026 07:28:00 GMT", "Tue, 20 Oct 2015 07:28:00 GMT"];
        for text in dates.into_iter().chain(["", "-1", "NaN", "soon", "Wed, 99 Oct 2026"]) {
            assert_eq!(retry_after(text, NOW), None, "{text}");
        }
    }
}
