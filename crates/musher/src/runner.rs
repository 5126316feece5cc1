//! The process that hosts one run, and its files.

pub mod log;
