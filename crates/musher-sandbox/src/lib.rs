//! Confines a program: what it sees of the machine, and what it may ask of the kernel.
//!
//! bubblewrap makes namespaces in which only chosen places of the machine are there. Inside, a helper takes away what
//! namespaces leave open (system calls, signals, abstract sockets, descriptors) and becomes the program. A sandbox that cannot be
//! had is an error and never a weaker one. Where namespaces cannot be made, rules of Landlock alone are another, weaker sandbox,
//! which has to be asked for by its own name.

#[cfg(not(target_os = "linux"))]
compile_error!("musher-sandbox runs on Linux; on Windows use WSL2");

mod arguments;
mod backend;
mod container;
mod engine;
mod enter;
mod filter;
mod forward;
mod host;
mod inside;
mod mount;
mod probe;
mod program;
mod rules;
mod sandbox;
mod system;

pub use backend::SandboxBackend;
pub use container::{ContainerBackend, ContainerEngine};
pub use forward::{PROXY_FOLDER, PROXY_PORTS, PROXY_SOCKETS, forward};
pub use host::{BadHost, Destination, HostName, HostRule, is_public, stands_for};
pub use inside::{InsideOptions, InsidePart, InsideProgram, Restrictions, SandboxEntrance, inside};
pub use mount::{Mount, MountAccess};
pub use probe::{SCOPES_SINCE, SandboxProbe, SandboxUnavailable, in_memory, probe, try_out};
pub use program::{program_mounts, toolchain_mounts, toolchain_variables};
pub use rules::AllowedPlaces;
pub use sandbox::{
    CommandMounts, ConfinedCommand, SANDBOX_GID, SANDBOX_UID, Sandbox, SandboxLimits,
    SandboxNetwork,
};
pub use system::certificate_mounts;

/// The verb of the helper, as the sandbox calls it.
pub const INSIDE_VERB: &str = "inside";
/// The verb of the process that carries connections to the proxy.
pub const FORWARD_VERB: &str = "inside-forward";
