//! A sandbox that is a container: the command line of an engine, and what becomes of containers that are left.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::INSIDE_VERB;
use crate::engine;
use crate::mount::{Mount, MountAccess};
use crate::probe::SandboxUnavailable;
use crate::sandbox::{CommandMounts, ConfinedCommand, Sandbox, SandboxNetwork, is_superuser};

/// Where engines are looked for, the better one first: podman needs no service of the superuser. `PATH` is not used, because another
/// program could be put there.
const ENGINES: &[(&str, ContainerEngine)] = &[
    ("/usr/bin/podman", ContainerEngine::Podman),
    ("/usr/local/bin/podman", ContainerEngine::Podman),
    ("/usr/bin/docker", ContainerEngine::Docker),
    ("/usr/local/bin/docker", ContainerEngine::Docker),
];

/// How the names of containers begin. What follows is the mark of the run.
const NAME_START: &str = "musher-";

/// Which engine makes containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerEngine {
    Podman,
    Docker,
}

impl ContainerEngine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// An engine of this machine, and the image that its containers are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerBackend {
    pub engine: ContainerEngine,
    pub program: PathBuf,
    pub image: String,
    /// The variables of the engine's client, the same for every call: another service would not know its containers.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

impl ContainerBackend {
    /// Containers of this image, by the first engine that is installed. `get` finds the variables of the server.
    pub fn of<'a>(
        image: &str,
        get: impl Fn(&str) -> Option<&'a OsStr>,
    ) -> Result<Self, SandboxUnavailable> {
        let found = ENGINES.iter().find(|(path, _)| Path::new(path).exists());
        let (path, engine) = found.ok_or(SandboxUnavailable::NoEngine)?;
        let variables = engine::own_variables(get);
        Ok(Self { engine: *engine, program: path.into(), image: image.to_owned(), variables })
    }

    /// The name of a container of the run with this mark. `part` tells it from others of the same run.
    pub fn name(mark: &str, part: &str) -> String {
        format!("{NAME_START}{mark}-{part}")
    }

    /// Ends and removes every container of the run with this mark. It waits for the engine, so it belongs on a thread that may block.
    pub fn remove(&self, mark: &str) -> io::Result<()> {
        match self.remove_once(mark) {
            Ok(()) => Ok(()),
            // Somebody may have killed what the engine waits for; it has noticed by now.
            Err(_) => self.remove_once(mark),
        }
    }

    fn remove_once(&self, mark: &str) -> io::Result<()> {
        let filter = format!("name=^{}", Self::name(mark, ""));
        let listed = self.ask(&["ps", "--all", "--quiet", "--filter", &filter])?;
        let ids: Vec<&str> = listed.split_whitespace().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let remove: &[&str] = match self.engine {
            // It would leave the program time to end by itself.
            ContainerEngine::Podman => &["rm", "--force", "--time=0"],
            ContainerEngine::Docker => &["rm", "--force"],
        };
        self.ask(&[remove, ids.as_slice()].concat()).map(drop)
    }

    /// Whether a variable is for an engine, and must not reach a program inside.
    pub fn is_of_engine(name: &OsStr) -> bool {
        name.to_str().is_some_and(engine::is_own)
    }

    fn ask(&self, args: &[&str]) -> io::Result<String> {
        let mut client = engine::client(&self.program, &self.variables);
        client.args(args);
        let reply = engine::ask(client)
            .map_err(|error| io::Error::new(error.kind(), self.said(&error.to_string())))?;
        match reply.status.success() {
            true => Ok(reply.stdout),
            false => Err(io::Error::other(self.said(&reply.stderr))),
        }
    }

    fn said(&self, what: &str) -> String {
        format!("{}: {what}", self.engine.name())
    }

    /// The command that starts a program in a container of its own.
    pub(crate) fn command(
        &self,
        sandbox: &Sandbox,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
        more: &CommandMounts,
    ) -> Result<ConfinedCommand, SandboxUnavailable> {
        let mut line: Vec<OsString> = Vec::new();
        let mut add = |words: &[&OsStr]| line.extend(words.iter().map(|word| word.into()));
        for word in self.fixed(sandbox) {
            add(&[OsStr::new(&word)]);
        }
        if let Some(name) = &more.name {
            add(&["--name".as_ref(), name.as_ref()]);
        }
        for name in &more.variables {
            // Without a value, which is taken from the client's own variables: other users can read a command line.
            add(&["--env".as_ref(), name]);
        }
        for (target, mount) in places(sandbox, more) {
            let spec = bound(&mount.source, &target, mount.access)?;
            add(&["--mount".as_ref(), &spec]);
        }
        add(&["--workdir".as_ref(), cwd.as_os_str()]);
        add(&["--entrypoint".as_ref(), sandbox.helper.as_os_str(), "--".as_ref()]);
        add(&[self.image.as_ref(), INSIDE_VERB.as_ref()]);
        if sandbox.network == SandboxNetwork::Proxy {
            add(&["--proxy".as_ref()]);
        }
        add(&["--".as_ref(), program.as_os_str()]);
        line.extend(args.iter().cloned());
        Ok(ConfinedCommand { program: self.program.clone(), options: Vec::new(), inside: line })
    }

    /// What does not depend on the program.
    fn fixed(&self, sandbox: &Sandbox) -> Vec<String> {
        let mut words = vec![
            "run",
            "--rm",
            "--interactive",
            // It takes in orphans, and hands signals on to the program.
            "--init",
            // What is started is what the person has fetched.
            "--pull=never",
            // The runner keeps what the program says.
            "--log-driver=none",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            // The folders of the person have no label for containers, and are given none.
            "--security-opt=label=disable",
            "--read-only",
            "--tmpfs=/run",
            "--tmpfs=/var/tmp",
        ];
        words.push(match sandbox.network {
            // The network of the machine, as in a sandbox of bubblewrap; that of an engine would need its own programs.
            SandboxNetwork::Host => "--network=host",
            SandboxNetwork::None | SandboxNetwork::Proxy => "--network=none",
        });
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let (user, group) =
            (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if self.engine == ContainerEngine::Podman {
            // Or it would hand on the proxies of the machine.
            words.push("--http-proxy=false".into());
            if !is_superuser() {
                words.push("--userns=keep-id".into());
            }
        }
        words.push(format!("--user={user}:{group}"));
        if let Some(most) = sandbox.limits.processes {
            words.push(format!("--pids-limit={most}"));
        }
        if let Some(bytes) = sandbox.limits.memory {
            // The same for memory and swap together means that nothing is swapped.
            words.extend([format!("--memory={bytes}b"), format!("--memory-swap={bytes}b")]);
        }
        if let Some(millis) = sandbox.limits.cpu_millis {
            words.push(format!("--cpus={}.{:03}", millis / 1000, millis % 1000));
        }
        words
    }
}

