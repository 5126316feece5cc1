//! Services that cannot be trusted: their certificates, what is said about them, and that no key reaches them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use musher_runtime::core::{ErrorClass, ErrorInfo, Outcome};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::rig::{ModelRig, Wire};

const KEY: &str = "dummy-key-for-tests";
const ANSWER: &[u8] =
    b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A service on loopback that shows a certificate of its own, or none.
struct Service {
    address: String,
    /// The certificate, for those who trust it.
    certificate: PathBuf,
    seen: Arc<Mutex<Seen>>,
    _tasks: JoinSet<()>,
    _folder: tempfile::TempDir,
}

#[derive(Debug, Default)]
struct Seen {
    connections: usize,
    /// What came in: as it was on the wire without TLS, or within it.
    bytes: Vec<u8>,
}

enum Shows {
    Nothing,
    /// A certificate for this name, valid until the end of a year.
    Certificate(&'static str, i32),
}

impl Service {
    async fn start(shows: Shows) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificate = folder.path().join("certificate.pem");
        let acceptor = match shows {
            Shows::Nothing => None,
            Shows::Certificate(name, year) => {
                let key = KeyPair::generate().unwrap();
                let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
                params.not_after = date_time_ymd(year, 12, 31);
                let made = params.self_signed(&key).unwrap();
                std::fs::write(&certificate, pem(made.der())).unwrap();
                let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let config = ServerConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_no_client_auth()
                    .with_single_cert(vec![made.der().clone()], secret)
                    .unwrap();
                Some(TlsAcceptor::from(Arc::new(config)))
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                shared.lock().unwrap().connections += 1;
                match &acceptor {
                    None => talk(stream, &shared).await,
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            talk(stream, &shared).await;
                        }
                    }
                }
            }
        });
        Self { address, certificate, seen, _tasks: tasks, _folder: folder }
    }

    /// How a session with this service as its model ends.
    async fn refuses(&self, trusted: bool) -> ErrorInfo {
        let rig = ModelRig::new(Wire::Messages).await;
        let mut spec = rig.spec("[[scn:text]] go");
        spec.model_options.base_url = Some(format!("https://user:a-pass-word@{}", self.address));
        if trusted {
            spec.environment = rig.environment().set("SSL_CERT_FILE", &self.certificate);
        }
        let ended = rig.begin(spec).end().await;
        assert_eq!(ended.end.outcome, Outcome::Failed, "{}", ended.text());
        assert_eq!(super::retries(&ended), 0, "{}", ended.text());
        assert!(!ended.said().contains("a-pass-word"), "{}", ended.text());
        assert_eq!(self.seen.lock().unwrap().connections, 1, "it was spoken to once");
        ended.end.error.expect("an error is told")
    }

    /// The same where the cause is the certificate: it is named, with the place and what to do, and no key was sent.
    async fn is_not_trusted(&self, trusted: bool, words: &str, fix: &str) {
        let error = self.refuses(trusted).await;
        let class = (error.class, error.code.as_deref());
        assert_eq!(class, (ErrorClass::Network, Some("tls")), "{error:?}");
        assert!(error.message.contains(&self.address), "{error:?}");
        assert!(error.message.contains(words), "{error:?}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains(fix)), "{error:?}");
        let seen = self.seen.lock().unwrap();
        assert!(!String::from_utf8_lossy(&seen.bytes).contains(KEY), "the key was sent");
    }
}

async fn talk(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin, seen: &Mutex<Seen>) {
    let mut buffer = vec![0; 64 * 1024];
    if let Ok(read) = stream.read(&mut buffer).await {
        seen.lock().unwrap().bytes.extend_from_slice(&buffer[..read]);
    }
    // A client that is gone needs no answer.
    let _gone = stream.write_all(ANSWER).await;
    let _gone = stream.shutdown().await;
}

fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for (at, three) in der.chunks(3).enumerate() {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        let digits = (0..4).map(|digit| char::from(DIGITS[bits >> (18 - 6 * digit) & 63]));
        text.extend(digits.take(three.len() + 1).chain(['='; 2]).take(4));
        if at % 16 == 15 {
            text.push('\n');
        }
    }
    text + "\n-----END CERTIFICATE-----\n"
}

#[tokio::test]
async fn a_certificate_that_nobody_issued_is_not_trusted_and_gets_no_key() {
    let service = Service::start(Shows::Certificate("127.0.0.1", 2999)).await;
    service.is_not_trusted(false, "nobody whom this machine trusts", "SSL_CERT_FILE").await;
    assert!(service.seen.lock().unwrap().bytes.is_empty());
}

#[tokio::test]
async fn a_certificate_that_the_machine_is_told_to_trust_is_trusted() {
    let service = Service::start(Shows::Certificate("127.0.0.1", 2999)).await;
    let error = service.refuses(true).await;
    assert_eq!((error.class, error.http), (ErrorClass::Auth, Some(401)), "{error:?}");
    let seen = service.seen.lock().unwrap();
    assert!(String::from_utf8_lossy(&seen.bytes).contains(KEY));
}

#[tokio::test]
async fn a_certificate_for_another_name_or_another_time_is_not_trusted() {
    let service = Service::start(Shows::Certificate("elsewhere.example", 2999)).await;
    service.is_not_trusted(true, "for another name", "address").await;
    let service = Service::start(Shows::Certificate("127.0.0.1", 2001)).await;
    service.is_not_trusted(true, "has expired", "clock").await;
}

#[tokio::test]
async fn a_service_without_tls_gets_no_key_where_tls_is_expected() {
    let service = Service::start(Shows::Nothing).await;
    service.is_not_trusted(false, "does not speak TLS", "http://").await;
    assert!(!service.seen.lock().unwrap().bytes.is_empty());
}
