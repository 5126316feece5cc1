//! Finds what would hold up a git: pipes, devices, links and the like in the place of files that git opens.
//!
//! Git opens its files without a look at what they are, and a pipe without a writer holds it for ever. The few files of
//! a checkout are looked at before each call. The many (references, objects, patterns in any folder of a worktree) are
//! searched when a call takes longer than a call does; what is found ends it, with words that name the thing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use musher_os::untrusted::{self, Kind, Unfit};

use super::error::GitError;
use super::{Checkout, Git};

/// The first search begins when a call has taken this long, and each further one after twice as long.
const FIRST_SEARCH_DELAY: Duration = Duration::from_millis(400);
const MAX_SEARCH_DELAY: Duration = Duration::from_secs(60);
/// How many finds are told or cleared at once.
const MAX_ODD_FILES: usize = 100;
/// How many names a search looks at; a folder with more of them is not searched to its end.
const MAX_SEARCHED_NAMES: usize = 4_000_000;

/// The files that git opens in its folder of a checkout, and how long each can be.
const OWN: &[(&str, u64)] = &[("HEAD", 64 << 10), ("index", 2 << 30)];
/// Those that it also appends to, however long they are.
const APPENDED: &[&str] = &["logs/HEAD"];
/// The files that all checkouts share. The person may have put links in their place.
const SHARED: &[&str] = &["HEAD", "packed-refs", "objects/info/alternates"];
/// The files that git opens wherever they are in a worktree.
const ANYWHERE: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];
/// What git opens beneath the folder that all checkouts share. Entries of other worktrees are not among it, because no
/// agent may hold up another with what it puts into its own.
const BENEATH: &[&str] = &["refs", "logs", "objects", "reftable"];
/// How long a process is looked at to see that it does nothing.
const IDLE_CHECK_DURATION: Duration = Duration::from_millis(200);

/// Where a call of git opens files.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) common: PathBuf,
    /// The checkout's own folder of git, if the call has one.
    pub(super) git_dir: Option<PathBuf>,
    /// The files of the checkout, if the call looks at them.
    pub(super) files: Option<PathBuf>,
}

impl Places {
    /// Refuses places in which git would hang at once.
    pub(super) fn check(&self) -> Result<(), GitError> {
        for name in SHARED {
            let path = self.common.join(name);
            // A link is followed to its end, and what is there is not opened.
            let found = fs::metadata(&path).map(|about| Kind::of(&about));
            if let Ok(kind) = found
                && kind != Kind::File
            {
                return Err(Unfit::Odd { path, kind }.into());
            }
        }
        match &self.git_dir {
            Some(git_dir) => check_own(git_dir),
            None => Ok(()),
        }
    }

    /// Waits until something is found that holds up the call of this process; while nothing is, it waits.
    pub(super) async fn watch(self, process: &OnceLock<u32>) -> GitError {
        let mut pause = FIRST_SEARCH_DELAY;
        loop {
            tokio::time::sleep(pause).await;
            let mut found = self.clone().search().await;
            let endless = |unfit: &Unfit| matches!(unfit, Unfit::Odd { kind: Kind::Device, .. });
            if let Some(at) = found.iter().position(endless) {
                return found.swap_remove(at).into();
            }
            // A call that is at work is slow by itself, whatever pipes lie around.
            if !found.is_empty() && is_idle(process.get().copied()).await {
                return found.swap_remove(0).into();
            }
            pause = MAX_SEARCH_DELAY.min(pause * 2);
        }
    }

    /// What would hold up a git in these places.
    pub(super) async fn search(self) -> Vec<Unfit> {
        let searched = tokio::task::spawn_blocking(move || {
            let mut search = Search::default();
            search.shared(&self.common);
            if let Some(own) = self.git_dir.filter(|own| *own != self.common) {
                search.gits(&own);
            }
            if let Some(files) = self.files {
                search.files(&files);
            }
            search.found
        });
        searched.await.unwrap_or_default()
    }
}

