//! What is wrong from the start: keys, addresses, certificates, settings. The run ends and says why.

use std::path::Path;

use musher_runtime::core::{ErrorClass, ErrorInfo, EventKind, Outcome};
use musher_runtime::{KeySource, SessionSpec};
use tokio::io::AsyncWriteExt;

use crate::rig::{ModelRig, Wire};

async fn refused(rig: &ModelRig, spec: SessionSpec) -> ErrorInfo {
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
    ended.end.error.expect("an error is told")
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_sent() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let mut spec = rig.spec("[[scn:text]] go");
        spec.environment = rig.place.environment();
        let error = refused(&rig, spec).await;
        assert_eq!(error.class, ErrorClass::Auth, "{error:?}");
        assert!(error.message.contains("KEY is not set") && error.hint.is_some(), "{error:?}");
        assert_eq!(rig.server.ledger().requests(), 0);
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_and_never_shown() {
    for wire in Wire::ALL {
        let rig = ModelRig::new(wire).await;
        let file = rig.place.home.path().join("key");
        std::fs::write(&file, "wrong-key-of-a-test\n").unwrap();
        let mut spec = rig.spec("[[scn:text]] is wrong-key-of-a-test a secret?");
        spec.model_options.key = Some(KeySource::File(file));
        let story = rig.begin(spec);
        let ended = story.end().await;
        assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::Auth), "{wire:?}");
        let after_the_prompt = serde_json::to_string(&ended.events[1..]).unwrap();
        assert!(!after_the_prompt.contains("wrong-key-of-a-test"), "{wire:?}");
        assert_eq!(rig.server.ledger().requests(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn a_key_may_come_from_a_variable_a_file_or_a_command() {
    let rig = ModelRig::new(Wire::Responses).await;
    let file = rig.place.home.path().join("key");
    std::fs::write(&file, "key-from-a-file\nand more\n").unwrap();
    let command = "echo key-from-a-command; echo and more".to_owned();
    let sources = [
        (KeySource::Env("MY_OWN".into()), "key-from-a-variable"),
        (KeySource::File(file), "key-from-a-file"),
        (KeySource::Command(command), "key-from-a-command"),
    ];
    for (source, key) in sources {
        rig.server.reset();
        let mut spec = rig.spec("[[scn:text]] go");
        spec.environment = rig.environment().set("MY_OWN", "key-from-a-variable");
        spec.model_options.key = Some(source.clone());
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Completed, "{source:?}:\n{}", ended.text());
        let sent = rig.server.requests()[0].header("authorization").map(str::to_owned);
        assert_eq!(sent, Some(format!("Bearer {key}")));
        assert!(!ended.said().contains(key), "{source:?}");
    }
    for source in [
        KeySource::Env("NOBODY_SET_THIS".into()),
        KeySource::File("/no/such/key".into()),
        KeySource::Command("echo broken >&2; exit 3".into()),
        KeySource::Command("true".into()),
        KeySource::Command("printf 'two words\\n'".into()),
    ] {
        let mut spec = rig.spec("[[scn:text]] go");
        spec.model_options.key = Some(source.clone());
        let error = refused(&rig, spec).await;
        assert_eq!(error.class, ErrorClass::Auth, "{source:?}: {error:?}");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_and_one_where_nobody_is_is_tried_again() {
    let rig = ModelRig::new(Wire::Responses).await;
    for address in ["not an address", "ftp://127.0.0.1", "file:///etc/passwd", "http://"] {
        let mut spec = rig.spec("[[scn:text]] go");
        spec.model_options.base_url = Some(address.into());
        assert_eq!(refused(&rig, spec).await.class, ErrorClass::Config, "{address}");
    }
    let mut spec = rig.spec("[[scn:text]] go");
    spec.model_options.base_url = Some("http://user:a-pass-word@127.0.0.1:1/v1".into());
    spec.model_options.retries = Some(1);
    let ended = rig.begin(spec).end().await;
    let error = ended.end.error.clone().unwrap();
    assert_eq!(error.class, ErrorClass::Network, "{error:?}");
    assert_eq!(super::retries(&ended), 1);
    assert!(!ended.said().contains("a-pass-word"));
    let mut spec = rig.spec("[[scn:text]] go");
    spec.model_options.base_url = Some(format!("{}/elsewhere", rig.server.url()));
    let error = refused(&rig, spec).await;
    assert_eq!(error.http, Some(404), "{error:?}");
}

#[tokio::test]
async fn settings_that_nobody_knows_are_refused() {
    let rig = ModelRig::new(Wire::Messages).await;
    let settings: [fn(&mut SessionSpec); 4] = [
        |spec| spec.model_options.wire = Some("morse".into()),
        |spec| spec.permission_mode = Some("bypassPermissions".into()),
        |spec| spec.model_options.prices = Some("/no/such/table".into()),
        |spec| {
            spec.model_options.headers.insert("bad name".into(), "x".into());
        },
    ];
    for set in settings {
        let mut spec = rig.spec("[[scn:text]] go");
        set(&mut spec);
        let error = refused(&rig, spec).await;
        assert_eq!(error.class, ErrorClass::Config, "{error:?}");
        assert!(error.hint.is_some(), "{error:?}");
    }
    assert_eq!(rig.server.ledger().requests(), 0);
}

#[tokio::test]
async fn headers_of_ones_own_are_sent_and_never_shown() {
    let rig = ModelRig::new(Wire::Messages).await;
    let mut spec = rig.spec("[[scn:text]] go");
    let header = ("x-gateway".to_owned(), "Basic gateway-secret".to_owned());
    spec.model_options.headers.extend([header]);
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.outcome, Outcome::Completed, "{}", ended.text());
    assert_eq!(rig.server.requests()[0].header("x-gateway"), Some("Basic gateway-secret"));
    assert!(!ended.said().contains("gateway-secret"));
}

/// A service that answers with these bytes, whatever it is asked.
async fn answering(bytes: &'static [u8]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut read, mut write) = stream.split();
            let mut request = [0; 4096];
            let _asked = tokio::io::AsyncReadExt::read(&mut read, &mut request).await;
            let _gone = write.write_all(bytes).await;
            let _gone = write.shutdown().await;
        }
    };
    drop(tokio::task::spawn(serve));
    format!("http://{address}")
}

#[tokio::test]
async fn a_service_that_speaks_something_else_ends_the_run() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{\"a\":",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: \xff\xfe\0\r\n\r\ndata: [1,2\n\n",
        b"",
    ] {
        let address = answering(bytes).await;
        for wire in Wire::ALL {
            let rig = ModelRig::new(wire).await;
            let mut spec = rig.spec("[[scn:text]] go");
            spec.model_options.base_url = Some(address.clone());
            spec.model_options.retries = Some(0);
            let error = refused(&rig, spec).await;
            let expected = [ErrorClass::Network, ErrorClass::Protocol, ErrorClass::Config];
            assert!(expected.contains(&error.class), "{wire:?} {bytes:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_model_that_never_stops_is_broken_off() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let text = "x".repeat(64 * 1024);
        let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        while stream.write_all(chunk.as_bytes()).await.is_ok() {}
    };
    drop(tokio::task::spawn(serve));
    let rig = ModelRig::new(Wire::Chat).await;
    let mut spec = rig.spec("go");
    spec.model_options.base_url = Some(format!("http://{address}"));
    let ended = rig.begin(spec).end().await;
    assert_eq!(ended.end.error.as_ref().map(|e| e.class), Some(ErrorClass::MaxOutput));
    assert!(
        ended.events.iter().any(|e| matches!(&e.kind, EventKind::ItemDone { aborted: true, .. }))
    );
    assert!(Path::new(&rig.sessions()).exists());
}
