//! The way into a sandbox that is kept by another process.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;

use rustix::thread::{
    CapabilitySet, CapabilitySets, ThreadNameSpaceType, clear_ambient_capability_set,
    move_into_thread_name_spaces, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use crate::inside::{InsideProgram, SandboxEntrance};

/// What shells and bubblewrap add to the number of a signal that has ended a program.
const SIGNAL_EXIT_BASE: i32 = 128;

/// Enters every namespace of the holder in one call: bubblewrap leaves a second user namespace that does not own the others, so
/// that one after the other would be refused.
#[expect(unsafe_code, reason = "the descriptor was handed over by number")]
pub(crate) fn enter(entrance: &SandboxEntrance) -> io::Result<()> {
    // SAFETY: the runner leaves the descriptor open for this process, and nothing here closes it before it is used.
    let holder = unsafe { BorrowedFd::borrow_raw(entrance.holder) };
    let mut namespaces = ThreadNameSpaceType::USER
        | ThreadNameSpaceType::MOUNT
        | ThreadNameSpaceType::PROCESS_ID
        | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION
        | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME;
    namespaces.set(ThreadNameSpaceType::NETWORK, entrance.network);
    // One of control groups is there only where the kernel lets bubblewrap make it.
    let with_groups = namespaces | ThreadNameSpaceType::CONTROL_GROUP;
    move_into_thread_name_spaces(holder, with_groups)
        .or_else(|_| move_into_thread_name_spaces(holder, namespaces))
        .map_err(unentered)?;
    give_up_capabilities().map_err(unentered)?;
    rustix::process::chdir(&entrance.folder).map_err(unentered)
}

fn unentered(error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("the sandbox cannot be entered: {error}"))
}

/// Who enters a user namespace has every capability in it until they are given up.
pub(crate) fn give_up_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all() {
        match remove_capability_from_bounding_set(capability) {
            // One that this kernel does not know; or that this user could not have, and now never will.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Starts the program, which is in the namespace of processes as this process cannot be, and tells how it ended.
pub(crate) fn start(program: &InsideProgram) -> io::Result<u8> {
    let status = program.command().status().map_err(|error| program.unstarted(&error))?;
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNAL_EXIT_BASE + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
