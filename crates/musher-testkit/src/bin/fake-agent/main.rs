//! An agent that misbehaves on demand; it speaks no vendor's protocol and exists to test the handling of processes.

mod family;
mod output;
mod temper;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "A program that misbehaves on demand.")]
struct Args {
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Mode {
    /// Prints numbered lines.
    Lines {
        #[arg(long, default_value_t = 10)]
        count: u64,
        /// Pads each line to this many bytes, the newline included.
        #[arg(long, default_value_t = 0)]
        size: usize,
    },
    /// Prints lines of 200 bytes as fast as it can.
    Flood {
        #[arg(long, default_value_t = 10)]
        mb: u64,
    },
    /// Floods without end.
    Forever,
    /// Prints random bytes, NUL and invalid UTF-8 among them.
    Garbage {
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = 4096)]
        bytes: usize,
    },
    /// Prints one enormous line, then the line `after`.
    LongLine {
        #[arg(long, default_value_t = 64)]
        mb: u64,
    },
    /// Prints bytes without a newline and exits.
    NoNewline {
        #[arg(long, default_value_t = 1)]
        mb: u64,
    },
    /// Prints bytes without a newline and without end.
    NoNewlineForever,
    /// Prints three lines that end in carriage return and newline.
    Crlf,
    /// Exits in the middle of a line.
    Partial,
    /// Leaves a child in its own session that holds stdout open, and exits.
    SetsidGrandchild {
        #[arg(long, default_value_t = family::LONGEST)]
        seconds: u64,
    },
    /// Leaves a double-forked process in another session with the same environment.
    Daemon {
        /// Keeps the agent itself running.
        #[arg(long)]
        stay: bool,
    },
    /// Starts a child in its own session without any environment, and waits for it.
    ClearEnv,
    /// Leaves a double-forked process without any environment, and stays.
    ClearEnvDaemon,
    /// Prints `ready` and ignores SIGTERM, SIGINT, SIGHUP and the end of stdin.
    IgnoreTerm,
    /// Prints `ready` and stops itself.
    StopSelf,
    /// Dies of a signal.
    Die {
        #[arg(long)]
        signal: i32,
    },
    /// Exits with a code, after some lines on stderr.
    Exit {
        #[arg(long)]
        code: u8,
        #[arg(long, default_value_t = 0)]
        stderr_kb: usize,
    },
    /// Copies stdin to stdout, then prints `eof`.
    Echo,
    /// Starts a tree of sleeping processes, each in its own session, and prints `ready` when all run.
    ForkBomb {
        #[arg(long, default_value_t = 2)]
        depth: u32,
        #[arg(long, default_value_t = 2)]
        width: u32,
    },
    /// Closes stdout and keeps running for 30 seconds.
    ClosedStdout,
    /// Prints its environment.
    Env,
    /// Keeps printing for a while after stdin ended.
    AfterEof {
        #[arg(long, default_value_t = 500)]
        ms: u64,
    },
    /// A relative that only sleeps.
    #[command(name = "__sleep", hide = true)]
    Sleep {
        #[arg(long)]
        seconds: u64,
        #[arg(long)]
        own_session: bool,
    },
    /// The middle of a double fork.
    #[command(name = "__middle", hide = true)]
    Middle,
    /// One node of the tree.
    #[command(name = "__tree", hide = true)]
    Tree {
        #[arg(long)]
        depth: u32,
        #[arg(long)]
        width: u32,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().mode) {
        Ok(code) => code,
        // A reader that went away is an ordinary end for a program that floods.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(error) => {
            eprintln!("fake-agent: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mode: Mode) -> io::Result<ExitCode> {
    match mode {
        Mode::Lines { count, size } => output::lines(count, size)?,
        Mode::Flood { mb } => output::flood(Some(mb))?,
        Mode::Forever => output::flood(None)?,
        Mode::Garbage { seed, bytes } => output::garbage(seed, bytes)?,
        Mode::LongLine { mb } => output::long_line(mb)?,
        Mode::NoNewline { mb } => output::no_newline(Some(mb))?,
        Mode::NoNewlineForever => output::no_newline(None)?,
        Mode::Crlf => output::say("line 1\r\nline 2\r\nline 3\r\n")?,
        Mode::Partial => output::say("line 1\nhalf a li")?,
        Mode::SetsidGrandchild { seconds } => family::grandchild(seconds)?,
        Mode::Daemon { stay } => family::daemon(family::Environment::Kept, stay)?,
        Mode::ClearEnv => family::clear_env()?,
        Mode::ClearEnvDaemon => family::daemon(family::Environment::Cleared, true)?,
        Mode::IgnoreTerm => temper::ignore_term()?,
        Mode::StopSelf => temper::stop_self()?,
        Mode::Die { signal } => temper::die(signal)?,
        Mode::Exit { code, stderr_kb } => {
            output::complain(stderr_kb)?;
            return Ok(ExitCode::from(code));
        }
        Mode::Echo => output::echo()?,
        Mode::ForkBomb { depth, width } => family::tree(depth, width)?,
        Mode::ClosedStdout => temper::closed_stdout()?,
        Mode::Env => output::environment()?,
        Mode::AfterEof { ms } => output::after_eof(ms)?,
        Mode::Sleep { seconds, own_session } => family::sleep(seconds, own_session)?,
        Mode::Middle => family::middle()?,
        Mode::Tree { depth, width } => family::node(depth, width)?,
    }
    Ok(ExitCode::SUCCESS)
}
