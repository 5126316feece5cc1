//! The listener: real connections, slow ones and rude ones included.

use std::time::Duration;

use musher::api;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::rig::{Rig, TOKEN, until};

pub(crate) struct Served {
    pub(crate) rig: Rig,
    pub(crate) port: u16,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let rig = Rig::at(port).await;
        let serving = tokio::spawn(api::serve(listener, rig.router.clone(), rig.closing.clone()));
        Self { rig, port, serving }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends bytes, and reads until the server has nothing more to say.
    pub(crate) async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        let mut heard = Vec::new();
        // A server that closes on what it did not read may reset the connection.
        let _reset = stream.read_to_end(&mut heard).await;
        String::from_utf8_lossy(&heard).into_owned()
    }

    pub(crate) fn request(&self, path: &str) -> String {
        let port = self.port;
        format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {TOKEN}\r\n"
        )
    }
}

#[tokio::test]
async fn the_name_of_the_server_is_checked_on_the_wire() {
    let served = Served::new().await;
    let port = served.port;
    let cases = [
        ("GET / HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), "421"),
        ("GET / HTTP/1.0\r\n\r\n".to_owned(), "421"),
        (
            format!(
                "GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: evil\r\nconnection: close\r\n\r\n"
            ),
            "421",
        ),
        (
            format!(
                "GET http://evil/ HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"
            ),
            "421",
        ),
        (format!("GET / HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"), "200"),
        (format!("{}connection: close\r\n\r\n", served.request("/api/v1/project")), "200"),
    ];
    for (request, status) in cases {
        let reply = served.say(request.as_bytes()).await;
        let line = reply.lines().next().unwrap_or_default();
        assert!(line.contains(status), "{request}\n{reply}");
    }
}

#[tokio::test]
async fn what_is_no_http_is_cut_off_and_the_server_lives() {
    let served = Served::new().await;
    let long = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    let rude: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0\0\0\0\r\n\r\n",
        b"nonsense\r\n\r\n",
        long.as_bytes(),
        many.as_bytes(),
    ];
    for bytes in rude {
        let reply = served.say(bytes).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 4"), "{reply}");
    }
    let fine = format!("{}connection: close\r\n\r\n", served.request("/api/v1/project"));
    assert!(served.say(fine.as_bytes()).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_client_that_never_finishes_its_headers_is_let_go() {
    let served = Served::new().await;
    let mut stream = served.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
    tokio::time::pause();
    let mut heard = Vec::new();
    let closed =
        tokio::time::timeout(Duration::from_secs(120), stream.read_to_end(&mut heard)).await;
    assert!(closed.is_ok(), "the connection was still open after two minutes");
}

#[tokio::test]
async fn streams_end_and_the_listener_returns_when_the_server_is_told_to_end() {
    let served = Served::new().await;
    let run = served.rig.live().await;
    let mut log = served.rig.log(run);
    log.notices(1);
    let mut streams = Vec::new();
    for path in [format!("/api/v1/runs/{run}/events/stream"), "/api/v1/feed".into()] {
        let mut stream = served.connect().await;
        stream.write_all(format!("{}\r\n", served.request(&path)).as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let mut idle = served.connect().await;
    idle.write_all(b"GET / HT").await.unwrap();
    served.rig.closing.cancel();
    tokio::time::timeout(Duration::from_secs(20), served.serving).await.unwrap().unwrap().unwrap();
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.ends_with(b"0\r\n\r\n"), "the stream was ended, not torn");
    }
    assert!(TcpStream::connect(("127.0.0.1", served.port)).await.is_err());
}

/// The memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_that_never_read_cost_little_and_hold_up_nobody() {
    const STALLED: usize = 100;
    let served = Served::new().await;
    let run = served.rig.live().await;
    let mut log = served.rig.log(run);
    let path = format!("/api/v1/runs/{run}/events/stream");
    let request = format!("{}\r\n", served.request(&path));
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut stream = served.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    log.notices(1);
    let before = resident();
    let writer = tokio::task::spawn_blocking(move || {
        for _ in 0..200 {
            log.notices(1_000);
        }
        log.end();
        log
    });
    let mut reader = served.connect().await;
    reader.write_all(request.as_bytes()).await.unwrap();
    let (mut tail, mut buffer, mut bytes) = (Vec::new(), vec![0; 64 * 1024], 0);
    while !tail.ends_with(b"event: end\ndata: {}\n\n\r\n0\r\n\r\n") && !tail.ends_with(b"0\r\n\r\n")
    {
        let got = reader.read(&mut buffer).await.unwrap();
        assert!(got > 0, "{}", String::from_utf8_lossy(&tail));
        bytes += got;
        tail.extend_from_slice(&buffer[..got]);
        tail.drain(..tail.len().saturating_sub(64));
    }
    assert!(bytes > 15_000_000, "{bytes}");
    let log = writer.await.unwrap();
    let grown = resident().saturating_sub(before);
    // The log is 17 MB long; a server that queued it for each of them would hold more than a gigabyte.
    assert!(grown < STALLED * 256 * 1024, "{grown} bytes for {STALLED} who do not read");
    // Nothing is lost to them: whoever begins to read gets it all.
    let mut late = stalled.remove(0);
    let mut all = 0;
    while all < bytes {
        let got = late.read(&mut buffer).await.unwrap();
        if got == 0 {
            break;
        }
        all += got;
    }
    assert!(all > 15_000_000, "{all}");
    drop(log);
}

#[tokio::test]
async fn a_client_that_leaves_gives_its_place_back() {
    let served = Served::new().await;
    let run = served.rig.live().await;
    let log = served.rig.log(run);
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = files();
    let request = format!("{}\r\n", served.request(&format!("/api/v1/runs/{run}/events/stream")));
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = served.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        streams.push(stream);
    }
    assert!(files() >= before + 100);
    drop(streams);
    until("the end of the connections", async || files() <= before + 10).await;
    drop(log);
}
