//! What Musher needs of the operating system beyond the standard library. It knows nothing of agents, git or HTTP.

#[cfg(not(target_os = "linux"))]
compile_error!("musher-os runs on Linux; on Windows use WSL2");

pub mod fail;
pub mod reserved_space;
pub mod tuning;
pub mod untrusted;
