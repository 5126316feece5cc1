//! What every row is given: the programs, a folder on a real disk, and how much effort is wanted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Shared by all rows.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    pub programs: Programs,
    /// Where projects and their state are made.
    pub folder: PathBuf,
    /// Where pictures go, if any are wanted.
    pub plots: Option<PathBuf>,
    pub rounds: usize,
    pub effort: Effort,
    /// How many files this process and a server may open.
    pub files: usize,
}

impl Setup {
    /// For what is not measured: the programs beside this one, for release or not, and a folder beside them if none is named.
    pub fn unmeasured(folder: Option<PathBuf>) -> anyhow::Result<Self> {
        let programs = Programs::built()?;
        let folder = folder.unwrap_or_else(|| programs.bench.with_file_name("bench-state"));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self { programs, folder, files: open_many_files()?, ..Self::default() })
    }
}

/// How much work a row makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    #[default]
    Whole,
    /// A tenth of it, to see that it works; bars are judged all the same.
    Quick,
}

impl Effort {
    /// So many of something that there are so many of in a whole measurement.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Whole => whole,
            Self::Quick => (whole / 10).max(1),
        }
    }
}

/// The programs that are measured, and those that keep them busy, all built for release.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    pub musher: PathBuf,
    pub worker: PathBuf,
    pub fake: PathBuf,
    pub model: PathBuf,
    /// This program, which plays the baselines.
    pub bench: PathBuf,
}

/// Whether the programs are built first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    Now,
    /// Whatever is there is taken.
    Before,
}

impl Programs {
    /// The programs beside this one.
    pub fn find(build: Build) -> anyhow::Result<Self> {
        let bench = std::env::current_exe().context("finding this program")?;
        let folder = bench.parent().context("this program is in no folder")?;
        let target = folder.parent().filter(|_| folder.ends_with("release"));
        let Some(target) = target else {
            bail!(
                "{} is no release build, and only those are measured: \
                 `cargo run --release -p musher-bench`",
                bench.display()
            );
        };
        if build == Build::Now {
            make(target)?;
        }
        Self::beside(bench)
    }

    /// The programs that were built together with this one, for release or not.
    pub fn built() -> anyhow::Result<Self> {
        Self::beside(std::env::current_exe().context("finding this program")?)
    }

    fn beside(bench: PathBuf) -> anyhow::Result<Self> {
        let folder = bench.parent().context("this program is in no folder")?;
        let found = |name: &str| {
            let path = folder.join(name);
            ensure!(
                path.is_file(),
                "{} is missing: build it as this program was built, with `-p musher -p musher-testkit --bins`",
                path.display()
            );
            Ok(path)
        };
        Ok(Self {
            musher: found("musher")?,
            worker: found("worker-agent")?,
            fake: found("fake-agent")?,
            model: found("scripted-model")?,
            bench,
        })
    }
}

/// Builds what is measured into the folder in which this program was built.
fn make(target: &Path) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--locked", "-p", "musher", "-p", "musher-testkit", "--bins"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .env("CARGO_TARGET_DIR", target)
        .status()
        .context("starting cargo; with --no-build the programs that are there are measured")?;
    ensure!(built.success(), "what is to be measured could not be built");
    Ok(())
}

/// Both ends of every connection need a file handle, here and in the server, which inherits the limit.
pub fn open_many_files() -> anyhow::Result<usize> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(limit.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)))
}
