//! What of the system every program needs: its programs and libraries, and a chosen part of `/etc`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::mount::Mount;

/// Folders that are a link into `/usr` on most systems, and folders of their own on others.
const USR_FOLDERS: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What is shown of `/etc`. All of it would show a superuser's sandbox the passwords of the machine.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "fonts",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki",
    "profile",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
    "terminfo",
    "timezone",
];

/// Folders of keys among the certificates.
const PRIVATE_KEYS: &[&str] = &["/etc/ssl/private", "/etc/pki/tls/private"];

/// Places for programs beside the system's own.
const MORE: &[&str] = &["/opt", "/nix"];

/// Folders of the system that are always there to be read.
const SHOWN: &[&str] = &["/usr", "/opt", "/nix", "/bin", "/sbin", "/lib", "/lib64"];

/// How variables end that name files or folders of certificates; a company's own are needed inside as well.
const CERTIFICATES: &[&str] = &[
    "_CAINFO",
    "_CAPATH",
    "_CA_BUNDLE",
    "_CA_CERTIFICATE",
    "_CA_CERTS",
    "_CERT_DIR",
    "_CERT_FILE",
];

/// Shows the system's own folders.
pub(crate) fn show(arguments: &mut Arguments) {
    arguments.read_only(Path::new("/usr"), Path::new("/usr"));
    for name in USR_FOLDERS {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(link) => arguments.symlink(&link, &path),
            Err(_) if path.is_dir() => arguments.read_only(&path, &path),
            Err(_) => {}
        }
    }
    for name in ETC {
        let path = Path::new("/etc").join(name);
        if path.exists() {
            arguments.read_only(&path, &path);
        }
    }
    for path in PRIVATE_KEYS.iter().map(Path::new).filter(|path| path.is_dir()) {
        arguments.all([OsStr::new("--tmpfs"), path.as_os_str()]);
    }
    for path in MORE.iter().map(Path::new).filter(|path| path.is_dir()) {
        arguments.read_only(path, path);
    }
}

/// The same folders, as places that may be read. What may be read of a folder may be read of all in it, so folders of keys are
/// left out by naming what lies beside them.
pub(crate) fn places() -> Vec<PathBuf> {
    let roots = ["usr"].iter().chain(USR_FOLDERS).map(|name| Path::new("/").join(name));
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    let all = roots.chain(etc).chain(MORE.iter().map(PathBuf::from));
    all.filter(|path| path.exists()).flat_map(without_keys).collect()
}

fn without_keys(path: PathBuf) -> Vec<PathBuf> {
    let keys = || PRIVATE_KEYS.iter().map(Path::new);
    if keys().any(|private| private == path) {
        return Vec::new();
    }
    if !keys().any(|private| private.starts_with(&path)) {
        return vec![path];
    }
    // A folder that cannot be listed gives nothing.
    let beside = std::fs::read_dir(&path).into_iter().flatten().flatten();
    beside.map(|entry| entry.path()).filter(|path| path.exists()).flat_map(without_keys).collect()
}

/// Whether a place is shown with the system's own folders.
pub(crate) fn is_shown(path: &Path) -> bool {
    SHOWN.iter().any(|folder| path.starts_with(folder))
}

/// The certificates that the variables of a program name.
pub fn certificate_mounts<'a>(
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
) -> Vec<Mount> {
    variables
        .into_iter()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            CERTIFICATES.iter().any(|end| name.ends_with(end))
        })
        .map(|(_, value)| PathBuf::from(value))
        .filter(|path| path.is_absolute() && !is_shown(path) && path.exists())
        .map(Mount::read)
        .collect()
}
