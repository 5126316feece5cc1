//! Very many subscribers that one thread reads: they cost as little as readers can, because they have the machine's
//! processors from the server that is measured.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;

use anyhow::{Context as _, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::subscriber::{Chunks, Lines, Subscriber};

const BUFFER: usize = 128 * 1024;
/// How many of them are heard of at once.
const AT_ONCE: usize = 1024;

/// Subscribers that have asked for a run's log.
#[derive(Debug, Default)]
pub struct Crowd(Vec<One>);

#[derive(Debug)]
struct One {
    stream: TcpStream,
    chunks: Chunks,
    lines: Lines,
    /// What was read of the reply and not looked at yet.
    rest: Vec<u8>,
}

impl Crowd {
    pub async fn add(&mut self, mut subscriber: Subscriber) -> anyhow::Result<()> {
        let chunks = subscriber.begin().await?;
        let Subscriber { stream, rest, .. } = subscriber;
        self.0.push(One { stream: stream.into_std()?, chunks, lines: Lines::default(), rest });
        Ok(())
    }

    /// Reads until the server has hung up on all of them, and hands on the head of each line.
    pub fn read(
        self,
        seen: impl FnMut(&[u8]) + Send + 'static,
    ) -> anyhow::Result<std::thread::JoinHandle<anyhow::Result<()>>> {
        let named = std::thread::Builder::new().name("crowd".into());
        named.spawn(move || read(self.0, seen)).context("starting a thread")
    }
}

fn read(mut crowd: Vec<One>, mut seen: impl FnMut(&[u8])) -> anyhow::Result<()> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    for (nth, one) in (0..).zip(&mut crowd) {
        let rest = std::mem::take(&mut one.rest);
        one.feed(&rest, &mut seen)?;
        epoll::add(&poll, &one.stream, EventData::new_u64(nth), EventFlags::IN | EventFlags::ET)?;
    }
    let mut buffer = vec![0; BUFFER];
    let mut ready = Vec::with_capacity(AT_ONCE);
    let mut left = crowd.len();
    while left > 0 {
        ready.clear();
        match epoll::wait(&poll, spare_capacity(&mut ready), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &ready {
            let nth = event.data.u64() as usize;
            let one = crowd.get_mut(nth).context("the kernel named nobody")?;
            left -= usize::from(!one.more(&mut buffer, &mut seen)?);
        }
    }
    Ok(())
}

impl One {
    /// Reads what is there; `false` if the server has hung up.
    fn more(&mut self, buffer: &mut [u8], seen: &mut impl FnMut(&[u8])) -> anyhow::Result<bool> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.feed(&buffer[..count], seen)?;
                    // What fills no buffer was all.
                    if count < buffer.len() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Ok(false),
            }
        }
    }

    fn feed(&mut self, data: &[u8], seen: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        let Self { chunks, lines, .. } = self;
        chunks.feed(data, &mut |data| lines.each(data, seen))?;
        ensure!(lines.got.strays == 0, "a subscriber got events out of order");
        Ok(())
    }
}
