//! The arguments of bubblewrap, in the order in which it follows them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Arguments that are handed over in a file, each with a NUL byte after it: on the command line the program inside could read them,
/// and with them the paths of the machine.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    bytes: Vec<u8>,
}

impl Arguments {
    pub(crate) fn push(&mut self, argument: impl AsRef<OsStr>) {
        self.bytes.extend(argument.as_ref().as_bytes());
        self.bytes.push(0);
    }

    pub(crate) fn all<A: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = A>) {
        arguments.into_iter().for_each(|argument| self.push(argument));
    }

    pub(crate) fn read_only(&mut self, source: &Path, target: &Path) {
        self.all([OsStr::new("--ro-bind"), source.as_os_str(), target.as_os_str()]);
    }

    pub(crate) fn writable(&mut self, source: &Path, target: &Path) {
        self.all([OsStr::new("--bind"), source.as_os_str(), target.as_os_str()]);
    }

    pub(crate) fn symlink(&mut self, link: &Path, path: &Path) {
        self.all([OsStr::new("--symlink"), link.as_os_str(), path.as_os_str()]);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
