//! The way to a service over HTTP: its address, its certificates, its proxies, and how long it may be silent.

use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use musher_core::{ErrorClass, ErrorInfo};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, NoProxy, Proxy, Response, Url};
use rustls::{ClientConfig, RootCertStore};

use super::refusal::{Billed, RequestFailure, RetryAdvice};
use crate::Environment;
use crate::SessionSpec;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(240);
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Of what a service says instead of an answer, this much is read.
const MAX_REFUSAL_BYTES: usize = 256 * 1024;

/// An open way to a service.
#[derive(Debug)]
pub(crate) struct ModelConnection {
    client: Client,
    base: String,
    /// The address as it may be told: without a name or a password.
    host: String,
    headers: HeaderMap,
    idle: Duration,
    /// The service is on this machine or was named by the person, so that it may need no key.
    pub(crate) own: bool,
}

impl ModelConnection {
    /// Prepares the way; nothing is sent yet.
    pub(crate) fn open(spec: &SessionSpec, usual: &str, variable: &str) -> Result<Self, ErrorInfo> {
        let options = &spec.model_options;
        let environment = &spec.environment;
        let base = options.base_url.as_deref().map(str::trim).unwrap_or(usual);
        let refuse = |why: String| {
            ErrorInfo::new(ErrorClass::Config, format!("the base address cannot be used: {why}"))
                .with_hint(format!(
                    "give an address such as {usual}, in the options or in {variable}"
                ))
        };
        let url = Url::parse(base).map_err(|error| refuse(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(refuse("it begins with neither http:// nor https://".into()));
        }
        let config = tls(url.scheme() == "https", environment)
            .map_err(|why| ErrorInfo::new(ErrorClass::Internal, why))?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured(config)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEP_ALIVE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            // A key goes where it was meant to go and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        for proxy in proxies(environment).map_err(refuse)? {
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| {
            let message = format!("no HTTP client could be made: {}", cause(&error));
            ErrorInfo::new(ErrorClass::Internal, message)
        })?;
        Ok(Self {
            client,
            host: host(&url),
            base: base.trim_end_matches('/').to_owned(),
            headers: headers(options.headers.iter().map(|(k, v)| (k.as_str(), v.as_str())))?,
            idle: options.idle.filter(|idle| !idle.is_zero()).unwrap_or(DEFAULT_IDLE_TIMEOUT),
            own: base != usual,
        })
    }

