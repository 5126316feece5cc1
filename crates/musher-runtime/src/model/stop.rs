//! How a model call can end: one closed vocabulary, into which every wire format puts its own words.

use musher_core::{ErrorClass, ErrorInfo};
use serde_json::Value as Json;

use super::inbox::WaitBroken;
use super::refusal::{Billed, RequestFailure, RetryAdvice};

/// A word of a service is shown up to here.
const SHOWN: usize = 80;
/// What a service says about an end is shown up to here.
const EXPLAINED: usize = 300;

/// How an answer ended. An answer may be acted on only if its service said that it ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The model has said all that it wanted to say.
    End,
    /// The model waits for what its calls give.
    Calls,
    /// The service wants the same conversation again, to go on with it.
    Paused,
    /// The model tried to call a tool and did not manage to.
    BadCall,
    /// The answer was cut at the limit of output.
    MaxOutput,
    /// The conversation no longer fits.
    ContextFull,
    /// The model declined, or a filter did in its place.
    Declined,
    /// The service failed. Another try may do better.
    Failed,
    /// The service finds fault with the request. Another try is as bad.
    Faulty,
    /// The service gave a reason that is not known here.
    Unknown,
    /// The service did not say how it ended.
    Unsaid,
}

/// The words of one format, each with what it means.
pub(crate) type StopWords = &'static [(&'static str, StopReason)];

impl StopReason {
    /// Whether what the answer says may be done.
    pub(crate) fn may_act(self) -> bool {
        match self {
            Self::End | Self::Calls | Self::Paused => true,
            Self::BadCall
            | Self::MaxOutput
            | Self::ContextFull
            | Self::Declined
            | Self::Failed
            | Self::Faulty
            | Self::Unknown
            | Self::Unsaid => false,
        }
    }

    /// What is wrong with an answer that ended so, and what can be done about it.
    fn fault(self) -> Option<(ErrorClass, &'static str, Option<&'static str>)> {
        Some(match self {
            Self::End => return None,
            Self::Calls | Self::BadCall => {
                (ErrorClass::Protocol, "the model tried to call a tool and did not manage to", None)
            }
            Self::Paused => (
                ErrorClass::Server,
                "the service paused its answer again and again and did not end it",
                None,
            ),
            Self::MaxOutput => (
                ErrorClass::MaxOutput,
                "the answer was cut at the model's limit of output",
                Some("raise the limit of output, or ask for less at once"),
            ),
            Self::ContextFull => (
                ErrorClass::ContextOverflow,
                "the answer does not fit the model's window",
                Some("begin a new session, or use a model with a larger window"),
            ),
            Self::Declined => (ErrorClass::Refused, "the model declined to answer", None),
            Self::Failed => (ErrorClass::Server, "the service did not finish its answer", None),
            Self::Faulty => {
                (ErrorClass::InvalidRequest, "the service finds fault with the request", None)
            }
            Self::Unknown => (
                ErrorClass::Protocol,
                "the service ended its answer for a reason that is not known here",
                Some(
                    "check what the service reports; if the answer is whole, ask the model to continue",
                ),
            ),
            Self::Unsaid => (
                ErrorClass::Protocol,
                "the service ended its answer without saying why",
                Some("check the wire format; if the answer is whole, ask the model to continue"),
            ),
        })
    }
}

/// The end of an answer, with the service's own words for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerEnd {
    pub(crate) stop: StopReason,
    /// The vendor's own word.
    pub(crate) native: Option<String>,
    /// What the service said about it beyond that.
    pub(crate) detail: Option<String>,
}

impl AnswerEnd {
    pub(crate) fn new(stop: StopReason, native: Option<&str>) -> Self {
        Self { stop, native: native.map(|word| cut(word, SHOWN)), detail: None }
    }

