//! Clients that should not be: they break off in the middle, and say what nobody understands.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::broken::{Broken, Promise};
use super::dice::Dice;
use super::world::{Door, World};

/// How long one that was not understood waits for a reply.
const WAIT: Duration = Duration::from_millis(500);

pub(super) async fn talk(world: Arc<World>) -> anyhow::Result<()> {
    let mut dice = world.dice("garbage", 0);
    while world.works_after(dice.millis(20, 300)).await {
        let door = world.door();
        let torn = dice.one_in(2);
        let bytes = if torn { half(&mut dice, &door) } else { nonsense(&mut dice, &door) };
        let Ok(mut stream) = TcpStream::connect(&door.address).await else { continue };
        if stream.write_all(&bytes).await.is_err() {
            continue;
        }
        if torn {
            world.count("connections torn");
            continue;
        }
        world.count("garbage sent");
        let mut reply = [0; 64];
        let Ok(Ok(count)) = tokio::time::timeout(WAIT, stream.read(&mut reply)).await else {
            continue;
        };
        let reply = String::from_utf8_lossy(&reply[..count]).into_owned();
        let status = reply.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        if status.is_some_and(|status| status < 400 || status == 500) {
            let said = String::from_utf8_lossy(&bytes).into_owned();
            let seen = format!("`{said}` was replied to with `{reply}`");
            return Err(Broken::error(Promise::Server, seen));
        }
    }
    Ok(())
}

/// The first part of something that would be well.
fn half(dice: &mut Dice, door: &Door) -> Vec<u8> {
    let Door { address, token, .. } = door;
    let head = format!("host: {address}\r\nauthorization: Bearer {token}\r\n");
    let whole = match dice.roll(3) {
        0 => format!("GET /api/v1/feed HTTP/1.1\r\n{head}\r\n"),
        1 => format!("GET /api/v1/runs/r1/events/stream HTTP/1.1\r\n{head}\r\n"),
        // Its body never comes to its end.
        _ => format!(
            "POST /api/v1/stories HTTP/1.1\r\n{head}content-type: application/json\r\n\
             content-length: 500\r\n\r\n{{\"id\":\"torn\",\"title\":\"Torn\",\"text\":\""
        ),
    };
    let mut bytes = whole.into_bytes();
    if dice.one_in(2) {
        bytes.truncate(dice.between(1, bytes.len() as u64) as usize);
    }
    bytes
}

/// What must be refused.
fn nonsense(dice: &mut Dice, door: &Door) -> Vec<u8> {
    let Door { address, token, .. } = door;
    let host = format!("host: {address}\r\n");
    let bearer = format!("authorization: Bearer {token}\r\n");
    let post = |path: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /api/v1/{path} HTTP/1.1\r\n{host}{bearer}content-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
    };
    match dice.roll(8) {
        0 => (0..dice.between(1, 4000)).map(|_| dice.roll(256) as u8).collect(),
        1 => format!("GET /api/v1/runs HTTP/1.1\r\n{host}\r\n").into(),
        2 => format!("GET /api/v1/runs HTTP/1.1\r\nhost: elsewhere\r\n{bearer}\r\n").into(),
        3 => format!("GET /api/v1/{} HTTP/1.1\r\n{host}{bearer}\r\n", "x/".repeat(99)).into(),
        4 => post("stories", "{\"title\":").into(),
        5 => post("stories", "{\"title\":\"x\",\"id\":\"../../x\"}").into(),
        6 => post("runs/r999999/stop", "{}").into(),
        _ => format!("GET / HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(1 << 20)).into(),
    }
}
