//! The command, started in a place of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

/// A fresh home and a fresh folder.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) work: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap(), work: TempDir::new().unwrap() }
    }

    /// A place whose folder is a repository with one commit.
    pub(crate) fn repository() -> Self {
        let place = Self::new();
        std::fs::write(place.work.path().join("README"), "hello\n").unwrap();
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["add", "."]);
        place.git(&["commit", "-qm", "first"]);
        place
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@t"])
            .args(args)
            .current_dir(self.work.path())
            .env("HOME", self.home.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn project_file(&self) -> PathBuf {
        self.work.path().join(".musher/project.toml")
    }

    /// `musher` with the given arguments and nothing of the tests' environment.
    pub(crate) fn musher(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_musher"));
        command
            .args(args)
            .current_dir(self.work.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.musher(args).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .musher(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its arguments does not read its input.
        let _closed = child.stdin.take().unwrap().write_all(input);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// A script for the `script` runtime.
    pub(crate) fn script(&self, steps: &str) -> String {
        let path = self.home.path().join("script.toml");
        std::fs::write(&path, steps).unwrap();
        path.display().to_string()
    }

    /// A shell script that can be run as a program.
    pub(crate) fn program(&self, body: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.home.path().join("program");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Every line of output as JSON.
    pub(crate) fn lines(&self) -> Vec<Json> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// The events, without the deltas.
    pub(crate) fn events(&self) -> Vec<Json> {
        self.lines().into_iter().filter(|line| line.get("seq").is_some()).collect()
    }
}

pub(crate) fn fake_agent() -> PathBuf {
    musher_testkit::programs::fake_agent().unwrap()
}

pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
