//! Connections that show no token, and requests that never end: they keep nobody from the server.

use std::time::{Duration, Instant};

use musher::runner::launch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{CODE, TOKEN, until};
use crate::serving::Served;

/// Nobody who comes with a whole request waits longer.
const AT_ONCE: Duration = Duration::from_secs(5);

impl Served {
    /// The head of a request that says that it brings so many bytes, and the first of them.
    fn half(&self, path: &str, token: Option<&str>) -> String {
        let port = self.port;
        let token = token.map(|token| format!("authorization: Bearer {token}\r\n"));
        format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{}content-type: application/json\r\n\
             content-length: 400\r\n\r\n{{\"",
            token.unwrap_or_default()
        )
    }

    async fn opened(&self, bytes: &str, count: usize) -> Vec<TcpStream> {
        launch::open_many_files();
        let mut streams = Vec::new();
        for _ in 0..count {
            let mut stream = self.connect().await;
            // One that was let go already is as good as one that was taken.
            let _gone = stream.write_all(bytes.as_bytes()).await;
            streams.push(stream);
        }
        streams
    }

    /// A whole request on a connection of its own, which must be answered at once.
    async fn answered(&self, request: &str) -> String {
        let began = Instant::now();
        let reply = tokio::time::timeout(AT_ONCE, self.say(request.as_bytes())).await;
        let reply = reply.unwrap_or_else(|_| panic!("no answer within {AT_ONCE:?}: {request}"));
        assert!(began.elapsed() < AT_ONCE, "{:?}: {request}", began.elapsed());
        reply
    }

    /// What a person does who comes with a token, and one who comes with the code.
    async fn serves_people(&self) {
        let port = self.port;
        let close = "connection: close\r\n";
        for number in 0..20 {
            let body = format!("{{\"title\":\"story {number}\"}}");
            let command = format!(
                "POST /api/v1/stories HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n\
                 content-type: application/json\r\n{close}content-length: {}\r\n\r\n{body}",
                body.len()
            );
            let reply = self.answered(&command).await;
            assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
        }
        for path in ["/", "/healthz", "/inbox"] {
            let page = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{close}\r\n");
            let reply = self.answered(&page).await;
            assert!(reply.starts_with("HTTP/1.1 200"), "{path}: {reply}");
        }
        let view = format!("{}{close}\r\n", self.request("/api/v1/project"));
        assert!(self.answered(&view).await.starts_with("HTTP/1.1 200"));
        let code = format!("{{\"code\":\"{CODE}\"}}");
        let exchange = format!(
            "POST /api/v1/token HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
             {close}content-length: {}\r\n\r\n{code}",
            code.len()
        );
        let reply = self.answered(&exchange).await;
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"token\""), "{reply}");
    }
}

/// How many of these connections the server has not closed.
fn open(streams: &[TcpStream]) -> usize {
    let mut byte = [0; 1];
    let is_open = |stream: &&TcpStream| match stream.try_read(&mut byte) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    };
    streams.iter().filter(is_open).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_bodies_without_a_token_keep_nobody_from_the_server() {
    let served = Served::new().await;
    let held = served.opened(&served.half("/api/v1/token", None), 600).await;
    served.serves_people().await;
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_bodies_with_a_token_keep_nobody_from_the_server() {
    let served = Served::new().await;
    let mut held = Vec::new();
    for path in ["/api/v1/stories", "/mcp"] {
        held.extend(served.opened(&served.half(path, Some(TOKEN)), 600).await);
    }
    served.serves_people().await;
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_never_end_keep_nobody_from_the_server() {
    let served = Served::new().await;
    let held = served.opened("GET / HTTP/1.1\r\nhost:", 600).await;
    served.serves_people().await;
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_have_a_share_of_their_own_and_the_oldest_of_them_makes_room() {
    let served = Served::new().await;
    let run = served.rig.live().await;
    let mut log = served.rig.log(run);
    let stream = format!("{}\r\n", served.request(&format!("/api/v1/runs/{run}/events/stream")));
    let mut known = served.opened(&stream, 300).await;
    for stream in &mut known {
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    let strangers = served.opened("", 2_000).await;
    until("the end of most strangers", async || open(&strangers) <= 300).await;
    let newest = &strangers[strangers.len() - 10..];
    assert_eq!(open(newest), 10, "the newest are there");
    served.serves_people().await;
    // Whoever has shown a token is none of them.
    log.notices(1);
    for mut stream in known {
        let mut heard = String::new();
        while !heard.contains("event 1\"") {
            let mut piece = [0; 4096];
            let got = stream.read(&mut piece).await.unwrap();
            assert!(got > 0, "a subscriber was let go: {heard}");
            heard.push_str(&String::from_utf8_lossy(&piece[..got]));
        }
    }
}

#[tokio::test]
async fn a_stranger_that_drips_its_headers_is_let_go_soon() {
    let served = Served::new().await;
    let mut stream = served.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let mut byte = [0; 1];
    loop {
        if stream.write_all(b"x").await.is_err() {
            break;
        }
        match tokio::time::timeout(Duration::from_secs(1), stream.read(&mut byte)).await {
            Ok(_closed) => break,
            Err(_) => assert!(began.elapsed() < Duration::from_secs(15), "it may stay for ever"),
        }
    }
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_given_up_and_said_so() {
    let served = Served::new().await;
    for (path, token) in [("/api/v1/stories", Some(TOKEN)), ("/api/v1/token", None)] {
        let mut stream = served.connect().await;
        stream.write_all(served.half(path, token).as_bytes()).await.unwrap();
        tokio::time::pause();
        let mut heard = Vec::new();
        let reply = stream.read_to_end(&mut heard);
        tokio::time::timeout(Duration::from_secs(25), reply).await.expect("it is held").unwrap();
        let reply = String::from_utf8_lossy(&heard);
        assert!(reply.starts_with("HTTP/1.1 408") && reply.contains("\"body_late\""), "{reply}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_stranger_may_say_little_and_a_known_one_much() {
    let served = Served::new().await;
    let port = served.port;
    let say = async |path: &str, token: &str, len: usize| {
        let body = format!("{{\"title\":\"{}\"}}", "x".repeat(len));
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{token}content-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        served.say(request.as_bytes()).await
    };
    let known = format!("authorization: Bearer {TOKEN}\r\n");
    let reply = say("/api/v1/token", "", 10_000).await;
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 413"), "{reply}");
    let reply = say("/api/v1/stories", &known, 900_000).await;
    assert!(!reply.starts_with("HTTP/1.1 413") && reply.starts_with("HTTP/1.1"), "{reply}");
    let reply = say("/api/v1/stories", "authorization: Bearer guess\r\n", 10).await;
    assert!(reply.starts_with("HTTP/1.1 401"), "{reply}");
}

#[tokio::test]
async fn a_thousand_clients_with_a_token_that_come_at_once_are_all_served() {
    launch::open_many_files();
    let served = Served::new().await;
    let port = served.port;
    let request = format!(
        "GET /api/v1/project HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let request = request.clone();
        clients.spawn(async move {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
            let mut status = [0; 12];
            stream.write_all(request.as_bytes()).await?;
            stream.read_exact(&mut status).await?;
            // It stays, as a page does.
            Ok::<_, std::io::Error>((String::from_utf8_lossy(&status).into_owned(), stream))
        });
    }
    let replies = clients.join_all().await;
    let served = |reply: &&std::io::Result<(String, TcpStream)>| {
        reply.as_ref().is_ok_and(|(status, _)| status.ends_with("200"))
    };
    assert_eq!(replies.iter().filter(served).count(), replies.len(), "{:?}", replies.first());
}