    /// Adds headers to every request from now on. What the person gave goes before them.
    pub(crate) fn add(&mut self, more: &[(&'static str, String)]) -> Result<(), ErrorInfo> {
        let more = headers(more.iter().map(|(name, value)| (*name, value.as_str())))?;
        for (name, value) in more {
            if let Some(name) = name {
                self.headers.entry(name).or_insert(value);
            }
        }
        Ok(())
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn post(&self, path: &str, body: Vec<u8>) -> Result<Response, RequestFailure> {
        let request = self
            .client
            .post(format!("{}/{path}", self.base))
            .headers(self.headers.clone())
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body);
        match tokio::time::timeout(self.idle, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.failure(&error)),
            Err(_) => Err(self.silent()),
        }
    }

    /// The next piece of an answer; `None` at its end.
    pub(crate) async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<Bytes>, RequestFailure> {
        match tokio::time::timeout(self.idle, response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(self.failure(&error)),
            Err(_) => Err(self.silent()),
        }
    }

    /// What a service says instead of an answer, as far as it matters.
    pub(crate) async fn rest(&self, response: &mut Response) -> Vec<u8> {
        let mut all = Vec::new();
        while let Ok(Some(chunk)) = self.chunk(response).await {
            let room = MAX_REFUSAL_BYTES - all.len();
            all.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if all.len() >= MAX_REFUSAL_BYTES {
                break;
            }
        }
        all
    }

    fn silent(&self) -> RequestFailure {
        let message = format!("the service at {} said nothing for {:?}", self.host, self.idle);
        RequestFailure::later(ErrorClass::Network, message).with_code(Some("idle"))
    }

    /// What went wrong on the way. What a certificate refuses, it refuses again.
    fn failure(&self, error: &reqwest::Error) -> RequestFailure {
        if let Some(tls) = tls_error(error) {
            let (why, hint) = mistrust(tls);
            let message = format!("the service at {} cannot be trusted: {why}", self.host);
            let mut refusal =
                RequestFailure::never(ErrorClass::Network, message).with_code(Some("tls"));
            refusal.billed = Billed::No;
            refusal.error.hint = Some(hint.into());
            return refusal;
        }
        let (host, why) = (&self.host, cause(error));
        // What was never sent cost nothing; of what was sent nobody knows it.
        let (message, again, billed) = if error.is_builder() {
            let message = format!("the request to {host} could not be made: {why}");
            (message, RetryAdvice::Never, Billed::No)
        } else if error.is_connect() {
            let message = format!("the service at {host} could not be reached: {why}");
            (message, RetryAdvice::Later, Billed::No)
        } else {
            (format!("the connection to {host} broke: {why}"), RetryAdvice::Later, Billed::Maybe)
        };
        let told = Box::new(ErrorInfo::new(ErrorClass::Network, message));
        let mut refusal = RequestFailure { error: told, again, billed };
        if error.is_connect() {
            refusal.error.hint = Some("look at the base address and at the network".into());
        }
        refusal
    }
}

fn headers<'a>(given: impl Iterator<Item = (&'a str, &'a str)>) -> Result<HeaderMap, ErrorInfo> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let refuse = || {
            let name = name.escape_debug();
            let message =
                format!("the header `{name}` cannot be sent: it holds what no header may");
            ErrorInfo::new(ErrorClass::Config, message)
                .with_hint("look for blanks or line ends in its name, its value or the key")
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refuse())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// TLS by the certificates of this machine, or by those that its variables name.
fn tls(needed: bool, environment: &Environment) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if needed {
        let path = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let (file, folder) = (path("SSL_CERT_FILE"), path("SSL_CERT_DIR"));
        let found = match (file, folder) {
            (None, None) => rustls_native_certs::load_native_certs(),
            (file, folder) => rustls_native_certs::load_certs_from_paths(
                file.map(Path::new),
                folder.map(Path::new),
            ),
        };
        roots.add_parsable_certificates(found.certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The proxies that the variables of the session name.
fn proxies(environment: &Environment) -> Result<Vec<Proxy>, String> {
    let get = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| environment.get(name)?.to_str());
        found.map(str::trim).filter(|value| !value.is_empty())
    };
    let except = get(["no_proxy", "NO_PROXY"]).and_then(NoProxy::from_string);
    let mut proxies = Vec::new();
    let mut add = |names: [&str; 2], make: fn(&str) -> reqwest::Result<Proxy>| {
        if let Some(url) = get(names) {
            let proxy =
                make(url).map_err(|_| format!("the proxy in {} is no address", names[0]))?;
            proxies.push(proxy.no_proxy(except.clone()));
        }
        Ok::<(), String>(())
    };
    add(["http_proxy", "HTTP_PROXY"], |url| Proxy::http(url))?;
    add(["https_proxy", "HTTPS_PROXY"], |url| Proxy::https(url))?;
    add(["all_proxy", "ALL_PROXY"], |url| Proxy::all(url))?;
    Ok(proxies)
}

/// The innermost words of an error. The outer ones name the address, which may hold a password.
fn cause(error: &reqwest::Error) -> String {
    let mut words = String::new();
    let mut source = error.source();
    while let Some(inner) = source {
        words = inner.to_string();
        source = inner.source();
    }
    if words.is_empty() { "nobody knows why".into() } else { words }
}

fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut source = error.source();
    while let Some(outer) = source {
        let mut inner: &(dyn std::error::Error + 'static) = outer;
        // The libraries on the way wrap it in errors of input and output, some of them twice.
        while let Some(wrapped) = inner.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref())
        {
            inner = wrapped;
        }
        if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        source = outer.source();
    }
    None
}

/// Why a service is not trusted, and what can be done about it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library knows many errors, and only some have words of ours"
)]
fn mistrust(error: &rustls::Error) -> (String, &'static str) {
    use rustls::CertificateError as Bad;
    const ISSUER: &str = "if it is the right service, put the certificate of its issuer into a file that SSL_CERT_FILE names";
    const ADDRESS: &str = "look at the address; the certificate of the service must name it";
    const DATE: &str =
        "look at the clock of this machine; else the service needs a new certificate";
    const PLAIN: &str =
        "look at the address and its port; a service without TLS begins with http://";
    match error {
        rustls::Error::InvalidCertificate(Bad::UnknownIssuer) => {
            ("nobody whom this machine trusts has issued its certificate".into(), ISSUER)
        }
        rustls::Error::InvalidCertificate(
            Bad::NotValidForName | Bad::NotValidForNameContext { .. },
        ) => ("its certificate is for another name".into(), ADDRESS),
        rustls::Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            ("its certificate has expired".into(), DATE)
        }
        rustls::Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            ("its certificate is not valid yet".into(), DATE)
        }
        rustls::Error::InvalidCertificate(_) => (error.to_string(), ISSUER),
        rustls::Error::InvalidMessage(_) => ("it does not speak TLS".into(), PLAIN),
        _ => (error.to_string(), PLAIN),
    }
}

fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}