/// What is bound, by where it is inside. An engine takes one mount for each place; the last one counts, as with bubblewrap.
fn places(sandbox: &Sandbox, more: &CommandMounts) -> BTreeMap<PathBuf, Mount> {
    let own =
        [Mount::write(&sandbox.tmp).at("/tmp"), Mount::write(&sandbox.home).at(&sandbox.home_at)];
    let helper = Mount::read(&sandbox.helper);
    let all = own.iter().chain(&more.tools).chain(&sandbox.mounts).chain(&more.files);
    all.chain([&helper])
        .filter(|mount| !mount.optional || mount.source.exists())
        .map(|mount| (mount.target.clone(), mount.clone()))
        .collect()
}

/// A mount as engines read it, which is a line of fields with commas between them.
fn bound(
    source: &Path,
    target: &Path,
    access: MountAccess,
) -> Result<OsString, SandboxUnavailable> {
    for path in [source, target] {
        if path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b',' | b'"' | b'\n')) {
            return Err(SandboxUnavailable::OddPath(path.to_owned()));
        }
    }
    let mut spec = OsString::from("type=bind,source=");
    spec.push(source);
    spec.push(",target=");
    spec.push(target);
    if access == MountAccess::Read {
        spec.push(",readonly");
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::SandboxBackend;
    use crate::sandbox::SandboxLimits;

    fn sandbox(engine: ContainerEngine, network: SandboxNetwork) -> Sandbox {
        let program = Path::new("/usr/bin").join(engine.name());
        let image = "localhost/agents:1".into();
        let container = ContainerBackend { engine, program, image, variables: BTreeMap::new() };
        let mut sandbox = Sandbox {
            helper: "/opt/musher".into(),
            home: "/s/home".into(),
            home_at: "/home/ann".into(),
            tmp: "/s/tmp".into(),
            mounts: vec![
                Mount::write("/w"),
                Mount::read("/w/.git"),
                Mount::read("/none").if_there(),
            ],
            nested: false,
            network,
            hosts: Vec::new(),
            limits: SandboxLimits::default(),
            terminal: false,
            backend: SandboxBackend::Container(container),
        };
        sandbox.limits =
            SandboxLimits { processes: Some(40), memory: Some(1 << 20), cpu_millis: Some(1500) };
        sandbox
    }

    fn line(sandbox: &Sandbox) -> Result<Vec<String>, SandboxUnavailable> {
        let more = CommandMounts {
            variables: vec!["KEY".into()],
            name: Some(ContainerBackend::name("0123456789abcdef", "1")),
            ..CommandMounts::default()
        };
        let args = ["-p".into(), "--".into()];
        let command = sandbox.command("agent".as_ref(), &args, "/w".as_ref(), &more)?;
        Ok(command.plain_args().iter().map(|word| word.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn the_command_line_of_an_engine_is_this_one() {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let (user, group) = (user.as_raw(), group.as_raw());
        let keep = if user == 0 { "" } else { " --userns=keep-id" };
        let begin = "run --rm --interactive --init --pull=never --log-driver=none --cap-drop=ALL \
                     --security-opt=no-new-privileges --security-opt=label=disable --read-only --tmpfs=/run --tmpfs=/var/tmp";
        let end = "--pids-limit=40 --memory=1048576b --memory-swap=1048576b --cpus=1.500 --name musher-0123456789abcdef-1 --env KEY \
                   --mount type=bind,source=/s/home,target=/home/ann \
                   --mount type=bind,source=/opt/musher,target=/opt/musher,readonly \
                   --mount type=bind,source=/s/tmp,target=/tmp --mount type=bind,source=/w,target=/w \
                   --mount type=bind,source=/w/.git,target=/w/.git,readonly --workdir /w --entrypoint /opt/musher -- \
                   localhost/agents:1 inside";
        let podman = line(&sandbox(ContainerEngine::Podman, SandboxNetwork::Host)).unwrap();
        let user = format!("--user={user}:{group}");
        let wanted =
            format!("{begin} --network=host --http-proxy=false{keep} {user} {end} -- agent -p --");
        assert_eq!(podman.join(" "), wanted);
        let docker = line(&sandbox(ContainerEngine::Docker, SandboxNetwork::Proxy)).unwrap();
        let wanted = format!("{begin} --network=none {user} {end} --proxy -- agent -p --");
        assert_eq!(docker.join(" "), wanted);
    }

    #[test]
    fn a_path_that_an_engine_would_read_as_more_than_one_is_refused() {
        let mut sandbox = sandbox(ContainerEngine::Docker, SandboxNetwork::None);
        sandbox.mounts.push(Mount::read("/a,source=/"));
        assert!(matches!(line(&sandbox), Err(SandboxUnavailable::OddPath(_))));
    }
}
