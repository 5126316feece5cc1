//! What the library does again, or cannot do, is a line for whoever listens to it, without a word of an agent or a service.

use std::sync::{Arc, Mutex};

use musher_runtime::{Environment, KeySource, SessionSpec};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::rig::{ModelRig, Wire};

/// Keeps every line of this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn with(&self, words: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| line.contains(words)).cloned().collect()
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("musher_runtime")
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[tokio::test]
async fn each_retry_of_a_model_call_is_one_line_with_its_session_and_attempt() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let rig = ModelRig::new(Wire::Messages).await;
    let ended = rig.run("[[scn:err status=503 retry_after_ms=10 n=2]] go").await;
    let told = lines.with("model call failed, trying again");
    let session = ended.end.session.as_ref().expect("the session has an id");
    for (at, line) in told.iter().enumerate() {
        let attempt = format!("attempt={}", at + 1);
        let wanted = ["WARN", "class=", "status=503", &attempt, session.as_str()];
        assert!(wanted.iter().all(|word| line.contains(word)), "{line}");
        assert!(!line.contains("dummy-key-for-tests"), "{line}");
    }
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_key_file_that_cannot_be_read_is_one_line() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let mut spec = SessionSpec::new("go", "/tmp", Environment::default());
    spec.model_options.key = Some(KeySource::File("/no/such/key".into()));
    assert!(spec.known_secrets().is_empty());
    let told = lines.with("key file cannot be read");
    assert!(matches!(&told[..], [line] if line.contains("/no/such/key")), "{told:?}");
}
