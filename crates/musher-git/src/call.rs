//! One git process: its arguments, its bounds, and what it said.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use musher_sandbox::ConfinedCommand;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::timeout;
use tracing::{debug, trace, warn};

use super::env::GitEnv;
use super::error::GitError;
use super::odd::Places;

/// How long a call that only reads may take.
pub(super) const READ_CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call may take that writes many files or runs filters over them.
pub(super) const WRITE_CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// A call that takes longer than this is told.
const SLOW_CALL: Duration = Duration::from_secs(10);
/// How long the output may stay open after git has ended, because a filter left something behind.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How much output is read of a call that does not say otherwise.
const MAX_GIT_STDOUT_BYTES: usize = 256 << 20;
/// How much of what git says in words is kept.
const MAX_GIT_STDERR_BYTES: usize = 16 << 10;

/// Settings for every call, whoever worked in the folder: nothing is started that Musher did not ask for.
const ALWAYS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    // It is a second account of the history, and an agent can write another one.
    "core.commitGraph=false",
    // After a loss of power no branch may stand for something that never reached the disk.
    "core.fsync=objects,reference,index",
    "core.fsyncMethod=batch",
    "core.pager=cat",
    "core.quotePath=true",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
    "advice.detachedHead=false",
    "log.showSignature=false",
];

/// A git process that has not started yet.
#[derive(Debug)]
pub(super) struct Call {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<OsString>,
    /// Where the subcommand stands among the arguments, for messages.
    verb: usize,
    env: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    hold: Option<Stdio>,
    /// Where it opens files that an agent can write.
    places: Option<Places>,
    /// Its process, once it has one.
    process: Arc<OnceLock<u32>>,
    limit: Duration,
    most: usize,
    cut: bool,
    fine: &'static [i32],
}

/// What a git process left.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    /// What it said in words.
    pub(super) stderr: String,
    /// The output was longer than the bound and its end is missing.
    pub(super) cut: bool,
}

/// Variables of every call.
const FIXED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// Variables of a call in a sandbox. Missing objects stay missing: the agent's settings could name a program that fetches them.
const CONFINED: &[(&str, &str)] = &[("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")];

