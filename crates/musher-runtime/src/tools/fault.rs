//! What can be wrong with a file that a tool is asked for, told so that the model can do it right.

use rustix::io::Errno;

use super::input::clip;

/// Why a file tool did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolFault {
    #[error("`{path}` {why}; give a path inside the working folder, relative to it")]
    BadPath { path: String, why: &'static str },
    #[error("`{path}` leads out of the working folder; only files inside it can be used")]
    Outside { path: String },
    #[error("`{path}` is a link or goes through one{to}; name the real file instead")]
    Link { path: String, to: String },
    #[error("`{path}` is inside `.git`, which belongs to git; use git commands instead")]
    Git { path: String },
    #[error("`{path}` does not exist; look with list_files or glob")]
    Missing { path: String },
    #[error("`{path}` is a folder; {instead}")]
    IsFolder { path: String, instead: &'static str },
    #[error("`{path}` is not a folder; name the folder, or read_file for a file")]
    NotFolder { path: String },
    #[error("`{path}` is not a regular file but {what}, and is left alone")]
    Special { path: String, what: &'static str },
    #[error(
        "`{path}` has {size} bytes ({shown}), more than the {most} that this tool takes; {instead}"
    )]
    TooBig { path: String, size: u64, shown: String, most: String, instead: &'static str },
    #[error("`{path}` is a binary file of {size} bytes; use run_command to look into it")]
    Binary { path: String, size: u64 },
    #[error("`{path}` is not UTF-8 text; change it with run_command")]
    NotText { path: String },
    #[error("`{path}` may not be read: {why}")]
    Forbidden { path: String, why: String },
    #[error("`{path}`: {cause}")]
    System { path: String, cause: Errno },
    #[error("cancelled before it was done")]
    Cancelled,
    #[error("{0}")]
    Other(String),
}

impl ToolFault {
    /// What the kernel said about a path, in words.
    pub(super) fn of(path: &str, errno: Errno) -> Self {
        let path = clip(path);
        match errno {
            Errno::XDEV => Self::Outside { path },
            Errno::LOOP => Self::Link { path, to: String::new() },
            Errno::NOENT => Self::Missing { path },
            Errno::ISDIR => Self::IsFolder { path, instead: "name a file" },
            Errno::NOTDIR => Self::NotFolder { path },
            Errno::NXIO => Self::Special { path, what: "a pipe or a device" },
            Errno::NAMETOOLONG => Self::BadPath { path, why: "is too long" },
            cause => Self::System { path, cause },
        }
    }

    pub(super) fn too_big(path: &str, size: u64, most: u64, instead: &'static str) -> Self {
        Self::TooBig { path: clip(path), size, shown: bytes(size), most: bytes(most), instead }
    }
}

/// A number of bytes as people write it.
pub(super) fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = count as f64;
    let mut unit = "bytes";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match unit {
        "bytes" => format!("{count} bytes"),
        _ => format!("{value:.1} {unit}"),
    }
}
