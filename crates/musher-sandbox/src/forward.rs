//! The way from a network of its own to the proxy: connections on the loopback inside are carried to sockets of the runner.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::thread::JoinHandle;

/// Where the sockets of the runner are inside.
pub const PROXY_FOLDER: &str = "/run/musher";
/// The names of the sockets, which are those of the protocols.
pub const PROXY_SOCKETS: [&str; 2] = ["http", "socks"];
/// The ports on the loopback inside, for the same protocols.
pub const PROXY_PORTS: [u16; 2] = [3128, 1080];
/// Room for what a thread that carries bytes needs.
const CARRIER_STACK_BYTES: usize = 64 * 1024;

fn listen() -> [io::Result<TcpListener>; 2] {
    PROXY_PORTS.map(|port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
}

/// Starts the process that carries connections. It listens when this returns.
pub(crate) fn start() -> io::Result<()> {
    let [http, socks] = listen();
    // It finds its listeners where other programs have their input and output.
    #[expect(
        clippy::disallowed_methods,
        reason = "it is part of the sandbox, and dies with its first process"
    )]
    let mut forwarder = std::process::Command::new(std::env::current_exe()?);
    forwarder
        .arg(crate::FORWARD_VERB)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(http?)))
        .stdout(Stdio::from(OwnedFd::from(socks?)))
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

/// Carries connections on threads of this process, which listens when this returns.
pub(crate) fn begin() -> io::Result<()> {
    for (listener, name) in listen().into_iter().zip(PROXY_SOCKETS) {
        let listener = listener?;
        thread(move || accept(&listener, &Path::new(PROXY_FOLDER).join(name)))?;
    }
    Ok(())
}

/// Carries connections until the sandbox ends. How many there are is for the runner to bound.
pub fn forward() -> io::Result<()> {
    let http = io::stdin().as_fd().try_clone_to_owned()?;
    let socks = io::stdout().as_fd().try_clone_to_owned()?;
    let [to_http, to_socks] = PROXY_SOCKETS.map(|name| Path::new(PROXY_FOLDER).join(name));
    thread(move || accept(&TcpListener::from(socks), &to_socks))?;
    accept(&TcpListener::from(http), &to_http);
    Ok(())
}

fn thread(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().stack_size(CARRIER_STACK_BYTES).spawn(work)
}

fn accept(listener: &TcpListener, socket: &Path) {
    for stream in listener.incoming().flatten() {
        let socket = socket.to_owned();
        // Without a thread the connection is closed, and its client may try again.
        let _closed = thread(move || drop(carry(&stream, &socket)));
    }
}

/// Carries bytes both ways until both have ended.
fn carry(stream: &TcpStream, socket: &Path) -> io::Result<()> {
    let runner = UnixStream::connect(socket)?;
    let (from, to) = (stream.try_clone()?, runner.try_clone()?);
    let back = thread(move || {
        // Whichever side has gone, the other is told that nothing more comes.
        let _gone = io::copy(&mut &from, &mut &to);
        let _gone = to.shutdown(Shutdown::Write);
    })?;
    let _gone = io::copy(&mut &runner, &mut &*stream);
    let _gone = stream.shutdown(Shutdown::Write);
    let _gone = back.join();
    Ok(())
}
