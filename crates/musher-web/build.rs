//! Puts the web UI into `$OUT_DIR/dist`: a built one if it is given, else built with Node, else a page that says how.
//!
//! `$OUT_DIR/files.rs` then names every file of it, for the library to embed.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest versions that can build it.
const NODE: (u32, u32) = (20, 19);
const NPM: (u32, u32) = (10, 0);
/// What the bundler needs; tests and their tools are none of it.
const SOURCES: &[&str] =
    &["build.mjs", "index.html", "package.json", "package-lock.json", "tsconfig.json", "src"];

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(variable("OUT_DIR").unwrap_or_default());
    let dist = out.join("dist");
    for name in ["MUSHER_WEB_DIST", "CARGO_NET_OFFLINE", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if dist.exists() {
        fs::remove_dir_all(&dist)?;
    }
    fs::create_dir_all(&dist)?;
    fill(&manifest, &out, &dist)?;
    fs::write(out.join("files.rs"), table(&dist)?)
}

fn fill(manifest: &Path, out: &Path, dist: &Path) -> io::Result<()> {
    let given = variable("MUSHER_WEB_DIST").map(PathBuf::from);
    let packaged = manifest.join("dist");
    if let Some(built) = given.or_else(|| packaged.exists().then_some(packaged)) {
        watch(&built);
        return match built.join("index.html").exists() {
            true => copy(&built, dist),
            false => explain(dist, &format!("{} has no index.html", built.display())),
        };
    }
    let web = manifest.join("../../web");
    for source in SOURCES {
        watch(&web.join(source));
    }
    match bundle(&web, &out.join("web"), dist) {
        Ok(()) => Ok(()),
        Err(why) => {
            fs::remove_dir_all(dist)?;
            fs::create_dir_all(dist)?;
            explain(dist, &why)
        }
    }
}

/// Builds with Node in a folder of cargo's own, so that the sources stay as they are and no two builds meet.
fn bundle(web: &Path, work: &Path, dist: &Path) -> Result<(), String> {
    if !web.join("package-lock.json").exists() {
        return Err("the sources of the web UI are not here".into());
    }
    at_least("node", NODE)?;
    let failed = |error: io::Error| format!("{} could not be prepared: {error}", work.display());
    fs::create_dir_all(work).map_err(failed)?;
    for source in SOURCES {
        let copy_to = work.join(source);
        if copy_to.is_dir() {
            fs::remove_dir_all(&copy_to).map_err(failed)?;
        }
        copy(&web.join(source), &copy_to).map_err(failed)?;
    }
    install(work)?;
    run(program("node").arg("build.mjs").arg(dist).current_dir(work))
}

/// The packages of the lock file. They stay until it changes.
fn install(work: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("the packages could not be looked at: {error}");
    let lock = fs::read(work.join("package-lock.json")).map_err(failed)?;
    let (modules, stamp) = (work.join("node_modules"), work.join("installed-lock.json"));
    if modules.is_dir() && fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    for name in ["CARGO_NET_OFFLINE", "DOCS_RS"] {
        if variable(name).is_some_and(|value| value != "false" && value != "0") {
            return Err(format!("{name} forbids fetching the packages that it is built with"));
        }
    }
    at_least("npm", NPM)?;
    // What is left of an install that was never finished.
    let _absent = fs::remove_file(&stamp);
    let arguments =
        ["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier"];
    run(program("npm").args(arguments).current_dir(work))?;
    fs::write(&stamp, lock).map_err(failed)
}

fn at_least(name: &str, oldest: (u32, u32)) -> Result<(), String> {
    let told = program(name).arg("--version").stdin(Stdio::null()).output();
    let told = told.map_err(|_| format!("{name} was not found"))?;
    let text = String::from_utf8_lossy(&told.stdout);
    let mut numbers =
        text.trim().trim_start_matches('v').split('.').map(|n| n.parse().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match found >= oldest {
        true => Ok(()),
        false => {
            let (major, minor) = oldest;
            Err(format!("{name} {major}.{minor} or newer is needed, and this is {}", text.trim()))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build has no sessions, and its programs end with it"
)]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// Runs a program to its end; what it said last is the cause when it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let told = command.stdin(Stdio::null()).output();
    let told = told.map_err(|error| format!("{name} could not be started: {error}"))?;
    if told.status.success() {
        return Ok(());
    }
    let said = [told.stdout, told.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n");
    Err(format!("{name} failed ({}):\n{last}", told.status))
}

/// One page in the place of the UI. The server and the command line work without it.
fn explain(dist: &Path, why: &str) -> io::Result<()> {
    for line in why.lines() {
        println!("cargo:warning=the web UI is not in this build: {line}");
    }
    let why = why.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let page = include_str!("src/explain.html").replace("%WHY%", &why);
    fs::write(dist.join("index.html"), page)
}

/// The files as Rust: a list by path, each with its bytes and a hash of them.
fn table(dist: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    list(dist, "", &mut files)?;
    files.sort();
    let mut text = "&[\n".to_owned();
    for (path, file) in files {
        let mut hash = DefaultHasher::new();
        hash.write(&fs::read(&file)?);
        let hash = hash.finish();
        // Writing to a string cannot fail.
        let _infallible = writeln!(
            text,
            "    ({path:?}, \"{hash:016x}\", include_bytes!({:?})),",
            file.display().to_string()
        );
    }
    text.push_str("]\n");
    Ok(text)
}

fn list(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{path}/"), files)?,
            false => files.push((path, entry.path())),
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn watch(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

#[expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by variables")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
