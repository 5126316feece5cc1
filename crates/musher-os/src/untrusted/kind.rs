//! What stands under a name.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::FileType;

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
    Unknown,
}

impl Kind {
    /// What a look at a file has shown.
    pub fn of(about: &Metadata) -> Self {
        FileType::from_raw_mode(about.mode()).into()
    }

    /// Whether somebody who opens it may have to wait for ever, for it to open or for it to end.
    pub fn may_hang(self) -> bool {
        matches!(self, Self::Pipe | Self::Device)
    }

    /// The same in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "something unknown",
        }
    }
}

impl From<FileType> for Kind {
    fn from(found: FileType) -> Self {
        match found {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
