//! One run's folder, and the control socket in it.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

use super::secret::Secret;

/// The socket's name in the folder. Paths of sockets may have 107 bytes at most, so it is reached through the folder.
const SOCKET: &str = "s";

/// The file with the secret that the control socket of a run in a sandbox demands.
const CONTROL_SECRET: &str = "control";
/// No secret is longer.
const MAX_SECRET_BYTES: u64 = 256;

/// Where the run's own tools are found inside of a sandbox.
pub(super) const TOOLS_INSIDE: &str = "/run/musher";

/// The folder of the socket that is shown inside of a sandbox.
pub(super) fn tools(folder: &Path) -> PathBuf {
    folder.join("tools")
}

/// Where a run keeps its session, if its runtime leaves that to us.
pub fn sessions(folder: &Path) -> PathBuf {
    folder.join("sessions")
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    handle: OwnedFd,
}

impl RunFolder {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { path: path.to_owned(), handle })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody has deleted the folder; one that was moved is still there.
    pub(super) fn is_deleted(&self) -> bool {
        rustix::fs::fstat(&self.handle).is_ok_and(|found| found.st_nlink == 0)
    }

    fn socket(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.handle.as_raw_fd()))
    }

    /// Listens for commands. The caller holds the run's lock, so a socket that is already there belongs to the dead.
    pub(super) fn listen(&self) -> io::Result<UnixListener> {
        self.listen_as(SOCKET)
    }

    /// Listens on a socket with this name.
    pub(super) fn listen_as(&self, name: &str) -> io::Result<UnixListener> {
        match std::fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        UnixListener::bind(self.socket(name))
    }

    pub(super) async fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.socket(SOCKET)).await
    }

    /// Writes down what has to be shown on the control socket.
    pub(super) fn demand(&self, secret: &Secret) -> io::Result<()> {
        let path = self.path.join(CONTROL_SECRET);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = untrusted::create(&path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(secret.reveal().as_bytes())
    }

    /// What has to be shown on the control socket; nothing for a run that demands nothing.
    pub(super) fn demanded(&self) -> io::Result<Option<String>> {
        let found = untrusted::read_if_there(&self.path.join(CONTROL_SECRET), MAX_SECRET_BYTES);
        let found = found.map_err(untrusted::Unfit::into_io)?;
        Ok(found.map(|secret| String::from_utf8_lossy(&secret).into_owned()))
    }

    /// Takes the socket away: nobody will answer any more.
    pub(super) fn close_door(&self) {
        let _already_gone = std::fs::remove_file(self.path.join(SOCKET));
    }
}

/// Whether who is at the other end may command this user's runs.
pub(super) fn is_trusted(peer: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    peer.peer_cred().is_ok_and(|credentials| credentials.uid() == own || credentials.uid() == 0)
}
