//! Paths in rules: relative patterns speak of the working folder, absolute ones of the whole disk.

use super::wildcard::{self, Star};

/// Whether `subject` fits the pattern once both are plain paths. A path that climbs out of the working folder with
/// `..` is outside of it, and no relative pattern fits it.
pub(super) fn matches(pattern: &str, subject: &str, cwd: &str) -> bool {
    let absolute = if subject.starts_with('/') {
        normal(subject)
    } else {
        normal(&format!("{cwd}/{subject}"))
    };
    if pattern.starts_with('/') {
        return fits(pattern, &absolute);
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let cwd = normal(cwd);
    let inside = if absolute == cwd { Some(".") } else { strip_folder(&absolute, &cwd) };
    inside.is_some_and(|inside| pattern == "**" || fits(pattern, inside))
}

/// `x/**` is everything in `x`, and `x` itself.
fn fits(pattern: &str, path: &str) -> bool {
    wildcard::matches(pattern, path, Star::WithinFolder)
        || pattern
            .strip_suffix("/**")
            .is_some_and(|folder| wildcard::matches(folder, path, Star::WithinFolder))
}

fn strip_folder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return path.strip_prefix('/');
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
