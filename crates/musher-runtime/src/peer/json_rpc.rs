//! JSON-RPC 2.0, as most agents speak it. No runtime here does so far; it proves that the peer is not one vendor's.

use serde_json::{Value as Json, json};

use super::Dialect;

/// The dialect. Agents that leave out `jsonrpc` still accept it.
#[derive(Debug)]
pub(super) enum JsonRpc {}

/// "Internal error", for what has no code of its own.
const INTERNAL: i32 = -32603;

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
