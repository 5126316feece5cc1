//! What the two OpenAI wires have in common: keys, headers and error bodies.

use serde_json::{Value, json};

use super::asked::{Asked, Key};
use super::ledger::Usage;
use super::mint;
use super::reply::{Mishap, Reply};
use super::trouble::{Fault, Refusal, Trouble};

pub(super) fn key(asked: &Asked) -> Key {
    Key::judge(asked.bearer())
}

pub(super) fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("x-request-id", format!("req_{}", mint::unique())),
        ("openai-processing-ms", "12".to_owned()),
        ("x-ratelimit-limit-requests", "5000".to_owned()),
        ("x-ratelimit-remaining-requests", "4999".to_owned()),
        ("x-ratelimit-reset-requests", "12ms".to_owned()),
        ("x-ratelimit-limit-tokens", "2000000".to_owned()),
        ("x-ratelimit-remaining-tokens", "1999000".to_owned()),
        ("x-ratelimit-reset-tokens", "30ms".to_owned()),
    ]
}

/// The vendor has one price for what is written to the cache, and counts it and what is read inside the input.
pub(super) fn told(usage: Usage) -> Usage {
    Usage {
        cache_write_5m: usage.cache_write_5m + usage.cache_write_1h,
        cache_write_1h: 0,
        ..usage
    }
}

pub(super) fn all_input(usage: Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
}

/// The error of a request that is wrong in itself.
#[derive(Debug)]
pub(super) struct Invalid {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) param: Option<String>,
    pub(super) code: Option<&'static str>,
}

impl Invalid {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), param: None, code: None }
    }

    pub(super) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(super) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(super) fn value(param: &str, found: &str, allowed: &str) -> Self {
        Self::new(format!("Invalid value: '{found}'. Supported values are: {allowed}."))
            .at(param)
            .code("invalid_value")
    }

    pub(super) fn missing(param: &str) -> Self {
        Self::new(format!("Missing required parameter: '{param}'."))
            .at(param)
            .code("missing_required_parameter")
    }

    pub(super) fn not_a_string(param: &str, value: &Value) -> Self {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "an integer",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Self::new(format!(
            "Invalid type for '{param}': expected a string, but got {found} instead."
        ))
        .at(param)
        .code("invalid_type")
    }

    pub(super) fn too_long(param: &str, limit: usize, length: usize) -> Self {
        Self::new(format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {limit}, but got a string with length {length} instead."
        ))
        .at(param)
        .code("string_above_max_length")
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        let error = json!({
            "message": invalid.message,
            "type": "invalid_request_error",
            "param": invalid.param,
            "code": invalid.code,
        });
        Self { status: invalid.status, body: json!({"error": error}), headers: headers() }
    }
}

/// Refuses a name that no function may have.
pub(super) fn check_name(param: &str, name: &Value) -> Result<(), Invalid> {
    if name.is_null() {
        return Err(Invalid::missing(param));
    }
    let text = check_string(param, name)?;
    if text.len() > 64 {
        return Err(Invalid::too_long(param, 64, text.len()));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || !text.chars().all(fits) {
        return Err(Invalid::new(format!(
            "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ))
        .at(param)
        .code("invalid_value"));
    }
    Ok(())
}

/// Refuses an id that is no string, empty, or longer than the vendor's limit.
pub(super) fn check_id<'a>(param: &str, id: &'a Value, limit: usize) -> Result<&'a str, Invalid> {
    let id = check_string(param, id)?;
    if id.is_empty() {
        return Err(Invalid::new(format!(
            "Invalid '{param}': empty string. Expected a string with minimum length 1, but got an empty string instead."
        ))
        .at(param)
        .code("empty_string"));
    }
    if id.len() > limit {
        return Err(Invalid::too_long(param, limit, id.len()));
    }
    Ok(id)
}

/// Refuses what is no string; null is one more thing that is none.
pub(super) fn check_string<'a>(param: &str, value: &'a Value) -> Result<&'a str, Invalid> {
    value.as_str().ok_or_else(|| Invalid::not_a_string(param, value))
}

