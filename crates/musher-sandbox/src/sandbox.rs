//! What a sandbox holds, and the command that starts a program in it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::INSIDE_VERB;
use crate::arguments::Arguments;
use crate::backend::SandboxBackend;
use crate::mount::{Mount, MountAccess};
use crate::probe::{self, SandboxUnavailable};
use crate::rules::AllowedPlaces;
use crate::{rules, system};

/// Who a program is inside when the superuser starts it: as the superuser it would be refused by agents that take no risk, and no
/// namespace of its own could be made in it.
pub const SANDBOX_UID: u32 = 1000;
pub const SANDBOX_GID: u32 = 1000;

/// Where the sandbox of a run gets everything from. It is written into the spec of a run, so its form is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Musher's own program, which is the helper inside.
    pub helper: PathBuf,
    /// The private folder that is shown as the home of the user.
    pub home: PathBuf,
    /// Where that home is inside: at the path of the user's own, because sessions hold whole paths.
    pub home_at: PathBuf,
    /// The private folder that is shown as `/tmp`. A file system in memory would count as memory of the run.
    pub tmp: PathBuf,
    /// What else is there, in the order in which it is mounted.
    pub mounts: Vec<Mount>,
    /// The program may make namespaces of its own, for sandboxes and browsers inside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    #[serde(default)]
    pub network: SandboxNetwork,
    /// What the proxy lets through without asking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub limits: SandboxLimits,
    /// A person sits at the terminal of the program, which keeps its session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// What makes it.
    #[serde(default, skip_serializing_if = "SandboxBackend::is_namespaces")]
    pub backend: SandboxBackend,
}

/// What a program can reach over the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    /// All that the machine can.
    #[default]
    Host,
    /// Nothing but its own processes.
    None,
    /// What a proxy of the runner lets through.
    Proxy,
}

/// How much of the machine a sandbox may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of memory, swap included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
}

/// A command that starts a program in its sandbox.
#[derive(Debug)]
pub struct ConfinedCommand {
    pub program: PathBuf,
    /// What bubblewrap is told, to be read by it from a descriptor; nothing where there is no bubblewrap.
    pub options: Vec<u8>,
    /// What is started inside; without bubblewrap, all arguments.
    pub(crate) inside: Vec<OsString>,
}

impl ConfinedCommand {
    /// The arguments of the process, if it can read its options from this descriptor.
    pub fn args(&self, options_fd: i32) -> Vec<OsString> {
        if self.options.is_empty() {
            return self.inside.clone();
        }
        let options = ["--args".into(), options_fd.to_string().into(), "--".into()];
        options.into_iter().chain(self.inside.iter().cloned()).collect()
    }

    /// The same with the options among the arguments, where programs inside can read them.
    pub fn plain_args(&self) -> Vec<OsString> {
        if self.options.is_empty() {
            return self.inside.clone();
        }
        let options = self.options.split(|byte| *byte == 0).filter(|option| !option.is_empty());
        let options = options.map(|option| OsStr::from_bytes(option).to_owned());
        options.chain(["--".into()]).chain(self.inside.iter().cloned()).collect()
    }
}

/// What of the machine a command needs beside the mounts of its sandbox.
#[derive(Debug, Clone, Default)]
pub struct CommandMounts {
    /// Its program and its tools. What the sandbox itself mounts goes before them.
    pub tools: Vec<Mount>,
    /// Files that it is handed.
    pub files: Vec<Mount>,
    /// The variables that it is handed, by name. Only a container has to be told; elsewhere a program has those of its starter.
    pub variables: Vec<OsString>,
    /// What its container is called, if it is in one.
    pub name: Option<String>,
}

