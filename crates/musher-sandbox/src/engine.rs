//! The client of a container engine: which of our variables it is given, and a question that it must answer in time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::probe::in_memory;

/// How long an engine may take for an answer. One whose service hangs would never give it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The variables by which an engine finds its service, its images and its own programs.
const OWN_VARIABLES: &[&str] = &[
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "HOME",
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Those of them that somebody has.
pub(crate) fn own_variables<'a>(
    get: impl Fn(&str) -> Option<&'a OsStr>,
) -> BTreeMap<String, String> {
    let value = |name: &&str| Some(((*name).to_owned(), get(name)?.to_str()?.to_owned()));
    OWN_VARIABLES.iter().filter_map(value).collect()
}

/// Whether a variable is one of an engine's, and so means nothing in a container.
pub(crate) fn is_own(name: &str) -> bool {
    OWN_VARIABLES.contains(&name)
}

/// What a client said, and how it ended.
pub(crate) struct EngineReply {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a client to its end. What it says goes to files in memory, so that nobody has to read meanwhile.
pub(crate) fn ask(mut client: Command) -> io::Result<EngineReply> {
    let (out, err) = (in_memory(b"")?, in_memory(b"")?);
    client.stdout(Stdio::from(out.try_clone()?)).stderr(Stdio::from(err.try_clone()?));
    let mut client = client.spawn()?;
    let waited = wait(&mut client);
    if waited.is_err() {
        // It is killed and waited for on every way out.
        let _dead = client.kill();
        let _dead = client.wait();
    }
    let status = waited?;
    let text = |file| {
        let mut file = std::fs::File::from(file);
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    Ok(EngineReply { status, stdout: text(out)?, stderr: text(err)? })
}

fn wait(client: &mut Child) -> io::Result<ExitStatus> {
    let ended = pidfd_open(Pid::from_child(client), PidfdFlags::empty())?;
    let limit = Timespec::try_from(ANSWER_TIMEOUT).map_err(io::Error::other)?;
    let mut watched = [PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
    match rustix::io::retry_on_intr(|| poll(&mut watched, Some(&limit)))? {
        0 => {
            let message = format!("no answer within {} s", ANSWER_TIMEOUT.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
        _ => client.wait(),
    }
}

/// The client of an engine, with its own variables and no others.
#[expect(
    clippy::disallowed_methods,
    reason = "it is waited for, or belongs to a caller that contains it"
)]
pub(crate) fn client(program: &Path, variables: &BTreeMap<String, String>) -> Command {
    let mut client = Command::new(program);
    client.env_clear().envs(variables).current_dir("/").stdin(Stdio::null());
    client
}
