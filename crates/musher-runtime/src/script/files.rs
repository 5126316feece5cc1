//! Files that a script writes: inside its folder, or not at all.

use std::path::{Component, Path, PathBuf};

/// Writes a file and makes the folders it needs.
pub(super) fn write(cwd: &Path, path: &str, content: &str) -> Result<String, String> {
    let target = inside(cwd, path)?;
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{path}: {error}"))?;
    }
    std::fs::write(&target, content).map_err(|error| format!("{path}: {error}"))?;
    Ok(format!("wrote {} bytes to {path}", content.len()))
}

/// Replaces a text that occurs exactly once.
pub(super) fn edit(cwd: &Path, path: &str, old: &str, new: &str) -> Result<String, String> {
    let target = inside(cwd, path)?;
    let text = std::fs::read_to_string(&target).map_err(|error| format!("{path}: {error}"))?;
    match text.matches(old).count() {
        0 => Err(format!("{path}: the text to replace was not found")),
        1 => {
            std::fs::write(&target, text.replacen(old, new, 1))
                .map_err(|error| format!("{path}: {error}"))?;
            Ok(format!("edited {path}"))
        }
        many => Err(format!("{path}: the text to replace occurs {many} times; make it unique")),
    }
}

fn inside(cwd: &Path, path: &str) -> Result<PathBuf, String> {
    let relative = Path::new(path).strip_prefix(cwd).unwrap_or(Path::new(path));
    let plain =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || relative.as_os_str().is_empty() {
        return Err(format!("{path}: only paths inside the working folder may be written"));
    }
    let target = cwd.join(relative);
    // A link may lead out, so the nearest folder that exists is looked up on the disk.
    let mut existing = target.as_path();
    while !existing.exists() && !existing.is_symlink() {
        existing = existing.parent().unwrap_or(cwd);
    }
    match existing.canonicalize() {
        Ok(real) if real.starts_with(cwd) => Ok(target),
        Ok(_) | Err(_) => Err(format!("{path}: leads out of the working folder")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_folder_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/tmp", cwd.join("out")).unwrap();
        std::os::unix::fs::symlink("/tmp/musher-dangling", cwd.join("dangling")).unwrap();
        for path in ["../x", "/tmp/x", "out/x", "dangling", "a/../../x", ""] {
            assert!(write(&cwd, path, "x").is_err(), "{path}");
        }
        assert!(write(&cwd, "a/b/c.txt", "x").is_ok());
        assert!(write(&cwd, &cwd.join("d.txt").display().to_string(), "x").is_ok());
        assert!(edit(&cwd, "a/b/c.txt", "x", "y").is_ok());
        assert!(edit(&cwd, "a/b/c.txt", "x", "y").unwrap_err().contains("not found"));
    }
}