impl Sandbox {
    /// The command that starts this program inside.
    pub fn command(
        &self,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
        more: &CommandMounts,
    ) -> Result<ConfinedCommand, SandboxUnavailable> {
        match &self.backend {
            SandboxBackend::Namespaces => {}
            SandboxBackend::Landlock => return Ok(self.by_rules(program, args, more)),
            SandboxBackend::Container(container) => {
                self.refuse_links(more)?;
                return container.command(self, program, args, cwd, more);
            }
        }
        let mut inside = self.helper();
        if self.network == SandboxNetwork::Proxy {
            inside.push("--proxy".into());
        }
        inside.extend(["--".into(), program.into()]);
        inside.extend(args.iter().cloned());
        let mut arguments = self.arguments(more)?;
        arguments.all([OsStr::new("--chdir"), cwd.as_os_str()]);
        self.confined(arguments, inside)
    }

    /// The helper itself, which takes every place from itself that is not given here and becomes the program. The limit of processes
    /// would count all of the user's, and namespaces cannot be made under such rules.
    fn by_rules(&self, program: &Path, args: &[OsString], more: &CommandMounts) -> ConfinedCommand {
        let AllowedPlaces { read, write } = self.allowed(more);
        let mut inside: Vec<OsString> = vec![INSIDE_VERB.into(), "--landlock".into()];
        for (name, places) in [("--read=", read), ("--write=", write)] {
            inside.extend(places.into_iter().map(|place| {
                let mut arg = OsString::from(name);
                arg.push(place);
                arg
            }));
        }
        inside.extend(["--".into(), program.into()]);
        inside.extend(args.iter().cloned());
        ConfinedCommand { program: self.helper.clone(), options: Vec::new(), inside }
    }

    fn allowed(&self, more: &CommandMounts) -> AllowedPlaces {
        let mut read = system::places();
        read.extend(["/proc".into(), self.helper.clone()]);
        let mut write: Vec<PathBuf> = rules::devices().collect();
        write.extend([self.home.clone(), self.tmp.clone()]);
        for mount in more.tools.iter().chain(&self.mounts).chain(&more.files) {
            if mount.optional && !mount.source.exists() {
                continue;
            }
            match mount.access {
                MountAccess::Read => read.push(mount.source.clone()),
                MountAccess::Write => write.push(mount.source.clone()),
            }
        }
        AllowedPlaces { read, write }
    }

    /// Where its home is for the program: only a mount can put the private one in the place of the user's.
    pub fn home_inside(&self) -> &Path {
        match self.backend {
            SandboxBackend::Namespaces | SandboxBackend::Container(_) => &self.home_at,
            SandboxBackend::Landlock => &self.home,
        }
    }

    /// Where its temporary files are for the program.
    pub fn tmp_inside(&self) -> &Path {
        match self.backend {
            SandboxBackend::Namespaces | SandboxBackend::Container(_) => Path::new("/tmp"),
            SandboxBackend::Landlock => &self.tmp,
        }
    }

    /// The command that keeps a sandbox with these mounts until its input ends. It prints a line when it can be entered.
    pub fn holder(&self, more: &CommandMounts) -> Result<ConfinedCommand, SandboxUnavailable> {
        let mut inside = self.helper();
        inside.push("--hold".into());
        if self.network == SandboxNetwork::Proxy {
            inside.push("--proxy".into());
        }
        let mut arguments = self.arguments(more)?;
        // As the first process it cannot be ended from inside.
        arguments.push("--as-pid-1");
        self.confined(arguments, inside)
    }

    /// The arguments of Musher's own program that start a program in the sandbox whose holder this descriptor stands for.
    pub fn guest(
        &self,
        holder_fd: i32,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
    ) -> Vec<OsString> {
        let mut inside = self.helper();
        inside.remove(0);
        inside.push(format!("--enter={holder_fd}").into());
        if self.network != SandboxNetwork::Host {
            inside.push("--network".into());
        }
        let mut folder = OsString::from("--folder=");
        folder.push(cwd);
        inside.extend([folder, "--".into(), program.into()]);
        inside.extend(args.iter().cloned());
        inside
    }

