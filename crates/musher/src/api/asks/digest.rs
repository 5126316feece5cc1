//! The digest of an ask: what an answer must carry, so that it hits what was on the screen and nothing else.

use musher_core::{AskDigest, AskId, RunId};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// Tells this digest from every other hash, and from a later way to make it.
const KIND: &[u8] = b"musher ask 1";

/// The digest of an ask with this body. The body is taken as the run's log has it, with fields that this build does not
/// know, so that every build makes the same digest of the same ask; it is null when the log cannot be read.
pub(crate) fn ask_digest(run: RunId, ask: &AskId, body: &Json) -> AskDigest {
    let mut canonical = String::new();
    write(body, &mut canonical);
    let run = run.to_string();
    let mut hash = Sha256::new();
    // Lengths stand before the parts, so that no two asks give the same bytes.
    for part in [KIND, run.as_bytes(), ask.as_str().as_bytes(), canonical.as_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    AskDigest::new(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Writes JSON without spaces, and with the names of each object in their order.
fn write(value: &Json, out: &mut String) {
    match value {
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Json::from(name.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Json::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(value, out);
            }
            out.push(']');
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_is_of_the_run_the_ask_and_all_of_the_body_whatever_the_order_of_its_fields() {
        let (run, other) = (RunId::parse("r1").unwrap(), RunId::parse("r11").unwrap());
        let (a, b): (AskId, AskId) = ("a1".into(), "1".into());
        let body: Json = serde_json::from_str(r#"{"b":[1,{"y":2,"x":"é\n"}],"a":null}"#).unwrap();
        let same: Json = serde_json::from_str(r#"{"a":null,"b":[1,{"x":"é\n","y":2}]}"#).unwrap();
        let digest = ask_digest(run, &a, &body);
        assert_eq!(digest, ask_digest(run, &a, &same));
        assert_eq!(digest.as_str().len(), 64);
        let others = [
            ask_digest(other, &a, &body),
            ask_digest(run, &b, &body),
            ask_digest(run, &a, &Json::Null),
            ask_digest(run, &a, &json!({ "a": null, "b": [1, { "x": "é\n", "y": 3 }] })),
            ask_digest(run, &a, &json!({ "a": null, "b": [1, { "x": "é\n", "y": 2 }], "new": 1 })),
        ];
        assert!(others.iter().all(|it| *it != digest), "{others:?}");
    }

    #[test]
    fn the_digest_of_an_ask_never_changes_from_build_to_build() {
        let body = json!({ "kind": "plan", "plan": "First this, then that." });
        let digest = ask_digest(RunId::parse("r1").unwrap(), &"a1".into(), &body);
        assert_eq!(
            digest.as_str(),
            "97c7f93793520d1c41680028a93418ee442acc42a75931539e03f3394d399c0b"
        );
    }
}
