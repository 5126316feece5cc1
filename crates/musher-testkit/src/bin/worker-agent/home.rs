//! What outlives the process: its sessions, and the record of its starts and effects.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The digits of the number of lines, at the start of a session's file.
const DIGITS: usize = 20;

/// The folder in which all is kept, if there is one.
#[derive(Debug)]
pub(crate) struct Home {
    folder: Option<PathBuf>,
}

/// What a session remembers.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    file: Option<File>,
    /// How many lines were said.
    pub(crate) lines: u64,
    /// What was spent, by model.
    pub(crate) totals: BTreeMap<String, Spent>,
}

#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cost: f64,
}

impl Home {
    pub(crate) fn open(folder: Option<PathBuf>) -> io::Result<Self> {
        if let Some(folder) = &folder {
            fs::create_dir_all(folder.join("sessions"))?;
        }
        Ok(Self { folder })
    }

    pub(crate) fn started(&self, session: &str) -> io::Result<()> {
        if self.folder.is_none() {
            return Ok(());
        }
        let stat = fs::read_to_string("/proc/self/stat")?;
        let after_name = stat.rsplit_once(')').map(|(_, rest)| rest);
        let time = after_name.and_then(|rest| rest.split_whitespace().nth(19)).unwrap_or("0");
        self.append("starts", &format!("{} {time} {session}", std::process::id()))
    }

    /// Adds a line in one write, so that many processes can share the file.
    pub(crate) fn append(&self, name: &str, line: &str) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut file = OpenOptions::new().append(true).create(true).open(folder.join(name))?;
        file.write_all(format!("{line}\n").as_bytes())
    }

    pub(crate) fn knows(&self, session: &str) -> bool {
        self.file_of(session).is_some_and(|path| path.is_file())
    }

    pub(crate) fn new_session(&self) -> Memory {
        Memory::default()
    }

    /// What is remembered of a session; nothing if it is unknown.
    pub(crate) fn recall(&self, session: &str) -> io::Result<Option<Memory>> {
        if self.folder.is_none() {
            return Ok(Some(Memory::default()));
        }
        let Some(path) = self.file_of(session).filter(|path| path.is_file()) else {
            return Ok(None);
        };
        let text = fs::read_to_string(path)?;
        let mut parts = text.lines();
        let lines = parts.next().and_then(|lines| lines.parse().ok()).unwrap_or(0);
        let totals = parts.next().and_then(|totals| serde_json::from_str(totals).ok());
        Ok(Some(Memory { file: None, lines, totals: totals.unwrap_or_default() }))
    }

    /// Makes a session known under its id. The real agent does so with its first prompt.
    pub(crate) fn remember(&self, session: &str, memory: &mut Memory) -> io::Result<()> {
        if memory.file.is_none()
            && let Some(path) = self.file_of(session)
        {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            memory.file = Some(file);
            memory.keep()?;
        }
        Ok(())
    }

    /// An id that is no plain name is never looked up: it could lead anywhere.
    fn file_of(&self, session: &str) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = !session.is_empty() && session.len() < 200 && session.chars().all(plain);
        let folder: &Path = self.folder.as_deref().filter(|_| is_name)?;
        Some(folder.join("sessions").join(session))
    }
}

impl Memory {
    /// Counts a line that was said. It is said first, so that a kill between the two makes it come twice, never get lost.
    pub(crate) fn count_line(&mut self) -> io::Result<()> {
        self.lines += 1;
        match &self.file {
            Some(file) => file.write_all_at(format!("{:0DIGITS$}\n", self.lines).as_bytes(), 0),
            None => Ok(()),
        }
    }

    /// Writes down all of it. Whatever an earlier version left behind the second line is never read.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let totals = serde_json::to_string(&self.totals)?;
        file.write_all_at(format!("{:0DIGITS$}\n{totals}\n", self.lines).as_bytes(), 0)
    }
}
