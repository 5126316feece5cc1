//! Sessions of their own for the relatives of agents, as the real ones give them to their tools.

use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::setsid;

/// A process that already leads its group cannot leave its session; then it is in one of its own anyway.
pub fn leave_session() -> io::Result<()> {
    match setsid() {
        Ok(_) => Ok(()),
        Err(_) if session_of(std::process::id())? == std::process::id() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The child makes its session itself; what is said of it must not be ahead of that.
pub fn wait_for_session(child: &Child) -> io::Result<()> {
    let start = Instant::now();
    while session_of(child.id())? != child.id() {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Read from the process table, because a session led from outside this pid namespace has the number 0, which
/// `getsid` of the library takes for impossible.
fn session_of(pid: u32) -> io::Result<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let session = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(3));
    session.and_then(|number| number.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
