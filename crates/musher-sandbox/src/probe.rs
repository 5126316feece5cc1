//! Whether this machine can make a sandbox, found out by making one.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::SandboxBackend;
use crate::container::ContainerBackend;
use crate::engine;
use crate::sandbox::{CommandMounts, Sandbox, SandboxLimits, SandboxNetwork};

/// Where bubblewrap is looked for. `PATH` is not used: another program could be put there.
const PLACES: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
/// The version of Landlock that confines signals and abstract sockets.
pub const SCOPES_SINCE: u32 = 6;
/// Tells the probes of this process from each other.
static PROBES: AtomicU64 = AtomicU64::new(0);
/// The bit that lets a program run with the rights of its owner.
const SETUID: u32 = 0o4000;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxUnavailable {
    #[error("bubblewrap (bwrap) is not installed")]
    Missing,
    #[error("{} is a setuid program, which is not used", .0.display())]
    Setuid(PathBuf),
    #[error("a link is in the way of a mount: {}", .0.display())]
    Link(PathBuf),
    #[error("bubblewrap cannot make a sandbox on this machine: {0}")]
    Refused(String),
    #[error("this kernel has no Landlock that holds files and signals")]
    NoLandlock,
    #[error("Landlock does not hold a program on this machine: {0}")]
    RulesRefused(String),
    #[error("no container engine is installed")]
    NoEngine,
    #[error("{engine} cannot run Musher's helper in a container of {image}: {said}")]
    NoContainer { engine: &'static str, image: String, said: String },
    #[error("a container cannot be given {}: a comma, a quote or a line break is in its name", .0.display())]
    OddPath(PathBuf),
    #[error("the sandbox cannot be tried out: {0}")]
    Untried(#[from] std::io::Error),
}

impl SandboxUnavailable {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing => {
                "install the package `bubblewrap`; or set profile = \"landlock\", which is weaker, or \"off\""
            }
            Self::Setuid(_) => {
                "install a bubblewrap without the setuid bit, or set profile = \"off\""
            }
            Self::Link(_) => "remove it: a program in the sandbox has put it there",
            Self::Refused(_) => {
                "allow user namespaces (docs/security.md says how); or set profile = \"landlock\", which is weaker, or \"off\""
            }
            Self::NoLandlock => {
                "use Linux 6.12 or newer with Landlock among its `lsm`, or set another profile"
            }
            Self::NoEngine => "install podman or docker, or leave `image` out",
            Self::NoContainer { .. } => {
                "see that the engine answers, that the image was fetched, and that it has glibc (docs/security.md says what else), or leave `image` out"
            }
            Self::OddPath(_) => "give it another name, or leave `image` out",
            Self::RulesRefused(_) => "set profile = \"workspace\", or \"off\"",
            Self::Untried(_) => "see that the folder for temporary files can be written",
        }
    }
}

/// What this machine has for sandboxes.
#[derive(Debug)]
pub struct SandboxProbe {
    pub bubblewrap: Result<PathBuf, SandboxUnavailable>,
    /// The version of Landlock, without which signals and abstract sockets are not confined.
    pub landlock: Option<u32>,
    /// Whether rules of Landlock alone hold a program.
    pub alone: Result<(), SandboxUnavailable>,
    pub superuser: bool,
}

/// bubblewrap, if it is there and fit to be used.
pub(crate) fn bubblewrap() -> Result<PathBuf, SandboxUnavailable> {
    for path in PLACES.iter().map(Path::new) {
        let Ok(about) = path.metadata() else { continue };
        if about.mode() & SETUID != 0 {
            return Err(SandboxUnavailable::Setuid(path.to_owned()));
        }
        return Ok(path.to_owned());
    }
    Err(SandboxUnavailable::Missing)
}