/// Refuses a checkout's folder of git in which a file is something else, or longer than it can be.
fn check_own(git_dir: &Path) -> Result<(), GitError> {
    let appended = APPENDED.iter().map(|name| (*name, u64::MAX));
    for (name, most) in OWN.iter().copied().chain(appended) {
        let path = git_dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(about) if !about.is_file() => {
                return Err(Unfit::Odd { path, kind: Kind::of(&about) }.into());
            }
            Ok(about) if about.len() > most => return Err(Unfit::TooLong { path, most }.into()),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Whether a process waits and does nothing else.
async fn is_idle(process: Option<u32>) -> bool {
    let Some(process) = process else {
        return true;
    };
    let look = || {
        let stat = untrusted::read(Path::new(&format!("/proc/{process}/stat")), 4096).ok()?;
        let stat = String::from_utf8_lossy(&stat).into_owned();
        let words: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        // What it does, and how long it was at work in its own code and in the kernel.
        Some([words.first()?, words.get(11)?, words.get(12)?].map(|word| (*word).to_owned()))
    };
    let before = look();
    tokio::time::sleep(IDLE_CHECK_DURATION).await;
    let after = look();
    before == after && after.is_none_or(|[state, ..]| state == "S")
}

#[derive(Default)]
struct Search {
    found: Vec<Unfit>,
    names: usize,
}

impl Search {
    fn is_full(&mut self) -> bool {
        self.names += 1;
        self.found.len() >= MAX_ODD_FILES || self.names >= MAX_SEARCHED_NAMES
    }

    fn add(&mut self, path: PathBuf, kind: Kind) {
        self.found.push(Unfit::Odd { path, kind });
    }

    /// What git opens of what all checkouts share.
    fn shared(&mut self, common: &Path) {
        for path in SHARED.iter().map(|name| common.join(name)) {
            self.end(path);
        }
        for folder in BENEATH {
            self.gits(&common.join(folder));
        }
    }

    /// Something that is no plain file; a link hangs if its end does.
    fn end(&mut self, path: PathBuf) {
        let end = fs::metadata(&path).map(|about| Kind::of(&about));
        if let Ok(kind) = end
            && kind.may_hang()
        {
            self.add(path, kind);
        }
    }

    /// A folder of git, in which git may open anything.
    fn gits(&mut self, top: &Path) {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if self.is_full() {
                    return;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if kind.is_dir() {
                    folders.push(path);
                } else if !kind.is_file() {
                    self.end(path);
                }
            }
        }
    }

    /// The files of a worktree.
    fn files(&mut self, top: &Path) {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if self.is_full() {
                    return;
                }
                let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
                if kind.is_dir() {
                    match name.eq_ignore_ascii_case(".git") {
                        true => self.gits(&entry.path()),
                        false => folders.push(entry.path()),
                    }
                } else if !kind.is_file() && is_opened(&name) {
                    let kind = fs::symlink_metadata(entry.path());
                    let kind = kind.map_or(Kind::Unknown, |about| Kind::of(&about));
                    if kind.may_hang() {
                        self.add(entry.path(), kind);
                    }
                }
            }
        }
    }
}

fn is_opened(name: &OsStr) -> bool {
    ANYWHERE.iter().any(|opened| name.eq_ignore_ascii_case(opened))
}

impl Git {
    /// Where a call for a checkout opens files.
    pub(super) fn places(&self, checkout: &Checkout) -> Places {
        Places {
            common: self.inner.common.clone(),
            git_dir: Some(checkout.git_dir.clone()),
            files: Some(checkout.root.clone()),
        }
    }

    /// Takes away what stands in the place of git's own few files of a worktree that is about to be cleared. An index or
    /// a HEAD that is none is no work.
    pub(crate) fn clear_odd_own(&self, checkout: &Checkout) -> Result<(), GitError> {
        let entry = &checkout.git_dir;
        for _ in 0..=OWN.len() + APPENDED.len() {
            match check_own(entry) {
                Err(GitError::Unfit(unfit)) => set_aside(unfit.path(), entry)?,
                checked => return checked,
            }
        }
        check_own(entry)
    }

    /// The same of whatever would hold up git anywhere in the worktree: pipes and devices hold no work.
    pub(crate) async fn clear_odd(&self, checkout: &Checkout) -> Result<(), GitError> {
        self.clear_odd_own(checkout)?;
        let (entry, files) = (checkout.git_dir.clone(), checkout.root.clone());
        let found = self.places(checkout).search().await;
        let clearing = move || {
            let own = |unfit: &&Unfit| {
                unfit.path().starts_with(&entry) || unfit.path().starts_with(&files)
            };
            found.iter().filter(own).try_for_each(|unfit| set_aside(unfit.path(), &entry))
        };
        let cleared = tokio::task::spawn_blocking(clearing).await;
        cleared.unwrap_or_else(|error| Err(GitError::io(&checkout.root)(error.into())))
    }
}

/// Frees a name: what holds nothing is removed, and a folder gets another name in the entry of the worktree.
pub(super) fn set_aside(path: &Path, entry: &Path) -> Result<(), GitError> {
    let done = match untrusted::kind(path)? {
        None => Ok(()),
        Some(Kind::Folder) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let aside = (1..MAX_ODD_FILES)
                .map(|number| entry.join(format!("aside-{name}-{number}")))
                .find(|aside| aside.symlink_metadata().is_err());
            match aside {
                Some(aside) => fs::rename(path, aside),
                None => fs::remove_dir_all(path),
            }
        }
        Some(_) => fs::remove_file(path),
    };
    done.map_err(GitError::io(path))
}
