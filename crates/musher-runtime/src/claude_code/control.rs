//! How Claude Code wraps control requests and their answers.

use serde_json::{Value as Json, json};

use crate::peer::Dialect;

/// The dialect: a request's method is the `subtype` inside it.
#[derive(Debug)]
pub(super) enum Control {}

/// How much a hook before every tool matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionHook {
    /// Without it the rules could not be kept.
    Needed,
    /// Without it less is held back, and what is done is noticed later.
    Wished,
}

/// What a control request of ours was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ControlSubject {
    /// With a hook before every tool, if one was asked for.
    Initialize {
        hook: Option<PermissionHook>,
    },
    Interrupt,
    SetModel(String),
    SetMode(String),
}

impl Dialect for Control {
    fn own_id(n: u64) -> Json {
        format!("musher-{n}").into()
    }

    fn request(id: &Json, method: &str, params: Json) -> Json {
        let mut request = params;
        request["subtype"] = method.into();
        json!({ "type": "control_request", "request_id": id, "request": request })
    }

    fn success(id: &Json, result: Json) -> Json {
        json!({
            "type": "control_response",
            "response": { "subtype": "success", "request_id": id, "response": result },
        })
    }

    fn failure(id: &Json, message: &str) -> Json {
        json!({
            "type": "control_response",
            "response": { "subtype": "error", "request_id": id, "error": message },
        })
    }
}