impl Call {
    pub(super) fn new(program: &Path, env: &GitEnv, folder: &Path) -> Self {
        let args = Self::always();
        let mut vars: Vec<(OsString, OsString)> =
            env.vars().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        vars.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
        Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            verb: args.len(),
            args,
            env: vars,
            input: Vec::new(),
            hold: None,
            places: None,
            process: Arc::default(),
            limit: READ_CALL_TIMEOUT,
            most: MAX_GIT_STDOUT_BYTES,
            cut: false,
            fine: &[0],
        }
    }

    /// A call inside of a sandbox, whose command this is; the last `own` arguments are those of git.
    pub(super) fn confined(command: &ConfinedCommand, own: usize, env: &GitEnv) -> Self {
        let call = Self::new(&command.program, env, Path::new("/"));
        let args = command.plain_args();
        let call = Self { verb: args.len().saturating_sub(own), args, ..call };
        CONFINED.iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// The names of the variables that every confined call has.
    pub(super) fn fixed() -> impl Iterator<Item = &'static str> {
        FIXED.iter().chain(CONFINED).map(|(name, _)| *name)
    }

    /// What every call is told before its subcommand.
    pub(super) fn always() -> Vec<OsString> {
        let mut args = vec!["--no-pager".into(), "--literal-pathspecs".into()];
        for setting in ALWAYS {
            args.extend(["-c".into(), setting.into()]);
        }
        args
    }

    /// A setting of git for this call, before the subcommand.
    pub(super) fn setting(mut self, setting: &str) -> Self {
        self.args.splice(self.verb..self.verb, ["-c".into(), setting.into()]);
        self.verb += 2;
        self
    }

    /// Leaves the index to the caller: it is synced later, or needs never be.
    pub(super) fn unsynced_index(self) -> Self {
        self.setting("core.fsync=objects,reference")
    }

    pub(super) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The folder in which git starts.
    pub(super) fn at(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Gives the process a hold to keep, unless it has an input of its own.
    pub(super) fn hold(mut self, hold: Stdio) -> Self {
        self.hold = Some(hold);
        self
    }

    /// Says where it opens files, so that one which would hold it up is found.
    pub(super) fn places(mut self, places: Places) -> Self {
        self.places = Some(places);
        self
    }

    pub(super) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Reads at most so many bytes and leaves the rest.
    pub(super) fn cut_at(mut self, most: usize) -> Self {
        self.most = most;
        self.cut = true;
        self
    }

    /// The exit codes that are answers and not failures.
    pub(super) fn fine(mut self, codes: &'static [i32]) -> Self {
        self.fine = codes;
        self
    }

    /// Runs git to its end.
    pub(super) async fn run(self) -> Result<GitOutput, GitError> {
        let what = self.what();
        let limit = self.limit;
        let places = self.places.clone();
        if let Some(places) = &places {
            places.check()?;
        }
        let process = self.process.clone();
        let watch = async {
            match places {
                Some(places) => places.watch(&process).await,
                None => std::future::pending().await,
            }
        };
        // Whichever is first drops the other, which kills the git that still runs.
        let began = Instant::now();
        let done = tokio::select! {
            done = timeout(limit, self.finish(&what)) => match done {
                Ok(done) => done,
                Err(_) => Err(GitError::TimedOut { what: what.clone(), after: limit }),
            },
            odd = watch => Err(odd),
        };
        let took = began.elapsed();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match &done {
            Ok(_) if took > SLOW_CALL => warn!(git = what, ms, "git was slow"),
            Ok(_) => trace!(git = what, ms, "git done"),
            Err(error) => debug!(git = what, ms, cause = %error, "git failed"),
        }
        done
    }

    /// Runs git and takes its one line.
    pub(super) async fn line(self) -> Result<String, GitError> {
        let output = self.run().await?;
        let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        let text = String::from_utf8(line.to_vec());
        text.map_err(|error| GitError::unexpected("", error.as_bytes()))
    }

    fn what(&self) -> String {
        let shown = self.args.iter().skip(self.verb).take(2);
        let shown: Vec<_> = shown.map(|arg| arg.to_string_lossy()).collect();
        shown.join(" ")
    }

    async fn finish(mut self, what: &str) -> Result<GitOutput, GitError> {
        let started = self.start();
        let mut child = started.map_err(GitError::io(&self.program))?;
        if let Some(id) = child.id() {
            // It is started once.
            let _first = self.process.set(id);
        }
        // Dropped on every way out, so that filters do not outlive the git that started them.
        let mut group = Group::of(&child);
        let (mut stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = std::mem::take(&mut self.input);
        let writing = async {
            if let Some(pipe) = &mut stdin {
                // Git may end before it has read everything; its exit code tells why.
                pipe.write_all(&input).await.ok();
            }
            drop(stdin.take());
        };
        let talk = async {
            let ((), out, err) =
                tokio::join!(writing, read(stdout, self.most), read(stderr, MAX_GIT_STDERR_BYTES));
            (out, err)
        };
        tokio::pin!(talk);
        let mut early = None;
        let status = tokio::select! {
            said = &mut talk => { early = Some(said); None }
            status = child.wait() => Some(status),
        };
        let (out, err) = match early {
            Some(said) => said,
            None => match timeout(OUTPUT_DRAIN_TIMEOUT, &mut talk).await {
                Ok(said) => said,
                Err(_) => {
                    return Err(GitError::TimedOut {
                        what: what.to_owned(),
                        after: OUTPUT_DRAIN_TIMEOUT,
                    });
                }
            },
        };
        let out = out.map_err(GitError::io(&self.program))?;
        let err = err.map_err(GitError::io(&self.program))?;
        if out.cut && !self.cut {
            return Err(GitError::TooMuch { what: what.to_owned(), bytes: self.most });
        }
        let status = match status {
            Some(status) => status,
            // A reader that stopped early leaves git blocked on its pipe.
            None if out.cut => {
                group.kill();
                child.wait().await
            }
            None => child.wait().await,
        };
        let status = status.map_err(GitError::io(&self.program))?;
        group.disarm();
        self.judge(what, status, out, &err.bytes)
    }

    fn judge(
        &self,
        what: &str,
        status: ExitStatus,
        out: Read,
        err: &[u8],
    ) -> Result<GitOutput, GitError> {
        let stderr = String::from_utf8_lossy(err).trim().to_owned();
        let code = status.code().unwrap_or(-1);
        if out.cut || (status.code().is_some() && self.fine.contains(&code)) {
            return Ok(GitOutput { code, stdout: out.bytes, stderr, cut: out.cut });
        }
        let path = self.folder.clone();
        if stderr.contains("Read-only file system") {
            return Err(GitError::ReadOnly { path, why: stderr });
        }
        if stderr.contains("index.lock': File exists") {
            return Err(GitError::Locked { path });
        }
        let how = status.to_string();
        Err(GitError::Failed { what: what.to_owned(), how, said: stderr })
    }

    #[expect(clippy::disallowed_methods, reason = "the git wrapper is the one caller of git")]
    fn start(&mut self) -> std::io::Result<Child> {
        let stdin = match self.input.is_empty() {
            true => self.hold.take().unwrap_or_else(Stdio::null),
            false => Stdio::piped(),
        };
        tokio::process::Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

struct Read {
    bytes: Vec<u8>,
    cut: bool,
}

/// Reads to the end, or one byte past the bound.
async fn read(pipe: Option<impl AsyncRead + Unpin>, most: usize) -> std::io::Result<Read> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most as u64 + 1).read_to_end(&mut bytes).await?;
    }
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Read { bytes, cut })
}

