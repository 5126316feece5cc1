//! Disks of their own for tests: small ones that fill up, one whose power can be cut, one that cannot be written.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::rig::Project;

/// Something that is mounted, for as long as this lives.
pub(crate) struct Mount {
    at: PathBuf,
}

impl Mount {
    /// Mounts something, if this machine lets us.
    pub(crate) fn new(at: &Path, args: &[&str]) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount").args(args).arg(at).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self { at: at.to_owned() }),
            Ok(_) | Err(_) => None,
        }
    }

    /// A disk in a file of this folder, with a file system that keeps a log of its own.
    pub(crate) fn image(top: &Path) -> Option<Self> {
        let image = top.join("image");
        File::create(&image).unwrap().set_len(96 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
        made.ok().filter(|made| made.status.success())?;
        Self::of_image(top, &image)
    }

    /// The same disk again, as a copy: another process that has its own view of all mounts may still hold the one whose power was cut,
    /// and the system would hand that one out again.
    pub(crate) fn again(top: &Path) -> Option<Self> {
        let (image, copy) = (top.join("image"), top.join("image-again"));
        fs::copy(&image, &copy).unwrap();
        Self::of_image(top, &copy)
    }

    fn of_image(top: &Path, image: &Path) -> Option<Self> {
        Self::new(&top.join("disk"), &["-o", "loop", &image.display().to_string()])
    }

    /// Lets nobody write to it any more.
    pub(crate) fn make_read_only(&self) -> bool {
        let mut mount = Command::new("mount");
        let remounted = mount.args(["-o", "remount,bind,ro"]).arg(&self.at).output();
        remounted.is_ok_and(|output| output.status.success())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    /// Cuts its power: from now on nothing reaches it, and what has not reached it is gone.
    pub(crate) fn cut_power(&self) {
        // The number of the call is made of `X`, 125 and the size of what is given, which says "keep nothing back".
        let cut =
            "$how = pack('L', 2); open(F, '<', $ARGV[0]) && ioctl(F, 0x8004587d, $how) or die $!";
        let output = Command::new("perl").args(["-e", cut]).arg(&self.at).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{why}");
    }

    /// Takes it away, after everybody who uses it is dead.
    pub(crate) fn unmount(self) {
        let began = Instant::now();
        loop {
            let output = Command::new("umount").arg(&self.at).output().unwrap();
            if output.status.success() {
                std::mem::forget(self);
                return;
            }
            let why = String::from_utf8_lossy(&output.stderr);
            kill_users(&self.at);
            assert!(began.elapsed() < Duration::from_secs(5), "{why}{:?}", users(&self.at));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// Kills every process that uses a folder.
pub(crate) fn kill_users(folder: &Path) {
    for pid in users(folder) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // It may have ended by itself.
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The processes that stand in a folder, run a program from it or have a file in it open.
fn users(folder: &Path) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let files = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        let files = files.map(|file| file.path());
        let links = ["cwd", "exe"].into_iter().map(|link| entry.path().join(link)).chain(files);
        let uses = |link: PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(folder));
        links.into_iter().any(uses).then_some(pid)
    });
    processes.filter(|pid| *pid != own).collect()
}

impl Project {
    /// Puts the state on a disk in memory with these options, such as `size=4m`. The program's own copy, which is
    /// large in a build for tests, lies elsewhere.
    pub(crate) fn state_on_small_disk(&mut self, options: &str) -> bool {
        let args = ["-t", "tmpfs", "-o", options, "musher-test"];
        let mounted = Mount::new(&self.state(), &args);
        let is_mounted = mounted.is_some();
        self.mounts.extend(mounted);
        if is_mounted {
            self.program_elsewhere();
        } else {
            println!("no small disk could be mounted; calls are made to fail instead");
        }
        is_mounted
    }

    /// Keeps the copy of the program off the disk that holds the state.
    pub(crate) fn program_elsewhere(&self) {
        let place = self.top().join("bin");
        fs::create_dir_all(&place).unwrap();
        std::os::unix::fs::symlink(place, self.state().join("bin")).unwrap();
    }

    /// Fills the disk that holds the state to its last byte.
    pub(crate) fn fill_disk(&self) {
        let mut filler = File::create(self.state().join("filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
        while filler.write_all(&[1]).is_ok() {}
    }

    /// Uses up every name that the disk can hold.
    pub(crate) fn fill_names(&self) {
        let folder = self.state().join("filler");
        fs::create_dir(&folder).unwrap();
        for n in 0.. {
            if File::create(folder.join(n.to_string())).is_err() {
                return;
            }
        }
    }

    /// Takes away what filled the disk.
    pub(crate) fn make_room(&self) {
        let filler = self.state().join("filler");
        match filler.is_dir() {
            true => fs::remove_dir_all(filler).unwrap(),
            false => fs::remove_file(filler).unwrap(),
        }
    }
}
