//! Rules about files, for a machine that makes no namespaces: the kernel lets a program use the places that it was given and no
//! other, although all are there to be seen.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

/// The version whose rights are used. One before it would leave out truncation or devices, and the one that has scopes has them all.
const RIGHTS: ABI = ABI::V5;

/// Devices that every program uses. They do not hold anything of the machine.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The places of the machine that a program may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPlaces {
    /// Those that it may read, and start programs from.
    pub read: Vec<PathBuf>,
    /// Those that it may change as well.
    pub write: Vec<PathBuf>,
}

/// The devices that are there on this machine.
pub(crate) fn devices() -> impl Iterator<Item = PathBuf> {
    DEVICES.iter().map(PathBuf::from).filter(|path| path.exists())
}

/// Takes every other place from this process, with signals and abstract sockets. What the kernel cannot do is an error: nothing
/// else holds the program.
pub(crate) fn restrict(places: &AllowedPlaces) -> io::Result<()> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(RIGHTS))
        .and_then(|ruleset| ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(|ruleset| ruleset.create());
    let mut ruleset = ruleset.map_err(io::Error::other)?;
    for path in &places.read {
        ruleset = allow(ruleset, path, AccessFs::from_read(RIGHTS))?;
    }
    // Devices are made by nobody here.
    let change = AccessFs::from_all(RIGHTS) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in &places.write {
        ruleset = allow(ruleset, path, change)?;
    }
    ruleset.restrict_self().map(drop).map_err(io::Error::other)
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    let named =
        |why: String| io::Error::other(format!("{} cannot be given: {why}", path.display()));
    let place = PathFd::new(path).map_err(|error| named(error.to_string()))?;
    let about = rustix::fs::fstat(place.as_fd()).map_err(|error| named(error.to_string()))?;
    let is_folder = rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(RIGHTS) };
    let allowed = ruleset.add_rule(PathBeneath::new(place, access));
    allowed.map_err(|error: RulesetError| named(error.to_string()))
}
