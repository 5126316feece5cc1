//! The same attempts by an ordinary user, where the tests run as the superuser.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// The variable that names a copy of the program under test which the user can start.
pub(crate) const COPY: &str = "MUSHER_SANDBOX_COPY";
/// A user that no machine has.
const USER: u32 = 54_321;

#[test]
fn everything_holds_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        // Then all other tests have shown it.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(USER), Some(USER)).unwrap();
    let copy = |from: &std::path::Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let musher = copy(env!("CARGO_BIN_EXE_musher").as_ref(), "musher");
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let user = USER.to_string();
    let ran = Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"])
        .arg(&tests)
        .args(["--test-threads", "4"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", &own)
        .env("TMPDIR", &own)
        .env(COPY, &musher)
        .current_dir(&own)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(told.contains("test result: ok"), "{told}");
}
