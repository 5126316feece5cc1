//! Why something failed: the protocol has few words for it, so vendors' own are read too.

use musher_core::{ErrorClass, ErrorInfo, HintCode};
use serde_json::Value as Json;

use super::super::preset::AcpPreset;
use super::{RpcError, Setting};

/// A login is needed.
const AUTH_REQUIRED: i64 = -32000;
/// What was named is not there.
const NOT_FOUND: i64 = -32002;

/// Words that tell what failed, where there is neither a code nor a status; the first that fits counts.
const WORDS: &[(&str, ErrorClass)] = &[
    ("invalid x-api-key", ErrorClass::Auth),
    ("invalid api key", ErrorClass::Auth),
    ("api key not valid", ErrorClass::Auth),
    ("incorrect api key", ErrorClass::Auth),
    ("unauthorized", ErrorClass::Auth),
    ("authentication", ErrorClass::Auth),
    ("credit balance", ErrorClass::Billing),
    ("insufficient_quota", ErrorClass::Billing),
    ("usage limit", ErrorClass::UsageLimit),
    ("rate limit", ErrorClass::RateLimit),
    ("too many requests", ErrorClass::RateLimit),
    ("resource_exhausted", ErrorClass::RateLimit),
    ("overloaded", ErrorClass::Overloaded),
    ("context length", ErrorClass::ContextOverflow),
    ("prompt is too long", ErrorClass::ContextOverflow),
    ("model not found", ErrorClass::ModelNotFound),
    ("fetch failed", ErrorClass::Network),
    ("econnre", ErrorClass::Network),
    ("socket", ErrorClass::Network),
    ("terminated", ErrorClass::Network),
    ("timed out", ErrorClass::Network),
];

/// An error of a prompt in the words that all runtimes share.
pub(super) fn classified(preset: &AcpPreset, error: &RpcError) -> ErrorInfo {
    let mut message = error.words();
    let mut http = u16::try_from(error.code).ok().filter(|code| (400..600).contains(code));
    // Some put the service's own body into the text.
    if let Some(body) = body_in(&message) {
        let inner = &body["error"];
        http = http.or_else(|| inner["code"].as_u64().and_then(|code| code.try_into().ok()));
        if let Some(text) = inner["message"].as_str() {
            message = text.to_owned();
        }
    }
    http = http.or_else(|| status_in(&message));
    let class = class_of(error.code, http, &message);
    let mut info = ErrorInfo::new(class, message).with_http(http);
    if http.is_none() {
        info = info.with_code(error.code.to_string());
    }
    hinted(preset, info)
}

/// An error that an agent has told in words, as if it were an answer of its model.
pub(super) fn words_alone(preset: &AcpPreset, words: &str) -> ErrorInfo {
    let from = words.rfind("Error:").unwrap_or_default();
    let message = format!("the agent made no model call, and said: {}", &words[from..]);
    let class = class_of(0, status_in(&message), &message);
    hinted(preset, ErrorInfo::new(class, message))
}

/// An error before the session is open.
pub(super) fn startup(preset: &AcpPreset, error: &RpcError) -> ErrorInfo {
    let info = classified(preset, error);
    match info.class == ErrorClass::Unknown {
        true => ErrorInfo { class: ErrorClass::Startup, ..info },
        false => info,
    }
}

/// A setting that the agent refused.
pub(super) fn setting(preset: &AcpPreset, setting: &Setting, error: &RpcError) -> ErrorInfo {
    let message = format!("{} refused {}: {}", preset.name, setting.words(), error.words());
    let info = ErrorInfo::new(class_of_setting(setting), message);
    match setting {
        Setting::Model(_) => info.hinting(HintCode::NameModel),
        Setting::Mode(_) | Setting::Effort(_) => info.with_hint("use a word that the agent knows"),
    }
}

/// A setting that the agent does not have.
pub(super) fn no_setting(preset: &AcpPreset, setting: &Setting) -> ErrorInfo {
    let message = format!("{} has no choice of {}", preset.name, setting.words());
    ErrorInfo::new(class_of_setting(setting), message).with_hint("leave it out")
}

fn class_of_setting(setting: &Setting) -> ErrorClass {
    match setting {
        Setting::Model(_) => ErrorClass::ModelNotFound,
        Setting::Mode(_) | Setting::Effort(_) => ErrorClass::Config,
    }
}

/// Whether an error says that the session is not there.
pub(super) fn names_no_session(error: &RpcError) -> bool {
    let words = error.words().to_lowercase();
    // One says no more than which of its parts has failed.
    let store = error.data.as_ref().is_some_and(|data| data["service"] == "session");
    error.code == NOT_FOUND
        || store
        || ["not found", "no previous session", "no rollout", "unknown session", "does not exist"]
            .iter()
            .any(|known| words.contains(known))
}

impl RpcError {
    /// What it says, with the details that some put beside it.
    pub(super) fn words(&self) -> String {
        let details = match &self.data {
            Some(Json::String(text)) => Some(text.as_str()),
            Some(data) => {
                ["details", "message", "error"].iter().find_map(|name| data[name].as_str())
            }
            None => None,
        };
        match details {
            Some(details) if !self.message.contains(details) => {
                format!("{}: {details}", self.message)
            }
            Some(_) | None => self.message.clone(),
        }
    }
}

fn class_of(code: i64, http: Option<u16>, message: &str) -> ErrorClass {
    let words = message.to_lowercase();
    let by_words =
        || WORDS.iter().find(|(known, _)| words.contains(known)).map(|(_, class)| *class);
    if code == AUTH_REQUIRED {
        return by_words()
            .filter(|class| *class != ErrorClass::Network)
            .unwrap_or(ErrorClass::Auth);
    }
    let by_status = match http {
        Some(401 | 403) => Some(ErrorClass::Auth),
        Some(402) => Some(ErrorClass::Billing),
        Some(404) => Some(ErrorClass::ModelNotFound),
        Some(429) => Some(ErrorClass::RateLimit),
        Some(503 | 529) => Some(ErrorClass::Overloaded),
        Some(500..) => Some(ErrorClass::Server),
        Some(_) | None => None,
    };
    by_status.or_else(by_words).unwrap_or(match http {
        Some(_) => ErrorClass::InvalidRequest,
        None => ErrorClass::Unknown,
    })
}

fn hinted(preset: &AcpPreset, info: ErrorInfo) -> ErrorInfo {
    if info.class == ErrorClass::ModelNotFound {
        return info.hinting(HintCode::NameModel);
    }
    match preset.login.as_ref().filter(|_| info.class == ErrorClass::Auth) {
        Some(login) => info.with_hint(format!("log in with `{login}`")),
        None => info,
    }
}

/// The first object inside a text.
fn body_in(text: &str) -> Option<Json> {
    let from = text.find('{')?;
    serde_json::Deserializer::from_str(&text[from..]).into_iter::<Json>().next()?.ok()
}

/// A status that stands in a text as such.
fn status_in(text: &str) -> Option<u16> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let named = |pair: &[&str]| {
        let before = pair[0].to_lowercase();
        let status: u16 = pair[1].parse().ok()?;
        let known = matches!(before.as_str(), "status" | "http" | "code" | "error");
        Some(status).filter(|status| known && (400..600).contains(status))
    };
    words.windows(2).find_map(named)
}
