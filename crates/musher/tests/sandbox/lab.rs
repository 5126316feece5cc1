//! A machine in small: a person's home with secrets in it, a repository, a state directory, a process and sockets of the person's,
//! and a sandbox beside them.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use musher_core::SlotId;
use musher_git::worktree::{SandboxPlaces, SlotFiles, SlotStart, WorktreeSlots};
use musher_git::{Branch, Git, GitEnv};
use musher_sandbox::{CommandMounts, Sandbox};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub(crate) const SLOT: SlotId = SlotId(1);
/// The branch of the story that is worked on.
pub(crate) const BRANCH: &str = "musher/s1/1";

/// What a container has to be told of the variables below.
const VARIABLES: &[&str] = &[
    "HOME", "STATE", "REPO", "GIT", "WT", "ENTRY", "BUS", "ABSTRACT", "KEY", "VICTIM", "MAIN",
    "POINTER", "HELPER",
];

pub(crate) struct Lab {
    folder: tempfile::TempDir,
    pub(crate) slots: WorktreeSlots,
    pub(crate) sandbox: Sandbox,
    runtime: tokio::runtime::Runtime,
    victim: Child,
    /// Of the person's session: one with a name that is no path, and one with a path.
    _sockets: [UnixListener; 2],
    key: u32,
    abstract_name: String,
    pub(crate) main: String,
    pointer: String,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A lab whose repository was changed before its sandbox was made.
    pub(crate) fn with(change: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let [home, repo, state] = ["home", "repo", "state"].map(|name| top.join(name));
        for name in [
            "home/.ssh/id_ed25519",
            "home/.aws/credentials",
            "home/.config/gh/hosts.yml",
            "home/.netrc",
            "home/.npmrc",
            "home/.claude/.credentials.json",
            "home/.codex/auth.json",
            "home/other-repo/README",
            "state/token",
            "state/journal.db",
            "state/runs/r9/spec.json",
            "state/worktrees/9/README",
            "repo/README",
            "repo/.vscode/tasks.json",
        ] {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret\n").unwrap();
        }
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        let identity = "[user]\n\tname = Ada\n\temail = ada@example.org\n";
        fs::write(home.join(".gitconfig"), identity).unwrap();
        git(&home, &repo, &["init", "-q", "-b", "main"]);
        git(&home, &repo, &["add", "-A"]);
        git(&home, &repo, &["commit", "-qm", "first"]);
        change(&repo);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (slots, sandbox) = runtime.block_on(enclose(&top));
        let bus = top.join("bus");
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        // No other lab has it, in this process or in another.
        let key = 0x4d00_0000 | ((nanos as u32 >> 6) & 0x00ff_ffff);
        let abstract_name = format!("musher-lab-{}-{nanos}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets =
            [UnixListener::bind_addr(&address).unwrap(), UnixListener::bind(&bus).unwrap()];
        let victim = Command::new("/bin/sleep")
            .arg("31337")
            .env("VICTIM_SECRET", "secret-of-the-victim")
            .spawn()
            .unwrap();
        let main = git(&home, &repo, &["rev-parse", "main"]);
        let pointer = fs::read_to_string(slots.path(SLOT).join(".git")).unwrap();
        Self {
            folder,
            slots,
            sandbox,
            runtime,
            victim,
            _sockets: sockets,
            key,
            abstract_name,
            main: main.trim().to_owned(),
            pointer: pointer.trim().to_owned(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn worktree(&self) -> PathBuf {
        self.slots.path(SLOT)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Calls git as the person would.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path("home"), &self.repo(), args).trim().to_owned()
    }

    /// Runs a line of shell in the sandbox.
    pub(crate) fn inside(&self, line: &str) -> String {
        self.inside_of(&self.sandbox, line)
    }

    /// The sandbox of the same slot in which rules of Landlock are all that holds.
    pub(crate) fn alone(&self) -> Sandbox {
        self.block_on(self.slots.admit(SLOT)).unwrap()
    }

    pub(crate) fn inside_of(&self, sandbox: &Sandbox, line: &str) -> String {
        self.inside_with(&self.arguments(sandbox, line))
    }

    /// The program and the arguments that run a line in a sandbox.
    pub(crate) fn arguments(&self, sandbox: &Sandbox, line: &str) -> Vec<OsString> {
        let args = ["-c".into(), line.into()];
        let shell = Path::new("/bin/sh");
        let variables = VARIABLES.iter().map(OsString::from).collect();
        let more = CommandMounts { variables, ..CommandMounts::default() };
        let confined = sandbox.command(shell, &args, &self.worktree(), &more).unwrap();
        std::iter::once(confined.program.clone().into()).chain(confined.plain_args()).collect()
    }

    /// Keeps a sandbox, as for the commands of a model.
    pub(crate) fn keep(&self, sandbox: &Sandbox) -> Kept {
        let confined = sandbox.holder(&CommandMounts::default()).unwrap();
        // A folder that somebody left open is passed on by bubblewrap.
        let open = "exec 7<\"$STATE\"; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", open, "sh"]).arg(&confined.program).args(confined.plain_args());
        self.prepare(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let first: i32 = fs::read_to_string(children).unwrap().trim().parse().unwrap();
        let first = pidfd_open(Pid::from_raw(first).unwrap(), PidfdFlags::empty()).unwrap();
        // Away from the number of the folder that is left open.
        let first = rustix::io::fcntl_dupfd_cloexec(&first, 100).unwrap();
        rustix::io::fcntl_setfd(&first, rustix::io::FdFlags::empty()).unwrap();
        Kept { holder, first, sandbox: sandbox.clone() }
    }

    /// Runs a line in a sandbox that is kept.
    pub(crate) fn enter(&self, kept: &Kept, line: &str) -> String {
        let (shell, args) = (Path::new("/bin/sh"), ["-c".into(), line.into()]);
        let guest = kept.sandbox.guest(kept.first.as_raw_fd(), shell, &args, &self.worktree());
        let helper = std::iter::once(kept.sandbox.helper.clone().into());
        self.inside_with(&helper.chain(guest).collect::<Vec<OsString>>())
    }

    pub(crate) fn inside_with(&self, arguments: &[OsString]) -> String {
        // A folder that somebody left open is passed on by bubblewrap.
        let open = "exec 7<\"$STATE\"; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", open, "sh"]).args(arguments);
        told(&self.run(command))
    }

