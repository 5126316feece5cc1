//! The one process through which all that is relayed goes to its readers: with it a relay has as many hops as we have.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::relay::{PIECE, connected};

/// How many relays may have said something at once.
const TOGETHER: usize = 256;
/// Not the place of any relay.
const INPUT: u64 = u64::MAX;

/// Takes so many relays, and copies what each sends to a connection of its own, until its input ends.
pub(super) fn pass_on(to: &str, relays: usize) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, std::io::stdin(), EventData::new_u64(INPUT), EventFlags::IN)?;
    let mut streams: Vec<(TcpStream, TcpStream)> = Vec::new();
    for nth in 0..relays {
        let (from, _) = listener.accept()?;
        epoll::add(&epoll, &from, EventData::new_u64(nth as u64), EventFlags::IN)?;
        streams.push((from, connected(to)?));
    }
    let mut events = Vec::with_capacity(TOGETHER);
    let mut buffer = vec![0; PIECE];
    loop {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            let Some((from, to)) = streams.get_mut(event.data.u64() as usize) else {
                return Ok(());
            };
            let count = from.read(&mut buffer)?;
            if count == 0 {
                epoll::delete(&epoll, &*from)?;
            }
            to.write_all(&buffer[..count])?;
        }
    }
}
