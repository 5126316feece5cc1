//! What each vendor refuses about a history, and the words in which it does.

mod chat;
mod gemini;
mod messages;
mod responses;

use musher_testkit::model::ModelServer;
use serde_json::Value;

use crate::dialect::Dialect;
use crate::talk::Talk;

/// What is wrong, the change that makes it so, and words of the refusal.
type Case = (&'static str, Change, &'static str);

/// A change that makes a good conversation bad. Places are JSON pointers.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Puts a JSON text in a place.
    Set(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Drop(&'static str),
    /// Puts a JSON text into a list, before what is there.
    Insert(&'static str, &'static str),
    /// Takes a value away and puts it, inside a new entry, at the end of a list.
    Split(&'static str, &'static str, fn(Value) -> Value),
    Keep(&'static str, usize),
}

impl Change {
    fn apply(self, body: &mut Value) {
        match self {
            Self::Set(place, text) => put(body, place, serde_json::from_str(text).unwrap()),
            Self::Copy(from, place) => {
                let value = body.pointer(from).unwrap().clone();
                put(body, place, value);
            }
            Self::Drop(place) => drop(take(body, place)),
            Self::Insert(place, text) => {
                let (list, at) = parent(body, place);
                let value = serde_json::from_str(text).unwrap();
                list.as_array_mut().unwrap().insert(at.parse().unwrap(), value);
            }
            Self::Split(from, place, wrap) => {
                let value = wrap(take(body, from));
                body.pointer_mut(place).unwrap().as_array_mut().unwrap().push(value);
            }
            Self::Keep(place, count) => {
                body.pointer_mut(place).unwrap().as_array_mut().unwrap().truncate(count);
            }
        }
    }
}

fn parent<'a>(body: &'a mut Value, place: &'static str) -> (&'a mut Value, &'static str) {
    let (parent, key) = place.rsplit_once('/').unwrap();
    (body.pointer_mut(parent).unwrap(), key)
}

fn put(body: &mut Value, place: &'static str, value: Value) {
    let (parent, key) = parent(body, place);
    match parent.as_array_mut() {
        Some(list) => list[key.parse::<usize>().unwrap()] = value,
        None => parent[key] = value,
    }
}

fn take(body: &mut Value, place: &'static str) -> Value {
    let (parent, key) = parent(body, place);
    match parent.as_array_mut() {
        Some(list) => list.remove(key.parse().unwrap()),
        None => parent.as_object_mut().unwrap().remove(key).unwrap(),
    }
}

/// Holds a conversation of one thought and two parallel calls, which is good, and then breaks it in each way.
async fn refuse(dialect: Dialect, cases: &[Case]) {
    let server = ModelServer::start().await.unwrap();
    for stream in [true, false] {
        let mut talk = Talk::new(&server, dialect, stream, "[[scn:par n=2 think=Hm]]");
        talk.go_on().await;
        assert_eq!(talk.hear().await.text, "Done.");
        for (what, change, words) in cases {
            let mut body = talk.body.clone();
            change.apply(&mut body);
            assert_ne!(body, talk.body, "{what}: nothing was changed");
            let answer = talk.client.post(&body).await;
            let told = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(matches!(answer.status, 400 | 404), "{what}: {} {told}", answer.status);
            let error = &answer.json()["error"];
            assert!(error["message"].as_str().unwrap().contains(words), "{what}: {told}");
            let (key, sort) = match dialect {
                Dialect::Messages | Dialect::Responses | Dialect::Chat => {
                    ("type", "invalid_request_error")
                }
                Dialect::Gemini | Dialect::GeminiArray => ("status", "INVALID_ARGUMENT"),
            };
            assert_eq!(error[key], sort, "{what}");
        }
    }
}
