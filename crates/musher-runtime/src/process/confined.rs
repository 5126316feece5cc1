//! A process inside of a sandbox: what is shown to it, and which of its variables still mean something there.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use musher_sandbox::{
    CommandMounts, Mount, PROXY_PORTS, Sandbox, SandboxNetwork, certificate_mounts, in_memory,
    program_mounts, toolchain_mounts,
};

use super::Launch;

/// Variables that lead to services of the user's session, none of which is there inside.
const LEFT_OUT: &[&str] =
    &["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"];

/// Variables by which programs find a proxy, each in both ways to write it.
const HTTP_PROXIES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
const SOCKS_PROXIES: &[&str] = &["ALL_PROXY", "all_proxy"];
const NO_PROXIES: &[&str] = &["NO_PROXY", "no_proxy"];

/// The sandbox of a process, and what it is handed there.
#[derive(Debug, Clone)]
pub(crate) struct Confinement {
    sandbox: Arc<Sandbox>,
    /// What is shown to this process alone.
    pub(crate) files: Vec<Mount>,
}

/// How a process in a sandbox is started.
pub(super) struct ConfinedStart {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    /// Must be open in the process, at the number that the arguments name.
    pub(super) options: OwnedFd,
}

impl Confinement {
    pub(crate) fn of(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox, files: Vec::new() }
    }

    pub(super) fn start(&self, launch: &Launch) -> io::Result<ConfinedStart> {
        let env = self.environment(&launch.env);
        let variable = |name: &str| {
            env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
        };
        let mut tools = toolchain_mounts(&self.sandbox.home_at, variable);
        tools.extend(program_mounts(&launch.program, &self.sandbox.home_at));
        let pairs = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        tools.extend(certificate_mounts(pairs));
        let more = CommandMounts { tools, files: self.files.clone() };
        let confined = self
            .sandbox
            .command(&launch.program, &launch.args, &launch.cwd, &more)
            .map_err(io::Error::other)?;
        let options = in_memory(&confined.options)?;
        let args = confined.args(options.as_raw_fd());
        Ok(ConfinedStart { program: confined.program, args, env, options })
    }

    fn environment(&self, given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is = |name: &OsStr, names: &[&str]| names.iter().any(|known| name == *known);
        let mut env: Vec<(OsString, OsString)> =
            given.iter().filter(|(name, _)| !is(name, LEFT_OUT)).cloned().collect();
        let own = |path: &OsStr| {
            let shown = |mount: &Mount| mount.shows(path.as_ref());
            self.files.iter().chain(&self.sandbox.mounts).any(shown)
        };
        env.retain(|(name, value)| !is(name, &["TMPDIR"]) || own(value));
        if !env.iter().any(|(name, _)| is(name, &["TMPDIR"])) {
            env.push(("TMPDIR".into(), "/tmp".into()));
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
        env.push(("HOME".into(), self.sandbox.home_at.clone().into()));
        env
    }
}
