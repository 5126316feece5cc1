//! What the machine gives: control groups, watches, a local disk with room, a database that keeps its word.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::DiagnosticContext;
use super::diagnostic::Diagnostic;
use crate::home;

/// The first SQLite in which two processes that reset one write-ahead log cannot lose each other's pages.
const SQLITE: i32 = 3_051_003;
/// One watch for each live run, and room for the rest of the user's programs.
const WATCHES: u64 = 8192;
const GIB: u64 = 1 << 30;

pub(super) fn diagnose(site: &DiagnosticContext) -> Vec<Diagnostic> {
    let mut diagnostics = vec![control_group(), watches(), sqlite()];
    match &site.state {
        Ok(state) => diagnostics.extend(state_directory(state)),
        Err(trouble) => diagnostics.push(Diagnostic::bad("state", &trouble.says, &trouble.fix)),
    }
    diagnostics
}

fn control_group() -> Diagnostic {
    let name = "control group";
    // Agents get groups below the one that we are in.
    let parent = musher_runtime::control_group("doctor");
    let parent = parent.as_deref().and_then(Path::parent);
    let usable = |folder: &Path| {
        access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
            && access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    };
    match parent {
        Some(folder) if usable(folder) => Diagnostic::ok(name, "every run can have one of its own"),
        Some(_) | None => Diagnostic::warn(
            name,
            "none can be made here; runs are ended by descent and mark, which a process that hides well can escape",
            "start the server with `systemd-run --user --scope -p Delegate=yes musher serve`, or as a unit with Delegate=yes",
        ),
    }
}

fn watches() -> Diagnostic {
    let limit = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse().ok()
    };
    judge_watches(limit("max_user_instances"), limit("max_user_watches"))
}

fn judge_watches(instances: Option<u64>, watches: Option<u64>) -> Diagnostic {
    let name = "inotify";
    let fix = "sudo sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=512";
    match (instances, watches) {
        (Some(instances), Some(watches)) if instances >= 16 && watches >= WATCHES => {
            Diagnostic::ok(name, format!("{watches} watches, {instances} instances"))
        }
        (Some(instances), Some(watches)) => Diagnostic::warn(
            name,
            format!(
                "only {watches} watches and {instances} instances; without one, events come a second late"
            ),
            fix,
        ),
        (None, _) | (_, None) => Diagnostic::warn(
            name,
            "the limits cannot be read; without inotify, events come a second late",
            fix,
        ),
    }
}

fn sqlite() -> Diagnostic {
    judge_sqlite(rusqlite::version_number(), rusqlite::version())
}

fn judge_sqlite(number: i32, version: &str) -> Diagnostic {
    match number >= SQLITE {
        true => Diagnostic::ok("sqlite", format!("version {version}")),
        false => Diagnostic::bad(
            "sqlite",
            format!("version {version} can lose pages of the journal"),
            "build Musher with its own SQLite, 3.51.3 or newer",
        ),
    }
}

fn state_directory(state: &Path) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let existing = nearest(state);
    diagnostics.push(match home::network_file_system(&existing) {
        Some(kind) => Diagnostic::bad(
            "state",
            format!("{} is on {kind}, where locks and syncs cannot be relied on", state.display()),
            "name a directory on a local disk with --state DIR",
        ),
        None => match access(&existing, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Diagnostic::ok("state", format!("{} is on a local disk", state.display())),
            Err(error) => Diagnostic::bad(
                "state",
                format!("{} cannot be written to: {error}", existing.display()),
                "make it writable, or name another with --state DIR",
            ),
        },
    });
    if let Ok(disk) = statvfs(&existing) {
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        diagnostics.push(judge_disk(bytes(disk.f_bavail), bytes(disk.f_blocks)));
    }
    diagnostics.extend(token(&state.join("token")));
    diagnostics.extend(notices(state));
    diagnostics
}

fn judge_disk(free: u64, whole: u64) -> Diagnostic {
    let gib = free as f64 / GIB as f64;
    let says = format!("{gib:.1} GiB are free");
    let fix = "make room; while a disk is full, agents are paused and nothing is lost";
    match free {
        ..GIB => Diagnostic::bad("disk", says, fix),
        _ if free < 5 * GIB || free < whole / 50 => Diagnostic::warn("disk", says, fix),
        _ => Diagnostic::ok("disk", says),
    }
}

/// What was found to be missing when a server began. It is told until somebody says that it was read.
fn notices(state: &Path) -> Option<Diagnostic> {
    let found = home::notices(state);
    let says: Vec<&str> = found.iter().map(|notice| notice.text.as_str()).collect();
    let fix = format!("remove {} when you have read it", home::notices_file(state).display());
    (!says.is_empty()).then(|| Diagnostic::warn("journal", says.join("\n"), fix))
}

/// The token must be its owner's alone.
fn token(path: &Path) -> Option<Diagnostic> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.symlink_metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        Diagnostic::bad(
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
    use super::super::diagnostic::DiagnosticVerdict;
    use super::*;

    #[test]
    fn limits_are_judged_by_what_they_leave() {
        assert_eq!(judge_watches(Some(128), Some(65536)).verdict, DiagnosticVerdict::Ok);
        assert_eq!(judge_watches(Some(128), Some(100)).verdict, DiagnosticVerdict::Warn);
        assert_eq!(judge_watches(None, Some(65536)).verdict, DiagnosticVerdict::Warn);
        assert_eq!(judge_disk(GIB / 2, 100 * GIB).verdict, DiagnosticVerdict::Bad);
        assert_eq!(judge_disk(3 * GIB, 20 * GIB).verdict, DiagnosticVerdict::Warn);
        assert_eq!(judge_disk(10 * GIB, 2000 * GIB).verdict, DiagnosticVerdict::Warn);
        assert_eq!(judge_disk(50 * GIB, 100 * GIB).verdict, DiagnosticVerdict::Ok);
        assert_eq!(judge_sqlite(3_051_002, "3.51.2").verdict, DiagnosticVerdict::Bad);
        assert_eq!(judge_sqlite(rusqlite::version_number(), "").verdict, DiagnosticVerdict::Ok);
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