    /// The helper with what it takes from itself.
    fn helper(&self) -> Vec<OsString> {
        let mut inside: Vec<OsString> = vec![self.helper.clone().into(), INSIDE_VERB.into()];
        if self.nested {
            inside.push("--nested".into());
        }
        if let Some(processes) = self.limits.processes {
            inside.push(format!("--processes={processes}").into());
        }
        inside
    }

    fn arguments(&self, more: &CommandMounts) -> Result<Arguments, SandboxUnavailable> {
        self.refuse_links(more)?;
        let mut arguments = Arguments::default();
        self.namespaces(&mut arguments);
        system::show(&mut arguments);
        self.places(&mut arguments, more);
        arguments.all(["--remount-ro", "/"]);
        Ok(arguments)
    }

    fn confined(
        &self,
        arguments: Arguments,
        inside: Vec<OsString>,
    ) -> Result<ConfinedCommand, SandboxUnavailable> {
        let program = probe::bubblewrap()?;
        Ok(ConfinedCommand { program, options: arguments.into_bytes(), inside })
    }

    /// Refuses a link on the way to a mount: the program of an earlier start can write the folders that are shown as home and as
    /// `/tmp`, and bubblewrap follows a link before the sandbox is closed.
    fn refuse_links(&self, more: &CommandMounts) -> Result<(), SandboxUnavailable> {
        let own = [(self.home_at.as_path(), &self.home), (Path::new("/tmp"), &self.tmp)];
        for mount in more.tools.iter().chain(&self.mounts).chain(&more.files) {
            for (at, folder) in &own {
                let Ok(below) = mount.target.strip_prefix(at) else { continue };
                let mut path = folder.to_path_buf();
                for part in below.components() {
                    path.push(part);
                    if path.is_symlink() {
                        return Err(SandboxUnavailable::Link(path));
                    }
                }
            }
        }
        Ok(())
    }

    fn namespaces(&self, arguments: &mut Arguments) {
        arguments.all([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--cap-drop",
            "ALL",
            "--die-with-parent",
        ]);
        if !self.terminal {
            arguments.push("--new-session");
        }
        if !self.nested {
            arguments.push("--disable-userns");
        }
        match self.network {
            SandboxNetwork::Host => {}
            SandboxNetwork::None | SandboxNetwork::Proxy => arguments.push("--unshare-net"),
        }
        if is_superuser() {
            arguments.all(["--uid".to_owned(), SANDBOX_UID.to_string()]);
            arguments.all(["--gid".to_owned(), SANDBOX_GID.to_string()]);
        }
    }

    fn places(&self, arguments: &mut Arguments, more: &CommandMounts) {
        arguments.all(["--proc", "/proc", "--dev", "/dev"]);
        if is_superuser() {
            // bubblewrap leaves it writable when nothing but the user inside keeps it from being written.
            arguments.read_only(Path::new("/proc/sys"), Path::new("/proc/sys"));
        }
        arguments.writable(&self.tmp, Path::new("/tmp"));
        arguments.all(["--tmpfs", "/run", "--tmpfs", "/var", "--dir", "/var/tmp"]);
        arguments.writable(&self.home, &self.home_at);
        for mount in more.tools.iter().chain(&self.mounts).chain(&more.files) {
            if mount.optional && !mount.source.exists() {
                continue;
            }
            match mount.access {
                MountAccess::Read => arguments.read_only(&mount.source, &mount.target),
                MountAccess::Write => arguments.writable(&mount.source, &mount.target),
            }
        }
        // Last, so that no other mount can be put in its place.
        arguments.read_only(&self.helper, &self.helper);
    }

    /// Whether a path of the machine is there inside.
    pub fn shows(&self, path: &Path) -> bool {
        system::is_shown(path) || self.mounts.iter().any(|mount| mount.shows(path))
    }
}

pub(crate) fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}
