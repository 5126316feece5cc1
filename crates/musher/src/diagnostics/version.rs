//! The version of an installed program, read from what stands beside it; nothing is run.

use std::path::Path;

use serde::Deserialize;

/// How far above a program its package may begin.
const STEPS: usize = 4;
/// No manifest of a package is longer.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// The version, if the installation tells it.
pub(crate) fn version_of(program: &Path) -> Option<String> {
    let real = program.canonicalize().ok()?;
    // Some installers name the program itself after its version.
    let name = real.file_name()?.to_str()?;
    if is_version(name) {
        return Some(name.to_owned());
    }
    real.ancestors().skip(1).take(STEPS).find_map(of_package)
}

fn of_package(folder: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let path = folder.join("package.json");
    if path.metadata().ok()?.len() > MAX_MANIFEST_BYTES {
        return None;
    }
    let package: Package = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    is_version(&package.version).then_some(package.version)
}

/// Three numbers, and perhaps more after them.
fn is_version(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_graphic());
    let mut parts = text.splitn(3, '.');
    let (major, minor) = (parts.next(), parts.next());
    let rest = parts.next().is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    plain && rest && major.is_some_and(number) && minor.is_some_and(number)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_version_is_told_by_the_package_or_by_the_name_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("lib/node_modules/agent");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(package.join("package.json"), r#"{"name":"agent","version":"2.1.3"}"#).unwrap();
        fs::write(package.join("bin/cli.js"), "").unwrap();
        let link = folder.path().join("agent");
        symlink(package.join("bin/cli.js"), &link).unwrap();
        assert_eq!(version_of(&link).as_deref(), Some("2.1.3"));
        let native = folder.path().join("3.0.1-beta");
        fs::write(&native, "").unwrap();
        assert_eq!(version_of(&native).as_deref(), Some("3.0.1-beta"));
        fs::write(package.join("package.json"), r#"{"version":"\u001b[2J1.2.3"}"#).unwrap();
        assert_eq!(version_of(&link), None);
        assert_eq!(version_of(Path::new("/no/such")), None);
    }
}
