//! JSON-RPC 2.0, as most agents speak it: one object a line.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Dialect;
use crate::json::{self, JsonText, RawJson};

/// The dialect. Agents that leave out `jsonrpc` still accept it.
#[derive(Debug)]
pub(crate) enum JsonRpc {}

/// "Internal error", for what has no code of its own.
const INTERNAL: i32 = -32603;
/// "Method not found".
const UNKNOWN_METHOD: i32 = -32601;

impl Dialect for JsonRpc {
    fn own_id(n: u64) -> Json {
        n.into()
    }

    fn request(id: &Json, method: &str, params: Json) -> Json {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    fn success(id: &Json, result: Json) -> Json {
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    }

    fn failure(id: &Json, message: &str) -> Json {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": INTERNAL, "message": message } })
    }
}

/// A message to which nobody replies.
pub(crate) fn notification(method: &str, params: Option<Json>) -> Json {
    match params {
        Some(params) => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "method": method }),
    }
}

/// The reply to a request that nobody here knows. Silence would make the agent wait for ever.
pub(crate) fn unknown_method(id: &Json, method: &str) -> Json {
    let message = format!("Musher does not know `{method}`");
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": UNKNOWN_METHOD, "message": message } })
}

/// What the other side says in one line.
pub(crate) enum Message<'a> {
    Request { id: Json, method: JsonText<'a>, params: RpcParams<'a> },
    Notification { method: JsonText<'a>, params: RpcParams<'a> },
    Response { id: Json, result: Result<RpcParams<'a>, RpcError> },
}

/// The value that a message carries, not read yet.
#[derive(Debug)]
pub(crate) struct RpcParams<'a>(Option<RawJson<'a>>);

impl RpcParams<'_> {
    /// The value as the shape that is expected of it.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        json::read_piece(self.0.as_ref()?)
    }

    /// The same for a shape that borrows from the line.
    pub(crate) fn read_here<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        json::read(self.0.as_ref()?.as_raw_str())
    }

    /// The text under a name of it.
    pub(crate) fn text(&self, name: &str) -> Option<JsonText<'_>> {
        json::text_in(self.0.as_ref()?.as_raw_str(), name)
    }

    /// The name of the request that it is about.
    pub(crate) fn request_name(&self) -> Option<String> {
        self.read::<Json>()?.get("requestId").map(name_of)
    }
}

/// Why a request of ours failed.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    /// What it says beyond that, in the vendor's own shape.
    #[serde(default)]
    pub(crate) data: Option<Json>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<Json>,
    #[serde(default, borrow)]
    method: Option<JsonText<'a>>,
    #[serde(default, borrow)]
    params: Option<RawJson<'a>>,
    #[serde(default, borrow)]
    result: Option<RawJson<'a>>,
    #[serde(default, deserialize_with = "json::lenient")]
    error: Option<RpcError>,
}

impl<'a> Message<'a> {
    /// Reads a line; nothing if it is no message.
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        let Envelope { id, method, params, result, error } = json::read(line)?;
        match (id, method) {
            (Some(id), Some(method)) => {
                Some(Self::Request { id, method, params: RpcParams(params) })
            }
            (None, Some(method)) => Some(Self::Notification { method, params: RpcParams(params) }),
            (Some(id), None) => {
                let result = match error {
                    Some(error) => Err(error),
                    None => Ok(RpcParams(result)),
                };
                Some(Self::Response { id, result })
            }
            (None, None) => None,
        }
    }
}

/// A request's id as a name that can stand in an address; `0` and `"0"` are two.
pub(crate) fn name_of(id: &Json) -> String {
    id.as_str().map_or_else(|| format!("request-{id}"), str::to_owned)
}
