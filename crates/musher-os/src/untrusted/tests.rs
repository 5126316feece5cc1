//! Whatever stands under a name, it is read as a plain file or refused as what it is, at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use super::*;

fn pipe(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    /// A folder with one of everything.
    fn new() -> Self {
        let rig = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(rig.at("file"), "text").unwrap();
        fs::create_dir(rig.at("folder")).unwrap();
        fs::write(rig.at("folder/inside"), "inside").unwrap();
        symlink("file", rig.at("link")).unwrap();
        symlink("folder", rig.at("way")).unwrap();
        symlink("/dev/zero", rig.at("endless")).unwrap();
        pipe(&rig.at("pipe"));
        drop(UnixListener::bind(rig.at("socket")).unwrap());
        File::create(rig.at("huge")).unwrap().set_len(100 << 30).unwrap();
        rig
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }
}

#[test]
fn only_a_plain_file_of_a_fitting_length_is_read_and_nothing_is_waited_for() {
    let rig = Rig::new();
    assert_eq!(read(&rig.at("file"), 4).unwrap(), b"text");
    assert!(matches!(read(&rig.at("file"), 3), Err(Unfit::TooLong { most: 3, .. })));
    assert!(matches!(read(&rig.at("huge"), 1 << 20), Err(Unfit::TooLong { .. })));
    assert!(read(&rig.at("none"), 9).unwrap_err().is_missing());
    assert!(read(&rig.at("file/below"), 9).unwrap_err().is_missing());
    assert_eq!(read_if_there(&rig.at("none"), 9).unwrap(), None);
    let odd = [
        ("folder", Kind::Folder),
        ("link", Kind::Link),
        ("endless", Kind::Link),
        ("pipe", Kind::Pipe),
        ("socket", Kind::Socket),
    ];
    for (name, expected) in odd {
        let error = read(&rig.at(name), 9).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, Unfit::Odd { kind, .. } if kind == expected), "{told}");
        assert!(told.contains(name) && told.contains("remove it"), "{told}");
        let error = open_or_make(&rig.at(name), Mode::RUSR | Mode::WUSR).unwrap_err();
        assert!(matches!(error, Unfit::Odd { kind, .. } if kind == expected), "{error}");
    }
    let device = read(Path::new("/dev/zero"), 9).unwrap_err();
    assert!(matches!(device, Unfit::Odd { kind: Kind::Device, .. }), "{device}");
}

#[test]
fn a_folder_is_reached_only_without_links() {
    let rig = Rig::new();
    assert!(folder(&rig.at("folder")).is_ok());
    for (name, said) in [("way", "a link"), ("pipe", "a pipe"), ("file", "a file")] {
        let told = folder(&rig.at(name)).unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }
    fs::create_dir(rig.at("folder/deep")).unwrap();
    let told = folder(&rig.at("way/deep")).unwrap_err().to_string();
    assert!(told.contains("led elsewhere"), "{told}");
    assert!(folder(&rig.at("none")).unwrap_err().is_missing());
}

#[test]
fn what_lies_beneath_a_folder_is_read_and_nothing_else() {
    let rig = Rig::new();
    fs::write(rig.at("secret"), "secret").unwrap();
    symlink("../secret", rig.at("folder/out")).unwrap();
    symlink("inside", rig.at("folder/in")).unwrap();
    pipe(&rig.at("folder/pipe"));
    let top = rig.at("folder");
    let read = |name: &str, links| read_beneath(&top, Path::new(name), links, 99);
    assert_eq!(read("in", Links::Follow).unwrap(), b"inside");
    assert!(read("in", Links::Refuse).is_err());
    for name in ["out", "../secret", "/etc/passwd"] {
        let told = read(name, Links::Follow).unwrap_err();
        assert!(matches!(told, Unfit::Led { .. }), "{told}");
    }
    assert!(matches!(read("pipe", Links::Follow), Err(Unfit::Odd { kind: Kind::Pipe, .. })));
}

#[test]
fn a_file_is_put_in_the_place_of_anything_and_a_second_name_of_it_keeps_its_bytes() {
    let rig = Rig::new();
    fs::hard_link(rig.at("file"), rig.at("second")).unwrap();
    for name in ["second", "link", "pipe", "socket"] {
        replace(&rig.at(name), b"new").unwrap();
        assert_eq!(read(&rig.at(name), 9).unwrap(), b"new");
    }
    assert_eq!(fs::read(rig.at("file")).unwrap(), b"text");
    assert!(create(&rig.at("file")).is_err() && create(&rig.at("endless")).is_err());
}
