//! What a project file says of the sandbox of its agents.

use std::path::{Component, Path, PathBuf};

use musher_sandbox::SandboxLimits;

use super::keys;
use super::reader::{At, TableFields, ValueReader, Wrong, shown};
use super::value;

/// How far an agent is confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxProfile {
    /// It has the rights of its user.
    #[default]
    Off,
    /// Rules of the kernel hold it to its worktree, a home of its own and the programs of the machine. Nothing is hidden from it, and
    /// much is not held.
    Landlock,
    /// It sees its worktree, a home of its own and the programs of the machine.
    Workspace,
    /// The same, and it reaches only hosts that are allowed.
    Strict,
}

impl SandboxProfile {
    const NAMES: &[(&str, Self)] = &[
        ("off", Self::Off),
        ("landlock", Self::Landlock),
        ("workspace", Self::Workspace),
        ("strict", Self::Strict),
    ];

    /// As it is written in a project file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Landlock => "landlock",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        }
    }
}

/// The sandbox of an agent, with every default filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    pub profile: SandboxProfile,
    /// More places of the machine that may be read.
    pub read: Vec<PathBuf>,
    /// More places of the machine that may be written.
    pub write: Vec<PathBuf>,
    /// Hosts that may be reached without asking, where the network is confined.
    pub hosts: Vec<String>,
    /// Caches of package managers that the sandboxes of this project share.
    pub caches: Vec<SandboxCache>,
    /// Sandboxes and browsers may make namespaces of their own.
    pub nested: bool,
    /// Processes and threads at the same time.
    pub processes: Option<u32>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Thousandths of a processor.
    pub cpu_millis: Option<u32>,
    /// The image of the containers that agents run in, instead of a sandbox on the machine itself.
    pub image: Option<String>,
}

impl SandboxConfig {
    pub fn limits(&self) -> SandboxLimits {
        SandboxLimits {
            processes: self.processes.map(u64::from),
            memory: self.memory,
            cpu_millis: self.cpu_millis,
        }
    }
}

impl SandboxConfig {
    /// Whether a program is one of the image, and not one of this machine.
    pub fn is_of_image(&self, program: &Path) -> bool {
        let contained = self.profile >= SandboxProfile::Workspace && self.image.is_some();
        contained && program.components().count() == 1
    }

    /// The key that its profile can do nothing with, if there is one.
    pub fn misplaced(&self) -> Option<&'static str> {
        match self.profile {
            // Nothing can be mounted, the limit would count all processes of the user, and no namespace can be made.
            SandboxProfile::Landlock if !self.caches.is_empty() => Some("caches"),
            SandboxProfile::Landlock if self.processes.is_some() => Some("processes"),
            SandboxProfile::Landlock if self.nested => Some("nested"),
            SandboxProfile::Landlock if self.image.is_some() => Some("image"),
            // An engine lets nobody make namespaces inside.
            SandboxProfile::Workspace | SandboxProfile::Strict
                if self.nested && self.image.is_some() =>
            {
                Some("nested")
            }
            SandboxProfile::Off
            | SandboxProfile::Landlock
            | SandboxProfile::Workspace
            | SandboxProfile::Strict => None,
        }
    }
}

/// A cache of a package manager: what it is called here, and where it is below a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxCache {
    pub name: &'static str,
    pub folders: &'static [&'static str],
}

const CACHES: &[SandboxCache] = &[
    SandboxCache { name: "cargo", folders: &[".cargo/registry", ".cargo/git"] },
    SandboxCache { name: "go", folders: &["go/pkg/mod"] },
    SandboxCache { name: "gradle", folders: &[".gradle/caches"] },
    SandboxCache { name: "maven", folders: &[".m2/repository"] },
    SandboxCache { name: "npm", folders: &[".npm"] },
    SandboxCache { name: "pip", folders: &[".cache/pip"] },
    SandboxCache { name: "pnpm", folders: &[".local/share/pnpm/store"] },
    SandboxCache { name: "uv", folders: &[".cache/uv"] },
    SandboxCache { name: "yarn", folders: &[".cache/yarn"] },
];

/// One `[sandbox]`, of a project or of an agent.
#[derive(Debug, Default)]
pub(super) struct RawSandbox {
    profile: Option<At<String>>,
    read: Vec<At<String>>,
    write: Vec<At<String>>,
    hosts: Vec<At<String>>,
    caches: Vec<At<String>>,
    nested: Option<bool>,
    processes: Option<u32>,
    memory: Option<At<String>>,
    cpu: Option<f64>,
    image: Option<At<String>>,
}