    /// Runs the same line without a sandbox.
    pub(crate) fn outside(&self, line: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec 7<\"$STATE\"; {line}")]);
        told(&self.run(command))
    }

    fn run(&self, mut command: Command) -> Output {
        self.prepare(&mut command).output().unwrap()
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let entry = self.repo().join(".git/worktrees").join(SLOT.to_string());
        let worktree = self.worktree();
        let folder = if worktree.is_dir() { worktree } else { self.path("") };
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.path("home"))
            .env("STATE", self.path("state"))
            .env("REPO", self.repo())
            .env("GIT", self.repo().join(".git"))
            .env("WT", self.worktree())
            .env("ENTRY", entry)
            .env("BUS", self.path("bus"))
            .env("ABSTRACT", &self.abstract_name)
            .env("KEY", self.key.to_string())
            .env("VICTIM", self.victim.id().to_string())
            .env("MAIN", &self.main)
            .env("POINTER", &self.pointer)
            .env("HELPER", &self.sandbox.helper)
            .stdin(Stdio::null())
    }
}

/// A sandbox that is kept until this is dropped.
pub(crate) struct Kept {
    pub(crate) holder: Child,
    first: OwnedFd,
    sandbox: Sandbox,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Its input ends, and with it the sandbox.
        self.holder.stdin.take();
        self.holder.wait().ok();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.victim.kill().ok();
        self.victim.wait().ok();
        let key = format!("{:#x}", self.key);
        Command::new("ipcrm").args(["-M", &key]).stderr(Stdio::null()).status().ok();
    }
}

async fn enclose(top: &Path) -> (WorktreeSlots, Sandbox) {
    let env = GitEnv::default()
        .with("PATH", std::env::var_os("PATH").unwrap())
        .with("HOME", top.join("home"))
        .with("GIT_CONFIG_NOSYSTEM", "1");
    let git = Git::open(&top.join("repo"), env, &top.join("scratch")).await.unwrap();
    let slots = WorktreeSlots::new(git, &top.join("state/worktrees"), SlotFiles::default());
    let slots = slots.unwrap().with_sandboxes(SandboxPlaces {
        folder: top.join("state/sandboxes"),
        helper: musher(),
        home: top.join("home"),
    });
    let base = SlotStart::Base { branch: Branch::new("main").unwrap() };
    slots.prepare(SLOT, &Branch::new(BRANCH).unwrap(), &base).await.unwrap();
    let sandbox = slots.enclose(SLOT).await.unwrap();
    (slots, sandbox)
}

/// The program under test, which another user may have to be given a copy of.
pub(crate) fn musher() -> PathBuf {
    std::env::var_os(crate::users::COPY)
        .map_or_else(|| env!("CARGO_BIN_EXE_musher").into(), PathBuf::from)
}

fn git(home: &Path, folder: &Path, args: &[&str]) -> String {
    let git = Command::new("git").args(args).current_dir(folder).env("HOME", home).output();
    let git = git.unwrap();
    assert!(git.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&git.stderr));
    String::from_utf8(git.stdout).unwrap()
}

/// Everything that was printed, and how it ended.
fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    format!("{out}{err}[{}]", output.status)
}