    /// The end that a reason tells, in the words of its format. What is no text is no known reason, and is shown.
    pub(crate) fn read(words: StopWords, reason: &Json) -> Self {
        let native = match reason {
            Json::Null => None,
            Json::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Some(reason.to_string())
            }
        };
        let stop = match &native {
            None => StopReason::Unsaid,
            Some(word) => words
                .iter()
                .find(|(known, _)| known == word)
                .map_or(StopReason::Unknown, |(_, stop)| *stop),
        };
        Self::new(stop, native.as_deref())
    }

    /// Which of two ends counts, where a service tells more than one: a bad one stays bad.
    pub(crate) fn after(self, before: Option<Self>) -> Self {
        match before {
            Some(before) if !before.stop.may_act() => before,
            Some(_) | None => self,
        }
    }

    #[must_use]
    pub(crate) fn explained(mut self, detail: &Json) -> Self {
        let detail = detail.as_str().filter(|detail| !detail.is_empty());
        self.detail = detail.map(|detail| cut(detail, EXPLAINED));
        self
    }

    /// What is wrong with an answer that ended so; its calls, if it has any, were not made.
    pub(crate) fn error(&self, calls: usize) -> Option<ErrorInfo> {
        let (class, what, hint) = self.stop.fault()?;
        let mut message = what.to_owned();
        if let Some(native) = &self.native {
            message.push_str(&format!(" ({native})"));
        }
        if let Some(detail) = &self.detail {
            message.push_str(&format!(": {detail}"));
        }
        if calls > 0 {
            message.push_str("; the calls in it were not made");
        }
        let mut error = ErrorInfo::new(class, message);
        error.hint = hint.map(str::to_owned);
        error.code.clone_from(&self.native);
        Some(error)
    }

    /// How a turn ends whose last answer ended so, unless all is well.
    pub(super) fn broken(&self, calls: usize) -> Option<WaitBroken> {
        let error = self.error(calls)?;
        let declined = self.stop == StopReason::Declined;
        Some(if declined { WaitBroken::Refused(error) } else { WaitBroken::Failed(error) })
    }

    /// Why there is no answer at all, if it ended so.
    pub(crate) fn refusal(&self, calls: usize) -> Option<RequestFailure> {
        let again = match self.stop {
            StopReason::Failed => RetryAdvice::Later,
            StopReason::Faulty | StopReason::Unknown | StopReason::Unsaid => RetryAdvice::Never,
            StopReason::End
            | StopReason::Calls
            | StopReason::Paused
            | StopReason::BadCall
            | StopReason::MaxOutput
            | StopReason::ContextFull
            | StopReason::Declined => return None,
        };
        Some(RequestFailure { error: Box::new(self.error(calls)?), again, billed: Billed::Maybe })
    }
}

fn cut(text: &str, most: usize) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.floor_char_boundary(text.len().min(most));
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WORDS: StopWords = &[("stop", StopReason::End), ("length", StopReason::MaxOutput)];

    #[test]
    fn a_reason_is_known_unknown_or_not_told_and_only_a_good_one_may_be_acted_on() {
        for (reason, stop) in [
            (json!("stop"), StopReason::End),
            (json!("length"), StopReason::MaxOutput),
            (json!("STOP"), StopReason::Unknown),
            (json!(7), StopReason::Unknown),
            (json!({"stop": true}), StopReason::Unknown),
            (json!(""), StopReason::Unsaid),
            (json!(null), StopReason::Unsaid),
        ] {
            let end = AnswerEnd::read(WORDS, &reason);
            assert_eq!(end.stop, stop, "{reason}");
            assert_eq!(end.stop.may_act(), stop == StopReason::End, "{reason}");
            assert_eq!(end.error(0).is_none(), stop == StopReason::End, "{reason}");
        }
    }

    #[test]
    fn a_good_end_does_not_make_a_bad_one_good() {
        let (good, bad) =
            (AnswerEnd::new(StopReason::End, None), AnswerEnd::new(StopReason::Declined, None));
        assert_eq!(good.clone().after(Some(bad.clone())), bad);
        assert_eq!(bad.clone().after(Some(good.clone())), bad);
        assert_eq!(good.clone().after(None), good);
    }

    #[test]
    fn a_long_reason_is_cut_and_still_named() {
        let end = AnswerEnd::read(WORDS, &json!("x".repeat(5000)));
        let error = end.error(1).unwrap();
        assert!(error.message.contains("xxx…") && error.message.len() < 300, "{error:?}");
        assert!(error.message.contains("were not made"), "{error:?}");
    }
}
