//! Serves a door over two pipes, one JSON-RPC message per line.

use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::ToolServer;

/// The longest message that is read; what is longer is dropped.
const MAX_MCP_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Serves until the other side leaves or `closing` says so. Calls that are at work then are cancelled.
pub async fn serve<R, W>(door: ToolServer, read: R, write: W, closing: &CancellationToken)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let over = closing.child_token();
    let transport = AsyncRwTransport::new(read, write).with_max_line_length(MAX_MCP_MESSAGE_BYTES);
    // A client that never says what it wants has left, or will.
    if let Ok(running) = serve_server_with_ct(door, transport, over.clone()).await {
        let _broken = running.waiting().await;
    }
    over.cancel();
}