/// Refuses a field that is missing or null, and any that is neither a string nor a list.
pub(super) fn check_content(param: &str, value: &Value) -> Result<(), Invalid> {
    if value.is_string() || value.is_array() {
        return Ok(());
    }
    Err(Invalid::not_a_string(param, value))
}

pub(super) fn refuse(fault: &Fault) -> Refusal {
    let (status, kind, code, words) = words(&fault.trouble);
    let param = if fault.trouble == Trouble::ContextFull { json!("messages") } else { Value::Null };
    let message = fault.words(words);
    let error = json!({"message": message, "type": kind, "param": param, "code": code});
    let mut headers = headers();
    headers.extend(fault.retry_headers(None));
    if fault.trouble == Trouble::Rate {
        headers.push(("x-ratelimit-remaining-requests", "0".to_owned()));
        headers.push(("x-ratelimit-reset-requests", "6s".to_owned()));
    }
    Refusal { status, body: json!({"error": error}), headers }
}

/// What a stream says about an error: its code and its message.
pub(super) fn mishap(mishap: Mishap) -> (String, String) {
    let body = refuse(&mishap.fault()).body;
    let word = |key: &str| body["error"][key].as_str().map(str::to_owned);
    let code = word("code").or_else(|| word("type")).unwrap_or_default();
    (code, word("message").unwrap_or_default())
}

fn words(trouble: &Trouble) -> (u16, &'static str, Value, String) {
    const INVALID: &str = "invalid_request_error";
    let (status, kind, code, words) = match trouble {
        Trouble::NoKey => (
            401,
            INVALID,
            Value::Null,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
        ),
        Trouble::WrongKey => {
            (401, INVALID, json!("invalid_api_key"), "Incorrect API key provided: wrong***.")
        }
        Trouble::Forbidden => (
            403,
            INVALID,
            json!("unsupported_country_region_territory"),
            "Country, region, or territory not supported",
        ),
        Trouble::NoModel(model) => {
            let words =
                format!("The model `{model}` does not exist or you do not have access to it.");
            return (404, INVALID, json!("model_not_found"), words);
        }
        Trouble::NoPath(path) => {
            return (404, INVALID, Value::Null, format!("Invalid URL (POST {path})"));
        }
        Trouble::TooLarge => (413, INVALID, Value::Null, "Request body too large"),
        Trouble::NotJson => {
            (400, INVALID, Value::Null, "We could not parse the JSON body of your request.")
        }
        Trouble::Invalid(words) => return (400, INVALID, Value::Null, words.clone()),
        Trouble::ContextFull => (
            400,
            INVALID,
            json!("context_length_exceeded"),
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        Trouble::Blocked => (
            400,
            INVALID,
            json!("invalid_prompt"),
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        ),
        Trouble::Credit => (
            429,
            "insufficient_quota",
            json!("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        Trouble::Limit { .. } => (
            429,
            "requests",
            json!("rate_limit_exceeded"),
            "Rate limit reached for requests per day (RPD). Please try again in 1h0m0s.",
        ),
        Trouble::Rate | Trouble::Status(429) => (
            429,
            "requests",
            json!("rate_limit_exceeded"),
            "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 6s.",
        ),
        Trouble::Overloaded | Trouble::Status(503) => (
            503,
            "service_unavailable_error",
            json!("server_is_overloaded"),
            "Our servers are currently overloaded. Please try again later.",
        ),
        Trouble::Status(status) => (
            *status,
            "server_error",
            json!("server_error"),
            "The server had an error while processing your request. Sorry about that!",
        ),
    };
    (status, kind, code, words.to_owned())
}

/// Padding that hides how long a piece of text is, unless the client wants none.
pub(super) fn pad(asked: &Asked, reply: &Reply, event: &mut Value) {
    if asked.body["stream_options"]["include_obfuscation"] != false {
        let length = 4 + event.to_string().len() % 13;
        event["obfuscation"] = json!(reply.seed.chars().cycle().take(length).collect::<String>());
    }
}
