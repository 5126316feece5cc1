//! Any runtime with its scenes, in a sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_runtime::{Runtime, SessionSpec};
use musher_sandbox::{
    Mount, PROXY_FOLDER, PROXY_SOCKETS, Sandbox, SandboxBackend, SandboxLimits, SandboxNetwork,
};
use musher_testkit::programs;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};

use super::{Scene, Subject};
use crate::rig::Place;

/// The longest head of a request.
const HEAD_BYTES: usize = 64 * 1024;

/// A subject whose sessions are confined.
pub(crate) struct Confined<S> {
    subject: S,
    network: SandboxNetwork,
    /// What is shown as the folder for temporary files, and the sockets of the proxy.
    tmp: TempDir,
    sockets: TempDir,
}

impl<S: Subject> Confined<S> {
    pub(crate) fn workspace(subject: S) -> Self {
        let [tmp, sockets] = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        Self { subject, network: SandboxNetwork::Host, tmp, sockets }
    }

    /// With a network of its own, and a way out to whatever it asks for.
    pub(crate) fn strict(subject: S) -> Self {
        let confined = Self { network: SandboxNetwork::Proxy, ..Self::workspace(subject) };
        let socket = confined.sockets.path().join(PROXY_SOCKETS[0]);
        let listener = UnixListener::bind(socket).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(carry(stream));
            }
        });
        confined
    }

    pub(crate) fn subject(&self) -> &S {
        &self.subject
    }

    pub(crate) fn confine(&self, spec: SessionSpec) -> SessionSpec {
        let home = self.place().home.path().canonicalize().unwrap();
        let work = self.place().work.path().canonicalize().unwrap();
        let mut mounts = vec![Mount::write(work)];
        // The real programs and the Node that they need are in a cache that is not below this home.
        let path = spec.environment.get("PATH").unwrap_or_default();
        let folders = std::env::split_paths(path).filter_map(|folder| folder.canonicalize().ok());
        let elsewhere = folders.filter(|folder: &PathBuf| !folder.starts_with("/usr"));
        mounts.extend(elsewhere.map(|folder| {
            let package = folder.parent().filter(|_| folder.ends_with("bin"));
            Mount::read(package.unwrap_or(&folder))
        }));
        mounts.push(Mount::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")));
        if self.network == SandboxNetwork::Proxy {
            mounts.push(Mount::read(self.sockets.path()).at(PROXY_FOLDER));
        }
        let sandbox = Sandbox {
            helper: programs::musher().unwrap(),
            home: home.clone(),
            home_at: home,
            tmp: self.tmp.path().to_owned(),
            mounts,
            nested: false,
            network: self.network,
            hosts: Vec::new(),
            limits: SandboxLimits::default(),
            terminal: false,
            backend: SandboxBackend::default(),
        };
        SessionSpec { sandbox: Some(Arc::new(sandbox)), ..spec }
    }
}

impl<S: Subject> Subject for Confined<S> {
    fn place(&self) -> &Place {
        self.subject.place()
    }

    fn runtime(&self) -> Box<dyn Runtime> {
        self.subject.runtime()
    }

    fn spec(&self, scene: Scene) -> SessionSpec {
        self.confine(self.subject.spec(scene))
    }

    fn unknown_session(&self) -> SessionSpec {
        self.confine(self.subject.unknown_session())
    }

    fn names_its_model(&self) -> bool {
        self.subject.names_its_model()
    }
}

/// Carries one connection to where its first request wants to go.
async fn carry(mut client: UnixStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES {
        if client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut words = text.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let tunnel = method == "CONNECT";
    let authority = target.strip_prefix("http://").unwrap_or(target);
    let authority = authority.split('/').next().unwrap_or_default();
    if !authority.starts_with("127.") {
        // As the proxy of a run does, and at once: programs report home when they end.
        return client.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    }
    let mut server = TcpStream::connect(authority).await?;
    match tunnel {
        true => client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?,
        // The scripted model takes a request that names its host.
        false => server.write_all(&head).await?,
    }
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
