//! A plain HTTP client that costs little: it asks for one thing and reads until the other side hangs up.

use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::subscriber::Chunks;

const BUFFER: usize = 256 * 1024;

/// What came, as it was on the wire.
#[derive(Debug)]
pub struct Fetched {
    /// From before the connection to the last byte.
    pub took: Duration,
    pub bytes: u64,
}

/// Fetches a path and throws away what comes.
pub async fn fetch(address: &str, path: &str, token: &str) -> anyhow::Result<Fetched> {
    let began = Instant::now();
    let mut stream = ask(address, path, token).await?;
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    let first = stream.read(&mut buffer).await?;
    ensure!(buffer[..first].starts_with(b"HTTP/1.1 200"), "{path} was refused");
    let mut count = first;
    while count > 0 {
        bytes += count as u64;
        count = stream.read(&mut buffer).await?;
    }
    Ok(Fetched { took: began.elapsed(), bytes })
}

/// Fetches the body of a reply.
pub async fn body(address: &str, path: &str, token: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = ask(address, path, token).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    let end = memchr::memmem::find(&reply, b"\r\n\r\n").unwrap_or(0);
    ensure!(reply.starts_with(b"HTTP/1.1 200") && end > 0, "{path} was refused");
    let head = String::from_utf8_lossy(&reply[..end]).to_lowercase();
    if !head.contains("transfer-encoding: chunked") {
        return Ok(reply.split_off(end + 4));
    }
    let mut body = Vec::with_capacity(reply.len());
    Chunks::default().feed(&reply[end + 4..], &mut |data| body.extend_from_slice(data))?;
    Ok(body)
}

async fn ask(address: &str, path: &str, token: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}
