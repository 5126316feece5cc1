//! How the operator's tools reach the server: the same requests as any other client's, over HTTP or inside of it.

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::Value as Json;

use musher_client::{ApiProblem, Client, ClientError, Document, StreamFollower, StreamUpdate};

/// A reply of the server that is on its way.
pub type Replying<'a> = Pin<Box<dyn Future<Output = Result<Json, ApiRefused>> + Send + 'a>>;
/// Says each time that something may have changed.
pub type ChangeNotice = Pin<Box<dyn Stream<Item = ()> + Send>>;

/// Where requests of the operator's tools are taken.
pub trait ApiClient: Send + Sync + Debug {
    fn ask(&self, wanted: ApiRequest) -> Replying<'_>;

    /// From now on. It may end when the server goes away.
    fn news(&self) -> ChangeNotice;
}

/// One request below `/api/v1`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    pub path: Vec<String>,
    pub query: Vec<(&'static str, String)>,
    /// What a command says; a request without it only reads.
    pub body: Option<Json>,
}

impl ApiRequest {
    pub fn read<const N: usize>(path: [&str; N]) -> Self {
        Self { path: path.map(str::to_owned).to_vec(), query: Vec::new(), body: None }
    }

    pub fn command<const N: usize>(path: [&str; N], body: Json) -> Self {
        Self { body: Some(body), ..Self::read(path) }
    }

    /// The request as a path with its parameters. Each step is escaped, so that no name can leave its place.
    pub fn uri(&self) -> String {
        let steps: String = self.path.iter().map(|step| format!("/{}", escaped(step))).collect();
        let mut uri = format!("/api/v1{steps}");
        for (at, (name, value)) in self.query.iter().enumerate() {
            let mark = if at == 0 { '?' } else { '&' };
            uri.push_str(&format!("{mark}{name}={}", escaped(value)));
        }
        uri
    }

    /// Adds a parameter, if it has a value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }
}

/// What passes as it is in a step of a path and in a value.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

fn escaped(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, PLAIN)
}

/// Why the server did not do something, for a model to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRefused {
    pub detail: String,
    pub hint: Option<String>,
}

impl ApiRefused {
    /// What a reply with this status and body says.
    pub fn read(status: u16, body: &[u8]) -> Self {
        ClientError::Refused(Box::new(ApiProblem::read(status, body))).into()
    }
}

impl fmt::Display for ApiRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl From<ClientError> for ApiRefused {
    fn from(error: ClientError) -> Self {
        let hint = match &error {
            ClientError::Refused(problem) => problem.hint.clone(),
            ClientError::Unreachable { .. } | ClientError::Away(_) => {
                Some("start it with `musher serve`".into())
            }
            ClientError::BadUrl { .. } | ClientError::BadToken | ClientError::Garbled(_) => None,
        };
        Self { detail: error.to_string(), hint }
    }
}

type Find = dyn Fn() -> Result<Client, ClientError> + Send + Sync;

/// A server that is reached over HTTP. It is looked for anew each time, since a new one may listen elsewhere.
#[derive(Clone)]
pub struct Remote {
    find: Arc<Find>,
}

impl Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remote")
    }
}

impl Remote {
    pub fn new(find: impl Fn() -> Result<Client, ClientError> + Send + Sync + 'static) -> Self {
        Self { find: Arc::new(find) }
    }
}

impl ApiClient for Remote {
    fn ask(&self, wanted: ApiRequest) -> Replying<'_> {
        Box::pin(async move {
            let client = (self.find)()?;
            let path: Vec<&str> = wanted.path.iter().map(String::as_str).collect();
            let query: Vec<(&str, &str)> =
                wanted.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let document: Document = match &wanted.body {
                None => client.get(&path, &query).await?,
                Some(body) => client.post(&path, body).await?,
            };
            Ok(document.read()?)
        })
    }

    fn news(&self) -> ChangeNotice {
        let find = Arc::clone(&self.find);
        let follow = StreamFollower::new(move || find(), &["feed"], &[], None);
        Box::pin(futures_util::stream::unfold(follow, |mut follow| async {
            loop {
                match follow.next().await {
                    Ok(StreamUpdate::Message(_) | StreamUpdate::Back) => return Some(((), follow)),
                    Ok(StreamUpdate::Lost { .. }) => {}
                    Err(_) => return None,
                }
            }
        }))
    }
}
