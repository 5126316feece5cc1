//! What the machine gives: control groups, watches, a local disk with room, a database that keeps its word.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::CheckContext;
use super::check::Check;
use crate::home;

/// The first SQLite in which two processes that reset one write-ahead log cannot lose each other's pages.
const SQLITE: i32 = 3_051_003;
/// One watch for each live run, and room for the rest of the user's programs.
const WATCHES: u64 = 8192;
const GIB: u64 = 1 << 30;

pub(super) fn checks(site: &CheckContext) -> Vec<Check> {
    let mut checks = vec![control_group(), watches(), sqlite(), sandbox()];
    match &site.state {
        Ok(state) => checks.extend(state_directory(state)),
        Err(trouble) => checks.push(Check::bad("state", &trouble.says, &trouble.fix)),
    }
    checks
}

fn control_group() -> Check {
    let name = "control group";
    // Agents get groups below the one that we are in.
    let parent = musher_runtime::control_group("doctor");
    let parent = parent.as_deref().and_then(Path::parent);
    let usable = |folder: &Path| {
        access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
            && access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    };
    match parent {
        Some(folder) if usable(folder) => Check::ok(name, "every run can have one of its own"),
        Some(_) | None => Check::warn(
            name,
            "none can be made here; runs are ended by descent and mark, which a process that hides well can escape",
            "start the server with `systemd-run --user --scope -p Delegate=yes musher serve`, or as a unit with Delegate=yes",
        ),
    }
}

fn watches() -> Check {
    let limit = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse().ok()
    };
    judge_watches(limit("max_user_instances"), limit("max_user_watches"))
}

fn judge_watches(instances: Option<u64>, watches: Option<u64>) -> Check {
    let name = "inotify";
    let fix = "sudo sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=512";
    match (instances, watches) {
        (Some(instances), Some(watches)) if instances >= 16 && watches >= WATCHES => {
            Check::ok(name, format!("{watches} watches, {instances} instances"))
        }
        (Some(instances), Some(watches)) => Check::warn(
            name,
            format!(
                "only {watches} watches and {instances} instances; without one, events come a second late"
            ),
            fix,
        ),
        (None, _) | (_, None) => Check::warn(
            name,
            "the limits cannot be read; without inotify, events come a second late",
            fix,
        ),
    }
}

fn sqlite() -> Check {
    judge_sqlite(rusqlite::version_number(), rusqlite::version())
}

fn judge_sqlite(number: i32, version: &str) -> Check {
    match number >= SQLITE {
        true => Check::ok("sqlite", format!("version {version}")),
        false => Check::bad(
            "sqlite",
            format!("version {version} can lose pages of the journal"),
            "build Musher with its own SQLite, 3.51.3 or newer",
        ),
    }
}

fn sandbox() -> Check {
    Check::warn(
        "sandbox",
        "agents run with your own rights, so they can read the server's token and every file of yours",
        "run Musher as a user of its own, or in a container",
    )
}

fn state_directory(state: &Path) -> Vec<Check> {
    let mut checks = Vec::new();
    let existing = nearest(state);
    checks.push(match home::network_file_system(&existing) {
        Some(kind) => Check::bad(
            "state",
            format!("{} is on {kind}, where locks and syncs cannot be relied on", state.display()),
            "name a directory on a local disk with --state DIR",
        ),
        None => match access(&existing, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Check::ok("state", format!("{} is on a local disk", state.display())),
            Err(error) => Check::bad(
                "state",
                format!("{} cannot be written to: {error}", existing.display()),
                "make it writable, or name another with --state DIR",
            ),
        },
    });
    if let Ok(disk) = statvfs(&existing) {
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        checks.push(judge_disk(bytes(disk.f_bavail), bytes(disk.f_blocks)));
    }
    checks.extend(token(&state.join("token")));
    checks.extend(notices(state));
    checks
}

fn judge_disk(free: u64, whole: u64) -> Check {
    let gib = free as f64 / GIB as f64;
    let says = format!("{gib:.1} GiB are free");
    let fix = "make room; while a disk is full, agents are paused and nothing is lost";
    match free {
        ..GIB => Check::bad("disk", says, fix),
        _ if free < 5 * GIB || free < whole / 50 => Check::warn("disk", says, fix),
        _ => Check::ok("disk", says),
    }
}

/// What was found to be missing when a server began. It is told until somebody says that it was read.
fn notices(state: &Path) -> Option<Check> {
    let found = home::notices(state);
    let says: Vec<&str> = found.iter().map(|notice| notice.text.as_str()).collect();
    let fix = format!("remove {} when you have read it", home::notices_file(state).display());
    (!says.is_empty()).then(|| Check::warn("journal", says.join("\n"), fix))
}

/// The token must be its owner's alone.
fn token(path: &Path) -> Option<Check> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.symlink_metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        Check::bad(
            "token",
            format!("{} can be read by others (mode {mode:o})", path.display()),
            format!("chmod 600 {0}, or remove it and start the server again", path.display()),
        )
    })
}

/// The folder itself, or the nearest one above it that is there.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|folder| folder.is_dir());
    there.unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckVerdict;
    use super::*;

    #[test]
    fn limits_are_judged_by_what_they_leave() {
        assert_eq!(judge_watches(Some(128), Some(65536)).verdict, CheckVerdict::Ok);
        assert_eq!(judge_watches(Some(128), Some(100)).verdict, CheckVerdict::Warn);
        assert_eq!(judge_watches(None, Some(65536)).verdict, CheckVerdict::Warn);
        assert_eq!(judge_disk(GIB / 2, 100 * GIB).verdict, CheckVerdict::Bad);
        assert_eq!(judge_disk(3 * GIB, 20 * GIB).verdict, CheckVerdict::Warn);
        assert_eq!(judge_disk(10 * GIB, 2000 * GIB).verdict, CheckVerdict::Warn);
        assert_eq!(judge_disk(50 * GIB, 100 * GIB).verdict, CheckVerdict::Ok);
        assert_eq!(judge_sqlite(3_051_002, "3.51.2").verdict, CheckVerdict::Bad);
        assert_eq!(judge_sqlite(rusqlite::version_number(), "").verdict, CheckVerdict::Ok);
    }

    #[test]
    fn a_token_that_others_can_read_is_told() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(token(&path), None);
        std::fs::write(&path, "t").unwrap();
        for (mode, fine) in [(0o600, true), (0o640, false), (0o604, false)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).unwrap();
            assert_eq!(token(&path).is_none(), fine, "{mode:o}");
        }
    }
}
