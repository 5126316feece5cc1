//! JSON as agents print it: shortened where a line is too long, and read once, only where it is needed.

#[cfg(feature = "frames")]
mod loose;
#[cfg(feature = "frames")]
mod plain;
#[cfg(feature = "frames")]
mod read;
mod shorten;

#[cfg(feature = "frames")]
pub(crate) use loose::{Loose, loose, next_loose};
#[cfg(feature = "frames")]
pub(crate) use plain::{Plain, once};
#[cfg(feature = "frames")]
pub(crate) use read::{
    JsonText, RawJson, is_too_deep, is_whole, lenient, read, read_piece, text_in,
};
pub(crate) use shorten::Shortener;
#[cfg(feature = "frames")]
pub(crate) use shorten::shorten;

/// What is nested deeper is left out first. The fast reader takes up to 40 KB of stack for each level, and a thread may
/// have no more than 2 MiB.
const DEEPEST: usize = 32;
