//! Project files, good and bad.
