//! Paths in rules: relative patterns speak of the working folder, absolute ones of the whole disk.

use super::order::is_literal;
use super::wildcard::{self, Star};

/// Whether `subject` fits the pattern once both are plain paths. A path that climbs out of the working folder with
/// `..` is outside of it, and no relative pattern fits it.
pub(super) fn matches(pattern: &str, subject: &str, cwd: &str) -> bool {
    if pattern.starts_with('/') {
        return fits(pattern, &absolute(subject, cwd));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    match placed(subject, cwd) {
        Where::Inside(inside) => pattern == "**" || fits(pattern, &inside),
        Where::Outside(_) => false,
    }
}

/// Whether a pattern fits every path that another one fits.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    let plain = |pattern: &str| pattern.strip_prefix("./").unwrap_or(pattern).to_owned();
    let (wide, narrow) = (plain(wide), plain(narrow));
    if wide == "/**" || wide == narrow {
        return true;
    }
    // One that speaks of the disk and one that speaks of the working folder are not compared.
    if wide.starts_with('/') != narrow.starts_with('/') {
        return false;
    }
    if wide == "**" {
        return true;
    }
    let folder = wide.strip_suffix("/**").filter(|folder| is_literal(folder));
    let beneath = folder.is_some_and(|folder| {
        narrow == folder || narrow.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    });
    beneath || (is_literal(&narrow) && fits(&wide, &narrow))
}

/// Whether a path inside a folder fits a pattern that speaks of that folder.
pub fn path_fits(pattern: &str, path: &str) -> bool {
    fits(pattern, path)
}

/// Where a path leads, as a plain path.
#[derive(Debug)]
pub(super) enum Where {
    /// As seen from the working folder.
    Inside(String),
    /// As seen from the top of the disk.
    Outside(String),
}

pub(super) fn placed(subject: &str, cwd: &str) -> Where {
    let (absolute, cwd) = (absolute(subject, cwd), normal(cwd));
    let inside = if absolute == cwd { Some(".") } else { strip_folder(&absolute, &cwd) };
    match inside.map(str::to_owned) {
        Some(inside) => Where::Inside(inside),
        None => Where::Outside(absolute),
    }
}

fn absolute(subject: &str, cwd: &str) -> String {
    match subject.starts_with('/') {
        true => normal(subject),
        false => normal(&format!("{cwd}/{subject}")),
    }
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
