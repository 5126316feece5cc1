//! A stream that goes on where it broke off, across restarts of the server.

use std::time::Duration;

use tokio::time::Instant;

use super::{Client, ClientError, SseMessage, Stream};

/// The first wait before a new try; each one after it is twice as long, up to the longest.
const FIRST_RECONNECT_DELAY: Duration = Duration::from_millis(250);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// How often it is tried without hearing anything, which takes about five minutes.
const TRIES: u32 = 60;

/// What a follower hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamUpdate {
    Message(SseMessage),
    /// The stream broke off; it is tried again after a wait.
    Lost {
        why: String,
        wait: Duration,
    },
    /// The stream goes on after it had broken off.
    Back,
}

/// Follows one stream. `find` looks for the server anew each time, since a new one may listen elsewhere.
#[derive(Debug)]
pub struct StreamFollower<F> {
    find: F,
    path: Vec<String>,
    query: Vec<(String, String)>,
    /// The id that was seen last.
    last: Option<String>,
    stream: Option<Stream>,
    backoff: Backoff,
}

impl<F: Fn() -> Result<Client, ClientError>> StreamFollower<F> {
    /// Follows what is at this path, after an id or from its beginning.
    pub fn new(find: F, path: &[&str], query: &[(&str, &str)], after: Option<String>) -> Self {
        let path = path.iter().map(|step| (*step).to_owned()).collect();
        let query = query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Self { find, path, query, last: after, stream: None, backoff: Backoff::default() }
    }

    /// The next thing heard. An error is the last word: the server refuses, or was away for too long. Nothing is lost when
    /// a call is given up.
    pub async fn next(&mut self) -> Result<StreamUpdate, ClientError> {
        let Some(stream) = &mut self.stream else {
            return self.open().await;
        };
        match stream.next().await {
            Ok(Some(message)) => {
                self.backoff.heard();
                Ok(StreamUpdate::Message(message))
            }
            Ok(None) => {
                self.last = stream.last_id().map(str::to_owned).or(self.last.take());
                self.stream = None;
                self.lost(ClientError::Away("the connection ended".into()))
            }
            Err(error) => Err(ClientError::Garbled(error.to_string())),
        }
    }

    async fn open(&mut self) -> Result<StreamUpdate, ClientError> {
        let again = self.backoff.until.is_some();
        if let Some(until) = self.backoff.until {
            tokio::time::sleep_until(until).await;
        }
        let opened = match (self.find)() {
            Ok(client) => {
                let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
                let query: Vec<(&str, &str)> = self
                    .query
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                client.stream(&path, &query, self.last.as_deref()).await
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok(stream) => {
                self.stream = Some(stream);
                self.backoff.until = None;
                if again { Ok(StreamUpdate::Back) } else { Box::pin(self.next()).await }
            }
            // What fails at once, before anything was heard, is the person's to hear about.
            Err(error) if error.passes() && again => self.lost(error),
            Err(error) => Err(error),
        }
    }

    fn lost(&mut self, error: ClientError) -> Result<StreamUpdate, ClientError> {
        let why = match &error {
            ClientError::Unreachable { why, .. } => why.clone(),
            ClientError::BadUrl { .. }
            | ClientError::BadToken
            | ClientError::Away(_)
            | ClientError::Refused(_)
            | ClientError::Garbled(_) => error.to_string(),
        };
        match self.backoff.next(Instant::now()) {
            Some(wait) => Ok(StreamUpdate::Lost { why, wait }),
            None => Err(error),
        }
    }
}

/// How long to wait before each try.
#[derive(Debug, Default)]
struct Backoff {
    tries: u32,
    until: Option<Instant>,
}

impl Backoff {
    fn heard(&mut self) {
        *self = Self::default();
    }

