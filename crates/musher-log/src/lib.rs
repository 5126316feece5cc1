//! The run log: the files in one run's folder, written by one process at a time and read by many.
//!
//! | file | what it holds |
//! |---|---|
//! | `lock` | Whoever holds its `flock` is the writer; a run whose lock is free has no writer. |
//! | `events-00000001.jsonl` | A segment, named by its first number: a header line, then one event per line. |
//! | `events-00000001.idx` | Numbers and offsets of some of its lines. A hint, never trusted. |
//! | `events-00000001.torn` | What a crash or a broken disk left of a segment, put aside; nobody reads it. |
//! | `head` | How far the log goes. Readers never pass it. |
//! | `raw-….zst`, `raw-….idx` | What the agent wrote, byte for byte, in frames that can be read alone. |
//! | `ballast` | Room on the disk that is kept for the last words of a run. |
//! | `outcome.json` | How the run ended; there is none before the end. |
//!
//! A segment is only ever appended to. What a crash tore is cut when the log is opened again, and then a new segment
//! begins with a higher *epoch*: whoever has read lines that are gone can tell by it. Nothing here is asynchronous, and
//! nothing here reads a clock.

mod cursor;
mod cut;
mod damage;
mod disk;
mod encode;
mod ends;
mod error;
mod folder;
mod head;
mod index;
mod line;
mod locate;
mod lock;
mod looked_at;
mod lost;
pub mod outcome;
pub mod raw;
mod reader;
mod segment;
mod urgency;
mod wakes;
pub mod wire;
mod writer;

pub use cursor::{Cursor, CursorError};
pub use damage::{Damage, Why, is_damage};
pub use disk::{LogDisk, Os};
pub use encode::{MAX_FIELD_BYTES, MAX_LINE_BYTES};
pub use ends::{OpenEnds, UnendedTurn, open_ends};
pub use error::LogError;
pub use folder::{is_begun, last_written};
pub use head::{HeadFile, LogHead};
pub use line::{Kinds, line_kind, line_seq, lines};
pub use lock::{Lock, LockError};
pub use lost::{Lost, close_lost, close_short};
pub use reader::{LogBatch, LogRead, LogReader};
pub use urgency::Urgency;
pub use wakes::{WakeError, Wakes, WatchId};
pub use writer::{Appended, Cut, SEGMENT_BYTES, Writer};

/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