pub(super) fn read(
    reader: &mut ValueReader<'_>,
    fields: &TableFields<'_, '_>,
) -> Option<RawSandbox> {
    let fields = reader.table(fields, "sandbox", keys::SANDBOX)?;
    Some(RawSandbox {
        profile: reader.text(&fields, "profile"),
        read: reader.texts(&fields, "read"),
        write: reader.texts(&fields, "write"),
        hosts: reader.texts(&fields, "hosts"),
        caches: reader.texts(&fields, "caches"),
        nested: reader.flag(&fields, "nested"),
        processes: reader.count(&fields, "processes"),
        memory: reader.text(&fields, "memory"),
        cpu: reader.amount(&fields, "cpu"),
        image: reader.text(&fields, "image"),
    })
}

/// The sandbox that is meant: what an agent says goes before what the project says, and its lists are added to those.
pub(super) fn resolve(
    raw: Option<&RawSandbox>,
    project: &SandboxConfig,
    reader: &mut ValueReader<'_>,
) -> SandboxConfig {
    let Some(raw) = raw else { return project.clone() };
    let mut all = |given: &[At<String>]| -> Vec<PathBuf> {
        given.iter().filter_map(|given| reader.parse(given, place)).collect()
    };
    let (read, write) = (all(&raw.read), all(&raw.write));
    let profile = raw.profile.as_ref();
    let profile = profile
        .and_then(|name| reader.parse(name, |text| value::choice(text, SandboxProfile::NAMES)));
    let hosts: Vec<String> = raw.hosts.iter().filter_map(|rule| reader.parse(rule, host)).collect();
    let caches = raw.caches.iter().filter_map(|name| reader.parse(name, cache));
    let caches: Vec<SandboxCache> = caches.collect();
    let memory = raw.memory.as_ref().and_then(|size| reader.parse(size, value::size));
    let image = raw.image.as_ref().and_then(|name| reader.parse(name, image));
    SandboxConfig {
        profile: profile.unwrap_or(project.profile),
        read: [project.read.clone(), read].concat(),
        write: [project.write.clone(), write].concat(),
        hosts: [project.hosts.clone(), hosts].concat(),
        caches: [project.caches.clone(), caches].concat(),
        nested: raw.nested.unwrap_or(project.nested),
        processes: raw.processes.or(project.processes),
        memory: memory.or(project.memory),
        cpu_millis: raw.cpu.map(millis).or(project.cpu_millis),
        image: image.unwrap_or_else(|| project.image.clone()),
    }
}

/// Thousandths of a processor, at least one of them.
fn millis(processors: f64) -> u32 {
    (processors * 1000.0).clamp(1.0, f64::from(u32::MAX)) as u32
}

fn host(text: &str) -> Result<String, Wrong> {
    let fix =
        "write a host such as \"api.example.com\", \"*.example.com\" or \"db.example.com:5432\"";
    let rule = text.parse::<musher_sandbox::HostRule>();
    rule.map(|_| text.to_owned()).map_err(|error| Wrong::new(error.to_string()).with_fix(fix))
}

/// The name of an image; an empty one means none, also where the project names one.
fn image(text: &str) -> Result<Option<String>, Wrong> {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ':' | '@');
    match text.chars().next() {
        None => Ok(None),
        Some(first) if first.is_ascii_alphanumeric() && text.chars().all(plain) => {
            Ok(Some(text.to_owned()))
        }
        Some(_) => Err(Wrong::new(format!("`{}` is no name of an image", shown(text)))
            .with_fix("write one such as \"localhost/agents:1\"")),
    }
}

fn cache(text: &str) -> Result<SandboxCache, Wrong> {
    let choices: Vec<(&str, SandboxCache)> =
        CACHES.iter().map(|cache| (cache.name, *cache)).collect();
    value::choice(text, &choices)
}

/// A place of the machine: a whole path, or one below the home of the user.
fn place(text: &str) -> Result<PathBuf, Wrong> {
    let path = Path::new(text);
    let below_home = text.strip_prefix("~/").is_some_and(|rest| !rest.trim().is_empty());
    if text.chars().any(char::is_control) {
        return Err(Wrong::new("a path may not hold control characters"));
    }
    if !path.is_absolute() && !below_home {
        return Err(Wrong::new(format!("`{}` is no place of the machine", shown(text)))
            .with_fix("write a whole path, or one that begins with `~/`"));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(Wrong::new("a path may not climb with `..`").with_fix("write where it leads"));
    }
    if path.components().count() < 2 {
        return Err(Wrong::new("all of the machine would be no sandbox")
            .with_fix("name what is needed, or set profile = \"off\""));
    }
    Ok(path.to_owned())
}