    /// The wait before the next try; `None` when it was tried often enough.
    fn next(&mut self, now: Instant) -> Option<Duration> {
        if self.tries >= TRIES {
            return None;
        }
        let wait =
            FIRST_RECONNECT_DELAY.saturating_mul(1 << self.tries.min(16)).min(MAX_RECONNECT_DELAY);
        self.tries += 1;
        self.until = Some(now + wait);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn the_waits_grow_to_a_bound_and_come_to_an_end() {
        let mut backoff = Backoff::default();
        let now = Instant::now();
        let waits: Vec<Duration> = std::iter::from_fn(|| backoff.next(now)).collect();
        assert_eq!(waits.len(), TRIES as usize);
        assert_eq!(
            (waits[0], waits[1], waits[20]),
            (FIRST_RECONNECT_DELAY, FIRST_RECONNECT_DELAY * 2, MAX_RECONNECT_DELAY)
        );
        backoff.heard();
        assert_eq!(backoff.next(now), Some(FIRST_RECONNECT_DELAY));
    }

    /// Takes one connection, gives what was asked, and answers with `body` before it hangs up.
    async fn serve(listener: &TcpListener, status: &str, body: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(stream.read_u8().await.unwrap());
        }
        let reply = format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(reply.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8(asked).unwrap()
    }

    fn data(heard: StreamUpdate) -> String {
        match heard {
            StreamUpdate::Message(message) => message.data,
            other @ (StreamUpdate::Lost { .. } | StreamUpdate::Back) => {
                panic!("not a message: {other:?}")
            }
        }
    }

    #[tokio::test]
    async fn after_a_restart_elsewhere_it_goes_on_after_the_last_id() {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Mutex::new(first.local_addr().unwrap());
        let find = || Client::new(&format!("http://{}", place.lock().unwrap()), "t");
        let mut follow =
            StreamFollower::new(find, &["runs", "r1"], &[("deltas", "1")], Some("1.3".into()));
        let (asked, heard) = tokio::join!(
            serve(&first, "200 OK", "id: 1.4\ndata: a\n\nevent: delta\ndata: b\n\ndata: half\n"),
            async { (follow.next().await.unwrap(), follow.next().await.unwrap()) },
        );
        assert!(asked.starts_with("GET /api/v1/runs/r1?deltas=1 "), "{asked}");
        assert!(asked.contains("last-event-id: 1.3\r\n"), "{asked}");
        assert!(asked.contains("authorization: Bearer t\r\n"), "{asked}");
        assert_eq!((data(heard.0), data(heard.1)), ("a".into(), "b".into()));
        assert!(matches!(follow.next().await, Ok(StreamUpdate::Lost { .. })));
        *place.lock().unwrap() = second.local_addr().unwrap();
        let (asked, heard) =
            tokio::join!(serve(&second, "200 OK", "id: 1.5\ndata: c\n\n"), async {
                (follow.next().await.unwrap(), follow.next().await.unwrap())
            },);
        assert!(asked.contains("last-event-id: 1.4\r\n"), "{asked}");
        assert_eq!((heard.0, data(heard.1)), (StreamUpdate::Back, "c".into()));
    }

    #[tokio::test]
    async fn a_refusal_is_the_last_word_and_a_server_that_has_too_much_to_do_is_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut follow = StreamFollower::new(|| Client::new(&url, "t"), &["feed"], &[], None);
        let (_, heard) = tokio::join!(serve(&listener, "200 OK", "data: a\n\n"), follow.next());
        assert_eq!(data(heard.unwrap()), "a");
        assert!(matches!(follow.next().await, Ok(StreamUpdate::Lost { .. })));
        let (_, heard) = tokio::join!(serve(&listener, "503 Busy", "{}"), follow.next());
        assert!(matches!(heard, Ok(StreamUpdate::Lost { .. })), "{heard:?}");
        let (_, heard) = tokio::join!(serve(&listener, "404 Gone", "{}"), follow.next());
        assert!(matches!(heard, Err(ClientError::Refused(_))), "{heard:?}");
    }
}