/// Makes each sandbox around a program that does nothing, as it would be made around an agent. `scratch` is a private folder.
pub fn probe(helper: &Path, scratch: &Path) -> SandboxProbe {
    let tried = |backend| try_out(&backend, helper, scratch);
    SandboxProbe {
        bubblewrap: bubblewrap().and_then(|path| tried(SandboxBackend::Namespaces).map(|()| path)),
        landlock: landlock_version(),
        alone: tried(SandboxBackend::Landlock),
        superuser: crate::sandbox::is_superuser(),
    }
}

/// Makes one sandbox around a program that does nothing.
pub fn try_out(
    backend: &SandboxBackend,
    helper: &Path,
    scratch: &Path,
) -> Result<(), SandboxUnavailable> {
    let network = match backend {
        SandboxBackend::Namespaces | SandboxBackend::Container(_) => SandboxNetwork::None,
        SandboxBackend::Landlock if landlock_version().is_none_or(|it| it < SCOPES_SINCE) => {
            return Err(SandboxUnavailable::NoLandlock);
        }
        SandboxBackend::Landlock => SandboxNetwork::Host,
    };
    let (home, tmp) = (scratch.join("home"), scratch.join("tmp"));
    for folder in [&home, &tmp] {
        std::fs::create_dir_all(folder)?;
    }
    let sandbox = Sandbox {
        helper: helper.to_owned(),
        home_at: home.clone(),
        home,
        tmp,
        mounts: Vec::new(),
        nested: false,
        network,
        hosts: Vec::new(),
        limits: SandboxLimits::default(),
        terminal: false,
        backend: backend.clone(),
    };
    let probe = PROBES.fetch_add(1, Ordering::Relaxed);
    let mark = format!("probe-{}-{probe}", std::process::id());
    let name = Some(ContainerBackend::name(&mark, "1"));
    let more = CommandMounts { name, ..CommandMounts::default() };
    // An image may have no other program that can be counted on.
    let (program, args) = match backend {
        SandboxBackend::Container(_) => (helper, vec!["--version".into()]),
        SandboxBackend::Namespaces | SandboxBackend::Landlock => ("/usr/bin/true".as_ref(), vec![]),
    };
    let command = sandbox.command(program, &args, Path::new("/"), &more)?;
    let none = BTreeMap::new();
    let variables = match backend {
        SandboxBackend::Container(container) => &container.variables,
        SandboxBackend::Namespaces | SandboxBackend::Landlock => &none,
    };
    let stdin = 0;
    let mut tried = engine::client(&command.program, variables);
    tried.args(command.args(stdin)).stdin(Stdio::from(in_memory(&command.options)?));
    let tried = engine::ask(tried);
    if let (Err(_), SandboxBackend::Container(container)) = (&tried, backend) {
        container.remove(&mark)?;
    }
    let tried = tried?;
    if tried.status.success() {
        return Ok(());
    }
    let said = tried.stderr;
    let said = if said.is_empty() { tried.status.to_string() } else { said };
    Err(match backend {
        SandboxBackend::Namespaces => SandboxUnavailable::Refused(said),
        SandboxBackend::Landlock => SandboxUnavailable::RulesRefused(said),
        SandboxBackend::Container(container) => SandboxUnavailable::NoContainer {
            engine: container.engine.name(),
            image: container.image.clone(),
            said,
        },
    })
}

/// A file in memory with these bytes, to be read from its beginning.
pub fn in_memory(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("arguments", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    std::io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

fn landlock_version() -> Option<u32> {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
    };
    // What the kernel does not know is an error here, and is passed over only when a sandbox is made.
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let is_there = |ruleset: Result<Ruleset, RulesetError>| {
        ruleset.and_then(|ruleset| ruleset.create()).is_ok()
    };
    let files = is_there(strict().handle_access(AccessFs::from_all(ABI::V1)));
    match (files, is_there(strict().scope(Scope::Signal))) {
        (false, _) => None,
        (true, false) => Some(1),
        (true, true) => Some(SCOPES_SINCE),
    }
}
