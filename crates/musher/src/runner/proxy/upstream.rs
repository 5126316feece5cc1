//! The proxy through which this machine reaches the internet, such as that of a company: connections of the run go through it.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::upgrade::Upgraded;
use hyper::{Request, StatusCode, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use musher_runtime::Environment;
use musher_sandbox::Destination;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::CONNECT_TIMEOUT;

/// The port of a proxy that names none.
const USUAL_PORT: u16 = 80;
/// The variables that name proxies, each in both ways to write it. The first that is there counts.
const HTTPS: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
const HTTP: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
const ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const NONE: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// A variable that names a proxy which cannot be used. Its value may hold a password and is not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadUpstream {
    #[error(
        "{0} names no proxy that can be read; write it as http://HOST:PORT, or take the variable away"
    )]
    Unreadable(&'static str),
    #[error(
        "{variable} names a proxy that is spoken to by {scheme}, and the sandbox of the profile `strict` connects through http:// proxies alone; name such a proxy there, or in the `env` of the agent, or take the variable away"
    )]
    Scheme { variable: &'static str, scheme: String },
}

/// The proxies of this machine, and which hosts are reached without them.
#[derive(Debug, Clone)]
pub(crate) struct Upstreams(Arc<Matcher>);

/// Whether a client wants a tunnel, or has a plain request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Tunnel,
    Request,
}

/// One proxy of this machine.
#[derive(Clone)]
pub(super) struct Upstream {
    host: String,
    port: u16,
    /// What it is told to let us in. It is never shown.
    pub(super) login: Option<HeaderValue>,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Why a proxy of this machine did not connect.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    #[error(
        "it wants a user and a password: put them into the variable that names it, as in http://USER:PASSWORD@{0}"
    )]
    LoginMissing(Upstream),
    #[error("it does not take the user and the password that the variable holds")]
    LoginRefused,
    #[error("it refused: {0}")]
    Refused(StatusCode),
    #[error("it did not answer in {} seconds", CONNECT_TIMEOUT.as_secs())]
    Silent,
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}")]
    Http(hyper::Error),
}

impl UpstreamError {
    /// Whether it was reached and said no.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::LoginMissing(_) | Self::LoginRefused | Self::Refused(_) => true,
            Self::Silent | Self::Io(_) | Self::Http(_) => false,
        }
    }
}

impl Upstreams {
    /// What the variables of the server and of the agent say.
    pub(crate) fn of(environment: &Environment) -> Result<Self, BadUpstream> {
        let get = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| {
                let value = environment.get(name)?.to_str()?.trim().to_owned();
                (!value.is_empty()).then_some((name, value))
            })
        };
        let value = |names| get(names).map(|(_, value)| value).unwrap_or_default();
        let matcher = |none: String| {
            let matcher = Matcher::builder().https(value(HTTPS)).http(value(HTTP));
            matcher.all(value(ALL)).no(none).build()
        };
        // Every proxy that would be used must be one that can be: to go around it would be to do what somebody forbade.
        let every = matcher(String::new());
        for (names, sample) in [(HTTPS, "https://host.invalid/"), (HTTP, "http://host.invalid/")] {
            let Some((variable, _)) = get(names).or_else(|| get(ALL)) else { continue };
            let used = every.intercept(&Uri::from_static(sample));
            let uri = used.as_ref().map(|used| used.uri());
            let Some(uri) = uri.filter(|uri| uri.host().is_some_and(|host| !host.is_empty()))
            else {
                return Err(BadUpstream::Unreadable(variable));
            };
            let scheme = uri.scheme_str().unwrap_or("http");
            if scheme != "http" {
                return Err(BadUpstream::Scheme { variable, scheme: format!("{scheme}://") });
            }
        }
        Ok(Self(Arc::new(matcher(value(NONE)))))
    }

    /// The proxy to go through, if there is one for this host.
    pub(super) fn to(&self, to: &Destination, wanted: Wanted) -> Option<Upstream> {
        let scheme = match wanted {
            Wanted::Tunnel => "https",
            Wanted::Request => "http",
        };
        let uri: Uri = format!("{scheme}://{to}/").parse().ok()?;
        let used = self.0.intercept(&uri)?;
        let mut login = used.basic_auth().cloned();
        login.iter_mut().for_each(|login| login.set_sensitive(true));
        let (host, port) = (used.uri().host()?, used.uri().port_u16().unwrap_or(USUAL_PORT));
        Some(Upstream { host: host.to_owned(), port, login })
    }
}

