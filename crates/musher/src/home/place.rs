//! Where a project's state is kept by default, and on which disks it may be.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use musher_os::untrusted;
use sha2::{Digest, Sha256};

use super::HomeError;

/// No file that leads to a repository is longer.
const MAX_POINTER_FILE_BYTES: u64 = 16 << 10;

/// The main checkout of the repository around a folder, as far as the files tell. Whoever stands in a worktree is led
/// to the checkout that it belongs to.
pub fn repository_around(folder: &Path) -> Result<PathBuf, HomeError> {
    let none = || HomeError::NoRepository { path: folder.to_owned() };
    let around = folder.canonicalize().map_err(|_| none())?;
    for folder in around.ancestors() {
        if folder.join(".git").exists() {
            return Ok(main_checkout(folder).unwrap_or_else(|| folder.to_owned()));
        }
        if ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists()) {
            return Err(HomeError::BareRepository { path: folder.to_owned() });
        }
    }
    Err(none())
}

fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let read = |path: PathBuf| {
        let bytes = untrusted::read(&path, MAX_POINTER_FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    let pointer = read(worktree.join(".git"))?;
    let own = worktree.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = read(own.join("commondir"))?;
    let common = own.join(common.trim()).canonicalize().ok()?;
    Some(common.parent()?.to_owned()).filter(|_| common.ends_with(".git"))
}

/// The state directory of the project in this repository, below the user's own state.
pub fn default_for(
    repo: &Path,
    state_home: Option<&OsStr>,
    home: Option<&OsStr>,
) -> Result<PathBuf, HomeError> {
    let given = |value: Option<&OsStr>| value.filter(|text| !text.is_empty()).map(PathBuf::from);
    let base = given(state_home)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(given(home)?.join(".local/state")))
        .ok_or(HomeError::NoPlace)?;
    let name = repo.file_name().map(|name| plain(&name.to_string_lossy())).unwrap_or_default();
    let digest = Sha256::digest(repo.as_os_str().as_encoded_bytes());
    let short: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    Ok(base.join("musher/projects").join(format!("{name}-{short}")))
}

/// A name that people recognise and that is harmless as a part of a path.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "project".to_owned() } else { name.to_owned() }
}

/// The deepest folder of a path that is there, and the path with the links in it followed.
pub(super) fn resolved(path: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    let mut there = path.as_path();
    loop {
        match there.canonicalize() {
            Ok(real) => {
                let whole = missing.iter().rev().fold(real.clone(), |path, part| path.join(part));
                return Ok((real, whole));
            }
            Err(error) => match (there.parent(), there.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    there = parent;
                }
                _ => return Err(error),
            },
        }
    }
}

/// File systems that other machines share, by the numbers that the kernel gives them.
const NETWORK: &[(u32, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
];

/// The kind of network file system that a folder is on, if it is on one.
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(path).ok()?;
    // The kernel's number has 32 bits, in a field whose width differs between machines.
    let number = u32::try_from(found.f_type & 0xffff_ffff).ok()?;
    NETWORK.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_project_has_a_place_of_its_own_that_people_recognise() {
        let place =
            |repo: &str| default_for(Path::new(repo), Some(OsStr::new("/state")), None).unwrap();
        let shop = place("/home/ann/My Shop");
        assert!(shop.starts_with("/state/musher/projects"), "{}", shop.display());
        assert!(shop.to_string_lossy().contains("my-shop-"), "{}", shop.display());
        assert_ne!(shop, place("/home/bob/My Shop"));
        let hostile = place("/x/..\u{1f600}");
        assert!(hostile.to_string_lossy().contains("projects/project-"), "{}", hostile.display());
    }

    #[test]
    fn whoever_stands_in_a_worktree_is_led_to_the_checkout_that_it_belongs_to() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let entry = top.join("main/.git/worktrees/w");
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::write(entry.join("commondir"), "../..\n").unwrap();
        std::fs::create_dir_all(top.join("w/deep")).unwrap();
        std::fs::write(top.join("w/.git"), format!("gitdir: {}\n", entry.display())).unwrap();
        let main = Some(top.join("main"));
        assert_eq!(repository_around(&top.join("w/deep")).ok(), main);
        assert_eq!(repository_around(&top.join("main")).ok(), main);
        let none = repository_around(Path::new("/proc/self"));
        assert!(matches!(none, Err(HomeError::NoRepository { .. })), "{none:?}");
    }

    #[test]
    fn without_any_home_it_says_so() {
        assert!(matches!(default_for(Path::new("/r"), None, None), Err(HomeError::NoPlace)));
    }
}
