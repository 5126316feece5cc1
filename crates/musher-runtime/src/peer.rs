//! One request/response peer over lines of JSON, shared by every vendor whose protocol goes both ways.
//!
//! There are two spaces of ids: requests of ours that wait for their answer, and requests of theirs that wait for
//! ours. Ids may be any JSON value and may start at 0; each request is answered at most once. The peer is pure: it
//! says what to write and is told what was read.

#[cfg(any(test, feature = "json-rpc"))]
pub(crate) mod json_rpc;

use std::collections::HashMap;
use std::marker::PhantomData;

use bytes::Bytes;
use serde_json::Value as Json;

/// How a vendor wraps requests and answers.
pub(crate) trait Dialect {
    /// Our `n`-th id, counted from 0.
    fn own_id(n: u64) -> Json;
    fn request(id: &Json, method: &str, params: Json) -> Json;
    fn success(id: &Json, result: Json) -> Json;
    fn failure(id: &Json, message: &str) -> Json;
}

/// The books of both sides. `T` is what a request of ours was about.
#[derive(Debug)]
pub(crate) struct Peer<D, T> {
    next: u64,
    ours: HashMap<Id, T>,
    theirs: HashMap<Id, Json>,
    dialect: PhantomData<D>,
}

/// An id as JSON text, so that `0` and `"0"` differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(String);

impl From<&Json> for Id {
    fn from(id: &Json) -> Self {
        Self(id.to_string())
    }
}

impl<D, T> Default for Peer<D, T> {
    fn default() -> Self {
        Self { next: 0, ours: HashMap::new(), theirs: HashMap::new(), dialect: PhantomData }
    }
}

impl<D: Dialect, T> Peer<D, T> {
    /// The line that asks for something; its answer will bring `about` back.
    pub(crate) fn request(&mut self, method: &str, params: Json, about: T) -> Bytes {
        let id = D::own_id(self.next);
        self.next += 1;
        self.ours.insert(Id::from(&id), about);
        line(&D::request(&id, method, params))
    }

    /// An answer came: what it is about, unless nobody waits for it.
    pub(crate) fn answered(&mut self, id: &Json) -> Option<T> {
        self.ours.remove(&Id::from(id))
    }

    /// They asked for something.
    pub(crate) fn opened(&mut self, id: Json) -> Id {
        let key = Id::from(&id);
        self.theirs.insert(key.clone(), id);
        key
    }

    /// They took their request back; `false` if it was not open.
    pub(crate) fn withdrawn(&mut self, id: &Id) -> bool {
        self.theirs.remove(id).is_some()
    }

    /// The line that answers their request, the first time.
    pub(crate) fn answer(&mut self, id: &Id, result: Json) -> Option<Bytes> {
        self.theirs.remove(id).map(|id| line(&D::success(&id, result)))
    }

    /// The line that refuses their request, the first time.
    pub(crate) fn refuse(&mut self, id: &Id, message: &str) -> Option<Bytes> {
        self.theirs.remove(id).map(|id| line(&D::failure(&id, message)))
    }
}

/// One value as one line.
pub(crate) fn line(value: &Json) -> Bytes {
    let mut text = value.to_string();
    text.push('\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::json_rpc::JsonRpc;
    use super::*;
    use serde_json::json;

    type Rpc = Peer<JsonRpc, &'static str>;

    fn value(line: &Bytes) -> Json {
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn our_ids_start_at_zero_and_bring_back_what_was_asked() {
        let mut peer = Rpc::default();
        let first = value(&peer.request("initialize", json!({}), "hello"));
        assert_eq!(first["id"], json!(0));
        peer.request("start", json!({}), "go");
        assert_eq!(peer.answered(&json!(1)), Some("go"));
        assert_eq!(peer.answered(&json!(0)), Some("hello"));
        assert_eq!(peer.answered(&json!(0)), None, "an answer counts once");
    }

    #[test]
    fn their_ids_are_another_space_and_of_any_type() {
        let mut peer = Rpc::default();
        peer.request("a", json!({}), "ours");
        for id in
            [json!(0), json!("0"), json!("uuid"), json!(null), json!({ "k": [1] }), json!(1.5)]
        {
            let key = peer.opened(id.clone());
            let answer = value(&peer.answer(&key, json!("yes")).unwrap());
            assert_eq!(answer["id"], id);
            assert_eq!(peer.answer(&key, json!("again")), None, "each request is answered once");
        }
        assert_eq!(peer.answered(&json!(0)), Some("ours"), "their 0 is not our 0");
    }

    #[test]
    fn a_withdrawn_request_is_not_answered() {
        let mut peer = Rpc::default();
        let key = peer.opened(json!(0));
        assert!(peer.withdrawn(&key));
        assert!(!peer.withdrawn(&key));
        assert_eq!(peer.refuse(&key, "late"), None);
    }

    #[test]
    fn an_answer_to_something_never_asked_is_nobodys() {
        assert_eq!(Rpc::default().answered(&json!("echo of our own answer")), None);
    }
}
