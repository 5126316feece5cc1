//! Lines from stdin, waited for no longer than asked: one thread is all that this agent has.

use std::io;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// What stdin gave.
#[derive(Debug)]
pub(crate) enum Heard {
    Line(Vec<u8>),
    /// Nothing came in time.
    Quiet,
    /// Nothing will ever come again.
    End,
}

#[derive(Debug, Default)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    /// So much of the buffer holds no newline.
    searched: usize,
    ended: bool,
}

impl Input {
    /// The next line; with a deadline, no later than that.
    pub(crate) fn next(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Heard::Line(line));
            }
            if self.ended {
                return Ok(Heard::End);
            }
            if !readable(until)? {
                return Ok(Heard::Quiet);
            }
            self.fill()?;
        }
    }

    fn buffered(&mut self) -> Option<Vec<u8>> {
        let newline = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(at) = newline.map(|at| self.searched + at) else {
            self.searched = self.buffer.len();
            // A last line may lack its newline.
            let rest = self.ended && !self.buffer.is_empty();
            self.searched *= usize::from(!rest);
            return rest.then(|| std::mem::take(&mut self.buffer));
        };
        let rest = self.buffer.split_off(at + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(at);
        self.searched = 0;
        Some(line)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 * 1024];
        match rustix::io::read(rustix::stdio::stdin(), &mut piece) {
            Ok(0) => self.ended = true,
            Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Waits until stdin has something to say, its end included.
fn readable(until: Option<Instant>) -> io::Result<bool> {
    let stdin = rustix::stdio::stdin();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], left.as_ref()) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
