//! A connection as hyper writes to it: what is small is put together first, and what is large gets room.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Up to here it costs less to copy the parts of a reply than to let the kernel gather them. An event that thousands
/// follow is three parts to each of them: the length of its chunk, itself, and an end of line.
const SMALL: usize = 4096;
/// What the kernel may hold for a client that does not read; it would take megabytes if nobody said.
const ROOM: usize = 256 * 1024;
/// A client that is sent so much at once is far behind. With more room it is not waited for after each piece, and few are
/// sent so much at a time.
const LARGE: usize = 128 * 1024;
const LARGE_ROOM: usize = 2 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    large: bool,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        let socket = Self { stream, large: false };
        socket.make_room(ROOM);
        socket
    }

    /// Makes room for what is about to be written.
    fn expect(&mut self, len: usize) {
        // What is in between may be the rest of something large.
        let large = len >= LARGE || (self.large && len > SMALL);
        if large != self.large {
            self.large = large;
            self.make_room(if large { LARGE_ROOM } else { ROOM });
        }
    }

    fn make_room(&self, bytes: usize) {
        // A connection that cannot be tuned still works.
        let _untuned = rustix::net::sockopt::set_socket_send_buffer_size(&self.stream, bytes);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.expect(buf.len());
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = bufs.iter().map(|buf| buf.len()).sum();
        self.expect(len);
        let mut whole = [0; SMALL];
        let Some(whole) = whole.get_mut(..len) else {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        };
        let mut at = 0;
        for buf in bufs {
            whole[at..at + buf.len()].copy_from_slice(buf);
            at += buf.len();
        }
        Pin::new(&mut self.stream).poll_write(cx, whole)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn parts_arrive_whole_and_in_order_whether_they_are_small_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(to), listener.accept());
        let (mut client, mut socket) = (client.unwrap(), Socket::new(accepted.unwrap().0));
        for size in [0, 1, 300, SMALL - 2, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL] {
            let data: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let parts = [IoSlice::new(b"<"), IoSlice::new(&data), IoSlice::new(b">")];
            let sent = socket.write_vectored(&parts).await.unwrap();
            assert_eq!(sent, size + 2);
            let mut got = vec![0; sent];
            client.read_exact(&mut got).await.unwrap();
            assert_eq!(got, [b"<".as_slice(), &data, b">"].concat());
        }
    }

    #[tokio::test]
    async fn a_client_that_is_sent_much_at_once_has_room_for_it_until_it_is_sent_little() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(to), listener.accept());
        let (mut client, mut socket) = (client.unwrap(), Socket::new(accepted.unwrap().0));
        let room = |socket: &Socket| {
            rustix::net::sockopt::socket_send_buffer_size(&socket.stream).unwrap()
        };
        let usual = room(&socket);
        let mut got = vec![0; LARGE];
        for (len, more) in [(1, false), (LARGE, true), (SMALL + 1, true), (SMALL, false)] {
            let sent = socket.write(&vec![0; len]).await.unwrap();
            // A machine may grant no more than it grants everybody.
            assert_eq!(room(&socket) > usual, more && grants_more(), "{len}");
            client.read_exact(&mut got[..sent]).await.unwrap();
        }
    }

    fn grants_more() -> bool {
        let most = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap();
        most.trim().parse::<usize>().unwrap() > ROOM
    }
}
