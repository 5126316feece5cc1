//! The acts by which a writer changes the disk, so that a test can make them fail.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How a writer writes and syncs.
pub trait LogDisk: Debug {
    /// Writes some of `bytes` at an offset and tells how many.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize>;

    /// Returns when what was written to a file is on the disk.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Returns when the names in a folder are on the disk.
    fn sync_names(&self, dir: &File) -> io::Result<()>;

    /// Writes all of `bytes`; of a failed write some may be there.
    fn write_all_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(file, &bytes[done..], at + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The operating system's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

impl LogDisk for Os {
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        file.write_at(bytes, at)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_names(&self, dir: &File) -> io::Result<()> {
        // A new name changes no data of a folder as some file systems count it, so that is not enough here.
        dir.sync_all()
    }
}
