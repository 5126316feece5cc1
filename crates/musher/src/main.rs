//! The musher command.
fn main() {}
