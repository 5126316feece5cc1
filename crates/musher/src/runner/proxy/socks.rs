//! The proxy as programs speak to it that know no HTTP: the connecting part of SOCKS 5, without a login.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{NotConnected, Proxy, REQUEST_TIMEOUT, Reached, Wanted};

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const NOTHING_FITS: u8 = 0xff;
const CONNECT: u8 = 1;

/// What is said to a request.
#[derive(Debug, Clone, Copy)]
enum Reply {
    Done = 0,
    Forbidden = 2,
    Unreachable = 4,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

pub(super) async fn serve(mut stream: UnixStream, proxy: &Proxy) -> io::Result<()> {
    let request = timeout(REQUEST_TIMEOUT, request(&mut stream)).await;
    let (host, port) = match request.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))? {
        Ok(to) => to,
        Err(reply) => return say(&mut stream, reply).await,
    };
    match proxy.connect(&host, port, Wanted::Tunnel).await {
        Ok(Reached { stream: mut far, .. }) => {
            say(&mut stream, Reply::Done).await?;
            tokio::io::copy_bidirectional(&mut stream, &mut far).await.map(|_| ())
        }
        Err(NotConnected::Unreachable(..) | NotConnected::Upstream(..)) => {
            say(&mut stream, Reply::Unreachable).await
        }
        Err(
            NotConnected::Bad(_)
            | NotConnected::Refused(_)
            | NotConnected::Asked(_)
            | NotConnected::Inward(_),
        ) => say(&mut stream, Reply::Forbidden).await,
    }
}

/// Where a client wants to go, or what is to be said to it.
async fn request(stream: &mut UnixStream) -> io::Result<Result<(String, u16), Reply>> {
    let [version, methods] = read(stream).await?;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut offered = vec![0; usize::from(methods)];
    stream.read_exact(&mut offered).await?;
    let chosen = if offered.contains(&NO_LOGIN) { NO_LOGIN } else { NOTHING_FITS };
    stream.write_all(&[VERSION, chosen]).await?;
    if chosen == NOTHING_FITS {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let [_version, command, _reserved, kind] = read(stream).await?;
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(stream).await?).to_string(),
        3 => {
            let [length] = read(stream).await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            // What is no text is no name either, and is refused as one.
            String::from_utf8_lossy(&name).into_owned()
        }
        4 => Ipv6Addr::from(read::<16>(stream).await?).to_string(),
        _ => return Ok(Err(Reply::UnknownAddress)),
    };
    let port = u16::from_be_bytes(read(stream).await?);
    Ok(if command == CONNECT { Ok((host, port)) } else { Err(Reply::UnknownCommand) })
}

async fn read<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn say(stream: &mut UnixStream, reply: Reply) -> io::Result<()> {
    stream.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}
