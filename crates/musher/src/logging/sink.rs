//! One destination of the log: a thread that writes lines, and a bounded queue in front of it.
//!
//! A full queue drops lines instead of holding up whoever writes them; how many were dropped is the next line.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::LogFormat;
use super::line::{Fields, Line};

/// Lines that may wait for a destination.
const QUEUE_LINES: usize = 1024;
/// How long a full queue is left alone before it is tried again, at the end of the server.
const FLUSH_RETRY_DELAY: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub(super) struct Sink {
    queue: SyncSender<Piece>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Piece {
    Line(Arc<str>),
    /// Everything before it is written when this is dropped.
    Flush {
        _done: SyncSender<()>,
    },
}

impl Sink {
    /// `open` gives the destination on the thread that writes to it; without one, lines are thrown away.
    pub(super) fn start(
        name: &str,
        format: LogFormat,
        open: impl FnOnce() -> Option<Box<dyn Write>> + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, pieces) = sync_channel(QUEUE_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        thread::Builder::new().name(name.into()).spawn(move || match open() {
            Some(out) => write_all(out, &pieces, &lost, format),
            None => pieces.iter().for_each(drop),
        })?;
        Ok(Self { queue, dropped })
    }

    pub(super) fn line(&self, line: &Arc<str>) {
        if self.queue.try_send(Piece::Line(Arc::clone(line))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not for a destination that takes nothing.
    pub(super) fn flush(&self, within: Duration) {
        let until = Instant::now() + within;
        let (done, flushed) = sync_channel(1);
        let mut piece = Piece::Flush { _done: done };
        loop {
            match self.queue.try_send(piece) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) if Instant::now() < until => piece = back,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return,
            }
            thread::sleep(FLUSH_RETRY_DELAY);
        }
        // The other end is dropped when the line before it is written, so an error is the answer that is waited for.
        let _flushed = flushed.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn write_all(
    mut out: Box<dyn Write>,
    pieces: &Receiver<Piece>,
    dropped: &AtomicU64,
    format: LogFormat,
) {
    for piece in pieces {
        let Piece::Line(line) = piece else { continue };
        let mut lost = dropped.swap(0, Ordering::Relaxed);
        let told = match lost {
            0 => Ok(()),
            _ => out.write_all(lost_lines(lost, format).as_bytes()),
        };
        if told.is_ok() {
            lost = 0;
        }
        if out.write_all(line.as_bytes()).is_err() {
            lost += 1;
        }
        dropped.fetch_add(lost, Ordering::Relaxed);
    }
}

fn lost_lines(count: u64, format: LogFormat) -> String {
    let mut fields = Fields::default();
    fields.number("lost", count);
    let message = "log lines could not be written";
    Line { level: tracing::Level::WARN, target: module_path!(), message, fields: &fields }
        .written(format)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Takes lines only while it is open.
    #[derive(Clone, Default)]
    struct Valve {
        shut: Arc<Mutex<bool>>,
        out: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Valve {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if *self.shut.lock().unwrap() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.out.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_a_full_disk_refused_are_counted_in_the_next_one_that_it_takes() {
        let valve = Valve::default();
        let out = valve.clone();
        let sink = Sink::start("test", LogFormat::Text, move || Some(Box::new(out))).unwrap();
        let say = |text: &str| {
            sink.line(&Arc::from(text));
            sink.flush(Duration::from_secs(10));
        };
        say("one\n");
        *valve.shut.lock().unwrap() = true;
        say("two\n");
        say("three\n");
        *valve.shut.lock().unwrap() = false;
        say("four\n");
        let text = String::from_utf8(valve.out.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, "one", "four"), "{text}");
        assert!(lines[1].contains("log lines could not be written lost=2"), "{text}");
    }

    #[test]
    fn a_destination_that_never_answers_holds_up_nobody() {
        let (never, open) = sync_channel::<()>(0);
        let sink = Sink::start("test", LogFormat::Text, move || {
            let _closed = open.recv();
            None
        })
        .unwrap();
        let began = Instant::now();
        for _ in 0..QUEUE_LINES * 3 {
            sink.line(&Arc::from("line\n"));
        }
        sink.flush(Duration::from_millis(20));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(sink.dropped.load(Ordering::Relaxed) >= QUEUE_LINES as u64);
        drop(never);
    }
}
