//! A process inside of a sandbox: what is shown to it, and which of its variables still mean something there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use musher_sandbox::{
    CommandMounts, ContainerBackend, Mount, PROXY_PORTS, Sandbox, SandboxBackend, SandboxLimits,
    SandboxNetwork, certificate_mounts, in_memory, program_mounts, toolchain_mounts,
    toolchain_variables,
};

use super::{Launch, MARK, RunMark};

/// Variables that lead to services of the user's session, none of which is there inside.
const LEFT_OUT: &[&str] =
    &["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"];

/// Variables that mean something on this machine alone, and nothing in an image.
const OF_THIS_MACHINE: &[&str] = &[
    "CARGO_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SHELL",
    "VIRTUAL_ENV",
];

/// Whether a variable tells the loader of programs what to load. What makes a sandbox is loaded outside of it, and would obey as well.
fn is_of_loader(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("LD_") || matches!(&*name, "GLIBC_TUNABLES" | "GCONV_PATH")
}

/// Variables by which programs find a proxy, each in both ways to write it.
const HTTP_PROXIES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
const SOCKS_PROXIES: &[&str] = &["ALL_PROXY", "all_proxy"];
const NO_PROXIES: &[&str] = &["NO_PROXY", "no_proxy"];

/// The sandbox of a process, and what it is handed there.
#[derive(Debug, Clone)]
pub(crate) struct Confinement {
    sandbox: Arc<Sandbox>,
    part: ConfinedPart,
    /// What is shown to this process alone.
    pub(crate) files: Vec<Mount>,
}

/// What a process has to do with its sandbox.
#[derive(Debug, Clone)]
enum ConfinedPart {
    /// The sandbox is made for it, and ends with it.
    Own,
    /// It keeps the sandbox for others, and the program of the launch is not started.
    Holder,
    /// It enters the sandbox that is kept by the process behind this descriptor.
    Guest(Arc<OwnedFd>),
}

/// The processes at the root of a tree that hold a sandbox: whatever ends them ends all inside without a chance to tidy up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SandboxHolders {
    None,
    /// The one that has entered it for the command, and waits for it outside.
    Root,
    /// Both processes of bubblewrap.
    RootAndChild,
    /// The client of an engine, which hands signals on. Whatever else of the engine's is in the tree would end the container by force.
    Engine,
}

/// What is to be started in a sandbox.
pub(super) struct ConfinedProgram<'a> {
    pub(super) program: &'a Path,
    pub(super) args: &'a [OsString],
    pub(super) cwd: &'a Path,
    pub(super) env: &'a [(OsString, OsString)],
    pub(super) mark: &'a RunMark,
}

impl<'a> From<&'a Launch> for ConfinedProgram<'a> {
    fn from(launch: &'a Launch) -> Self {
        let Launch { program, args, cwd, env, mark, .. } = launch;
        Self { program, args, cwd, env, mark }
    }
}

/// How a process in a sandbox is started.
pub(super) struct ConfinedStart {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    /// Must be open in the process, at the number that the arguments name.
    pub(super) kept: OwnedFd,
    /// Where what makes the sandbox is started: not in a folder that the agent writes, if that can be.
    pub(super) cwd: PathBuf,
}

