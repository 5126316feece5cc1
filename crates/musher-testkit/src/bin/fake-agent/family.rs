//! The relatives of the fake agent: children that leave its session, lose its environment or outlive it.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use musher_testkit::session::{leave_session, wait_for_session};

use crate::output::say;

/// No relative lives longer than this many seconds, so that a failed test leaves nothing for ever.
pub(crate) const LONGEST: u64 = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    Kept,
    Cleared,
}

pub(crate) fn grandchild(seconds: u64) -> io::Result<()> {
    let child = sleeper(seconds)?.stdin(Stdio::null()).spawn()?;
    wait_for_session(&child)?;
    say(&format!("pid {}\nparent done\n", child.id()))
}

/// The middle process prints the pid and exits before this returns, so that the sleeper has lost its parent by then.
pub(crate) fn daemon(environment: Environment, stay: bool) -> io::Result<()> {
    let mut middle = relative()?;
    middle.arg("__middle").stdin(Stdio::null());
    if environment == Environment::Cleared {
        middle.env_clear();
    }
    middle.spawn()?.wait()?;
    if stay {
        rest(LONGEST);
    }
    Ok(())
}

pub(crate) fn clear_env() -> io::Result<()> {
    let mut child = quiet(sleeper(LONGEST)?.env_clear()).spawn()?;
    wait_for_session(&child)?;
    say(&format!("pid {}\n", child.id()))?;
    child.wait()?;
    Ok(())
}

/// The root of the tree: it keeps its own session, like an agent does.
pub(crate) fn tree(depth: u32, width: u32) -> io::Result<()> {
    let _children = grow(depth, width)?;
    say("ready\n")?;
    rest(LONGEST);
    Ok(())
}

pub(crate) fn node(depth: u32, width: u32) -> io::Result<()> {
    leave_session()?;
    let _children = grow(depth, width)?;
    say("ready\n")?;
    rest(LONGEST);
    Ok(())
}

pub(crate) fn middle() -> io::Result<()> {
    leave_session()?;
    let mut command = relative()?;
    command.args(["__sleep", "--seconds", &LONGEST.to_string()]);
    let child = quiet(&mut command).spawn()?;
    say(&format!("pid {}\n", child.id()))
}

pub(crate) fn sleep(seconds: u64, own_session: bool) -> io::Result<()> {
    if own_session {
        leave_session()?;
    }
    rest(seconds.min(LONGEST));
    Ok(())
}

pub(crate) fn rest(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// Starts one level of the tree and waits until everything below it runs.
fn grow(depth: u32, width: u32) -> io::Result<Vec<Child>> {
    if depth == 0 {
        return Ok(Vec::new());
    }
    let mut children = Vec::new();
    for _ in 0..width {
        let mut command = relative()?;
        command
            .args(["__tree", "--depth", &(depth - 1).to_string()])
            .args(["--width", &width.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        children.push(command.spawn()?);
    }
    for child in &mut children {
        let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        if line != "ready\n" {
            return Err(io::Error::other("a child of the tree did not start"));
        }
    }
    Ok(children)
}

fn sleeper(seconds: u64) -> io::Result<Command> {
    let mut command = relative()?;
    let seconds = seconds.min(LONGEST).to_string();
    command.args(["__sleep", "--own-session", "--seconds", &seconds]);
    Ok(command)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this program exists to start processes that escape, which the product must then find"
)]
fn relative() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}
