//! The bytes of one file over HTTP, by a file service and by plain reads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use tokio::net::TcpListener;
use tower_http::services::ServeFile;

/// How much is read at once.
const PIECE: usize = 256 * 1024;

pub(super) async fn serve(path: PathBuf) -> anyhow::Result<()> {
    let file = Arc::new(File::open(&path)?);
    let routes = Router::new()
        .route("/pread", get(move || async move { Body::from_stream(pieces(file.clone())) }))
        .route_service("/static", ServeFile::new(path));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let serving = axum::serve(listener, routes);
    Ok(serving.with_graceful_shutdown(super::input_ends()).await?)
}

fn pieces(file: Arc<File>) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    stream::unfold((file, 0), |(file, at)| async move {
        let mut piece = vec![0; PIECE];
        match file.read_at(&mut piece, at) {
            Ok(0) => None,
            Ok(count) => {
                piece.truncate(count);
                Some((Ok(piece.into()), (file, at + count as u64)))
            }
            Err(error) => Some((Err(error), (file, at))),
        }
    })
}