/// The process group of a git that still runs; whatever is in it dies with the call.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn kill(&mut self) {
        if let Some(leader) = self.0 {
            kill_process_group(leader, Signal::KILL).ok();
        }
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in the place of git that does what the script says.
    fn stand_in(script: &str) -> (tempfile::TempDir, Call) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let env = GitEnv::default().with("PATH", "/usr/bin:/bin");
        let call = Call::new(&program, &env, folder.path()).arg("verb");
        (folder, call)
    }

    #[tokio::test]
    async fn a_call_that_hangs_is_killed_with_its_children() {
        let (folder, call) = stand_in("sleep 600 & echo $! > child; wait");
        let error = call.limit(Duration::from_millis(500)).run().await.unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
        let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
        let stat = format!("/proc/{}/stat", child.trim());
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        for _ in 0..200 {
            if gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the child is still there");
    }

    #[tokio::test]
    async fn output_past_the_bound_is_refused_or_cut() {
        let (_folder, call) = stand_in("yes");
        let cut = call.cut_at(1000).run().await.unwrap();
        assert!(cut.cut && cut.stdout.len() == 1000);
        let (_folder, mut call) = stand_in("yes");
        call.most = 1000;
        let error = call.run().await.unwrap_err();
        assert!(matches!(error, GitError::TooMuch { bytes: 1000, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_grandchild_that_holds_the_output_hangs_no_call() {
        let (_folder, call) = stand_in("sleep 600 & exit 0");
        let error = call.run().await.unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_hold_lasts_as_long_as_anything_that_git_has_started() {
        let script = "exec 3<&0; setsid sh -c 'for n in $(seq 500); do [ -e end ] && exit; sleep 0.01; done' <&3 >/dev/null 2>&1 &";
        let (folder, call) = stand_in(script);
        let lock = folder.path().join("lock");
        let open = || std::fs::File::options().append(true).create(true).open(&lock).unwrap();
        let hold = open();
        hold.lock().unwrap();
        call.hold(Stdio::from(hold)).run().await.unwrap();
        assert!(open().try_lock().is_err(), "the child still has it");
        std::fs::write(folder.path().join("end"), "").unwrap();
        let let_go = || open().try_lock().is_ok();
        for _ in 0..500 {
            if let_go() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nobody let go");
    }

    #[tokio::test]
    async fn an_input_that_nobody_reads_hangs_no_call() {
        let (_folder, call) = stand_in("exit 3");
        let output = call.input(vec![b'x'; 1 << 20]).fine(&[3]).run().await.unwrap();
        assert_eq!(output.code, 3);
    }

    #[tokio::test]
    async fn git_sees_nothing_of_the_environment_but_what_was_given() {
        let (_folder, call) = stand_in("env | sed 's/=.*//' | sort | tr '\\n' ' '");
        let seen = call.line().await.unwrap();
        let known = "GIT_ASKPASS GIT_EDITOR GIT_NO_REPLACE_OBJECTS GIT_OPTIONAL_LOCKS \
                     GIT_SEQUENCE_EDITOR GIT_TERMINAL_PROMPT LC_ALL PATH PWD ";
        assert_eq!(seen.replace("OLDPWD ", "").replace("SHLVL ", "").replace("_ ", ""), known);
    }
}