impl Confinement {
    pub(crate) fn of(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox, part: ConfinedPart::Own, files: Vec::new() }
    }

    /// Of the process that keeps a sandbox for others to enter.
    pub(crate) fn holder(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox, part: ConfinedPart::Holder, files: Vec::new() }
    }

    /// Of a process that enters a sandbox.
    pub(crate) fn guest(sandbox: Arc<Sandbox>, holder: Arc<OwnedFd>) -> Self {
        Self { sandbox, part: ConfinedPart::Guest(holder), files: Vec::new() }
    }

    /// What control groups of ours have to hold; the engine of a container does it itself.
    pub(super) fn limits(&self) -> SandboxLimits {
        match self.sandbox.backend {
            SandboxBackend::Namespaces | SandboxBackend::Landlock => self.sandbox.limits,
            SandboxBackend::Container(_) => SandboxLimits::default(),
        }
    }

    pub(super) fn holders(&self) -> SandboxHolders {
        match self.part {
            ConfinedPart::Own => match self.sandbox.backend {
                SandboxBackend::Namespaces => SandboxHolders::RootAndChild,
                // The helper has become the program.
                SandboxBackend::Landlock => SandboxHolders::None,
                SandboxBackend::Container(_) => SandboxHolders::Engine,
            },
            ConfinedPart::Holder => SandboxHolders::RootAndChild,
            ConfinedPart::Guest(_) => SandboxHolders::Root,
        }
    }

    pub(super) fn start(&self, launch: &ConfinedProgram<'_>) -> io::Result<ConfinedStart> {
        let mut env = self.environment(launch.env);
        let sandbox = &self.sandbox;
        let confined = match &self.part {
            ConfinedPart::Own => {
                sandbox.command(launch.program, launch.args, launch.cwd, &self.more(launch, &env))
            }
            ConfinedPart::Holder => sandbox.holder(&self.more(launch, &env)),
            ConfinedPart::Guest(holder) => {
                let kept = holder.try_clone()?;
                let args = sandbox.guest(kept.as_raw_fd(), launch.program, launch.args, launch.cwd);
                let (program, cwd) = (sandbox.helper.clone(), "/".into());
                return Ok(ConfinedStart { program, args, env, kept, cwd });
            }
        };
        let confined = confined.map_err(io::Error::other)?;
        if let SandboxBackend::Container(container) = &sandbox.backend {
            // The client has those of the engine, and hands on what the command line names.
            env.retain(|(name, _)| !ContainerBackend::is_of_engine(name));
            let own = container.variables.iter();
            env.extend(own.map(|(name, value)| (name.into(), value.into())));
        }
        let kept = in_memory(&confined.options)?;
        let args = confined.args(kept.as_raw_fd());
        let cwd = match sandbox.backend {
            SandboxBackend::Namespaces | SandboxBackend::Container(_) => "/".into(),
            SandboxBackend::Landlock => launch.cwd.to_owned(),
        };
        Ok(ConfinedStart { program: confined.program, args, env, kept, cwd })
    }

    /// What this process needs of the machine beside the mounts of its sandbox.
    fn more(&self, launch: &ConfinedProgram<'_>, env: &[(OsString, OsString)]) -> CommandMounts {
        let home = &self.sandbox.home_at;
        let mut tools = program_mounts(launch.program, home);
        let (mut variables, mut container) = (Vec::new(), None);
        match self.sandbox.backend {
            SandboxBackend::Namespaces | SandboxBackend::Landlock => {
                tools.splice(0..0, toolchain_mounts(home, |name| variable(env, name)));
            }
            // Its tools are those of the image.
            SandboxBackend::Container(_) => {
                let own = |name: &OsStr| {
                    OF_THIS_MACHINE.iter().any(|known| name == *known)
                        || ContainerBackend::is_of_engine(name)
                };
                let names = env.iter().map(|(name, _)| name).filter(|name| !own(name));
                variables.extend(names.cloned().chain([MARK.into()]));
                // The client's own is another one.
                let mut home = OsString::from("HOME=");
                home.push(self.sandbox.home_inside());
                variables.push(home);
                let part = uuid::Uuid::new_v4().simple().to_string();
                container = Some(ContainerBackend::name(launch.mark.own(), &part));
            }
        }
        let pairs = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        tools.extend(certificate_mounts(pairs));
        CommandMounts { tools, files: self.files.clone(), variables, name: container }
    }

    fn environment(&self, given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is = |name: &OsStr, names: &[&str]| names.iter().any(|known| name == *known);
        let mut env: Vec<(OsString, OsString)> = given
            .iter()
            .filter(|(name, _)| !is(name, LEFT_OUT) && !is_of_loader(name))
            .cloned()
            .collect();
        let own = |path: &OsStr| {
            let shown = |mount: &Mount| mount.shows(path.as_ref());
            self.files.iter().chain(&self.sandbox.mounts).any(shown)
        };
        env.retain(|(name, value)| !is(name, &["TMPDIR"]) || own(value));
        if !env.iter().any(|(name, _)| is(name, &["TMPDIR"])) {
            env.push(("TMPDIR".into(), self.sandbox.tmp_inside().into()));
        }
        if self.sandbox.network == SandboxNetwork::Proxy {
            let [http, socks] = PROXY_PORTS;
            let http = OsString::from(format!("http://127.0.0.1:{http}"));
            let socks = OsString::from(format!("socks5h://127.0.0.1:{socks}"));
            // Programs that talk to a server of their own do not go through the proxy for it.
            let near = OsString::from("127.0.0.1,localhost,::1");
            let [http, socks, near] =
                [(HTTP_PROXIES, http), (SOCKS_PROXIES, socks), (NO_PROXIES, near)].map(
                    |(names, value)| {
                        names.iter().map(move |name| (OsString::from(name), value.clone()))
                    },
                );
            env.retain(|(name, _)| {
                ![HTTP_PROXIES, SOCKS_PROXIES, NO_PROXIES].iter().any(|names| is(name, names))
            });
            env.extend(http.chain(socks).chain(near));
            env.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        }
        env.retain(|(name, _)| !is(name, &["HOME"]));
        env.push(("HOME".into(), self.sandbox.home_inside().into()));
        if self.sandbox.home_inside() != self.sandbox.home_at {
            let found = toolchain_variables(&self.sandbox.home_at, |name| variable(&env, name));
            env.extend(found.into_iter().map(|(name, path)| (name.into(), path.into())));
        }
        env
    }
}

fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_the_loader_what_to_load_does_not_reach_what_makes_a_sandbox() {
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES", "GCONV_PATH"] {
            assert!(is_of_loader(OsStr::new(name)), "{name}");
        }
        assert!(!is_of_loader(OsStr::new("LDFLAGS")) && !is_of_loader(OsStr::new("PATH")));
    }
}
