//! A connection as hyper writes to it: what is small is put together first.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Up to here it costs less to copy the parts of a reply than to let the kernel gather them. An event that thousands
/// follow is three parts to each of them: the length of its chunk, itself, and an end of line.
const SMALL: usize = 4096;

#[derive(Debug)]
pub(super) struct Socket(pub(super) TcpStream);

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = bufs.iter().map(|buf| buf.len()).sum();
        let mut whole = [0; SMALL];
        let Some(whole) = whole.get_mut(..len) else {
            return Pin::new(&mut self.0).poll_write_vectored(cx, bufs);
        };
        let mut at = 0;
        for buf in bufs {
            whole[at..at + buf.len()].copy_from_slice(buf);
            at += buf.len();
        }
        Pin::new(&mut self.0).poll_write(cx, whole)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
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
        let (mut client, mut socket) = (client.unwrap(), Socket(accepted.unwrap().0));
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
}