impl Upstream {
    pub(super) async fn open(&self) -> Result<TcpStream, UpstreamError> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let opened = timeout(CONNECT_TIMEOUT, TcpStream::connect((host, self.port))).await;
        opened.map_err(|_| UpstreamError::Silent)?.map_err(UpstreamError::Io)
    }

    /// A tunnel through the proxy to a host.
    pub(super) async fn tunnel(
        &self,
        to: &Destination,
    ) -> Result<TokioIo<Upgraded>, UpstreamError> {
        let made = timeout(CONNECT_TIMEOUT, self.make_tunnel(to)).await;
        made.unwrap_or(Err(UpstreamError::Silent))
    }

    async fn make_tunnel(&self, to: &Destination) -> Result<TokioIo<Upgraded>, UpstreamError> {
        let stream = TokioIo::new(self.open().await?);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(UpstreamError::Http)?;
        let mut request = Request::connect(to.to_string())
            .header(HOST, to.to_string())
            .body(Empty::<Bytes>::new())
            .map_err(|error| UpstreamError::Io(io::Error::other(error)))?;
        if let Some(login) = &self.login {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        let mut asked = pin!(async {
            let response = sender.send_request(request).await.map_err(UpstreamError::Http)?;
            self.admits(response.status())?;
            if !response.status().is_success() {
                return Err(UpstreamError::Refused(response.status()));
            }
            hyper::upgrade::on(response).await.map_err(UpstreamError::Http)
        });
        let mut connection = pin!(connection.with_upgrades());
        let mut carried = true;
        loop {
            tokio::select! {
                biased;
                upgraded = &mut asked => return upgraded.map(TokioIo::new),
                // Its failure is the failure of what was asked.
                _told = &mut connection, if carried => carried = false,
            }
        }
    }

    /// Whether it lets us in. A demand for a login is never passed on: our client would take it for ours.
    pub(super) fn admits(&self, status: StatusCode) -> Result<(), UpstreamError> {
        match (status, &self.login) {
            (StatusCode::PROXY_AUTHENTICATION_REQUIRED, None) => {
                Err(UpstreamError::LoginMissing(self.clone()))
            }
            (StatusCode::PROXY_AUTHENTICATION_REQUIRED, Some(_)) => {
                Err(UpstreamError::LoginRefused)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Upstreams, BadUpstream> {
        let pairs = variables.iter();
        let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Upstreams::of(&Environment::from_vars(pairs))
    }

    fn chosen(upstreams: &Upstreams, host: &str, wanted: Wanted) -> Option<String> {
        let port = if wanted == Wanted::Tunnel { 443 } else { 80 };
        let to = Destination::new(host, port).unwrap();
        upstreams.to(&to, wanted).map(|upstream| upstream.to_string())
    }

    #[test]
    fn the_proxy_of_the_machine_is_found_by_its_variables_and_left_out_where_they_say_so() {
        let found = of(&[
            ("HTTPS_PROXY", "http://secure.example:3128"),
            ("ALL_PROXY", "all.example:8080"),
            ("NO_PROXY", "localhost, .corp.example,10.0.0.0/8"),
        ])
        .unwrap();
        let tunnel = |host| chosen(&found, host, Wanted::Tunnel);
        assert_eq!(tunnel("a.example").as_deref(), Some("secure.example:3128"));
        assert_eq!(
            chosen(&found, "a.example", Wanted::Request).as_deref(),
            Some("all.example:8080")
        );
        for direct in ["git.corp.example", "corp.example", "10.1.2.3"] {
            assert_eq!(tunnel(direct), None, "{direct}");
        }
        assert_eq!(chosen(&of(&[]).unwrap(), "a.example", Wanted::Tunnel), None);
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_refused_by_name_and_its_password_is_not_told() {
        for (value, says) in [
            ("socks5h://u:pa55word@p.example:1080", "socks5h://"),
            ("https://u:pa55word@p.example", "https://"),
            ("http://u:pa55word@", "names no proxy"),
        ] {
            let error = of(&[("ALL_PROXY", value)]).unwrap_err().to_string();
            assert!(error.starts_with("ALL_PROXY names") && error.contains(says), "{error}");
            assert!(!error.contains("pa55word"), "{error}");
        }
        let both = [("HTTP_PROXY", "p:1"), ("HTTPS_PROXY", "p:1"), ("ALL_PROXY", "socks5://p:2")];
        assert!(of(&both).is_ok(), "a proxy that is never used is in nobody's way");
        let login = of(&[("HTTPS_PROXY", "http://user:pa55word@p.example:1")]).unwrap();
        let to = Destination::new("a.example", 443).unwrap();
        let upstream = login.to(&to, Wanted::Tunnel).unwrap();
        assert!(upstream.login.is_some());
        assert!(!format!("{upstream:?} {login:?}").contains("pa55word"));
    }
}
