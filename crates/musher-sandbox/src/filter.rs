//! The system calls that a confined program may not make.

use std::collections::BTreeMap;

use libc::{ENOSYS, EPERM, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that reach past a namespace, or whose history of holes is longer than their use to an agent.
const REFUSED: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_process_madvise,
];

/// Calls that change what is mounted or which namespace one is in.
const NAMESPACES: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
];

/// A call with `fchmodat2` has this number on every architecture.
const FCHMODAT2: c_long = 452;
/// The bit that lets a program run with the rights of its owner.
const SETUID: u64 = 0o4000;
const NEWUSER: u64 = libc::CLONE_NEWUSER as u64;
const CREATE: u64 = libc::O_CREAT as u64;
/// Put into a terminal's input what another program would read as typed.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// Numbers from here on are calls of another convention, which the same kernel may know by the same architecture.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// A filter could not be written; it is the same on every machine of an architecture, so tests see it.
#[derive(Debug, thiserror::Error)]
#[error("the filter of system calls cannot be made: {0}")]
pub(crate) struct FilterError(#[from] seccompiler::BackendError);

/// The filters, to be set one after the other.
pub(crate) fn filters(nested: bool) -> Result<Vec<BpfProgram>, FilterError> {
    let mut refused: BTreeMap<c_long, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    refused.insert(libc::SYS_ioctl, ioctls()?);
    refused.insert(libc::SYS_socket, vec![other_sockets()?]);
    for (call, rule) in setuid_files()? {
        refused.entry(call).or_default().push(rule);
    }
    // Programs try these first and go on with an older call where they are absent. What they are asked for lies in memory, where
    // no filter can look.
    let mut absent = vec![libc::SYS_openat2];
    if !nested {
        refused.extend(NAMESPACES.iter().map(|call| (*call, Vec::new())));
        refused.insert(libc::SYS_unshare, vec![rule([masked(0, NEWUSER)?])?]);
        refused.insert(libc::SYS_clone, vec![rule([masked(0, NEWUSER)?])?]);
        absent.push(libc::SYS_clone3);
    }
    let absent = absent.into_iter().map(|call| (call, Vec::new())).collect();
    let mut filters = vec![filter(refused, EPERM)?, filter(absent, ENOSYS)?];
    #[cfg(target_arch = "x86_64")]
    filters.push(without_x32());
    filters.shrink_to_fit();
    Ok(filters)
}

fn filter(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, FilterError> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()?)
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, FilterError> {
    Ok(SeccompRule::new(conditions.into())?)
}

/// All bits of a mask are set in an argument. The kernel looks at the lower half of these arguments alone.
fn masked(argument: u8, mask: u64) -> Result<SeccompCondition, FilterError> {
    Ok(SeccompCondition::new(argument, Len::Dword, Op::MaskedEq(mask), mask)?)
}

fn ioctls() -> Result<Vec<SeccompRule>, FilterError> {
    let ioctl = |request| rule([SeccompCondition::new(1, Len::Dword, Op::Eq, request)?]);
    Ok(vec![ioctl(TIOCSTI)?, ioctl(TIOCLINUX)?])
}

/// Sockets of families that a network namespace does not hold, or that nobody needs.
fn other_sockets() -> Result<SeccompRule, FilterError> {
    let is_not = |family: i32| {
        SeccompCondition::new(0, Len::Dword, Op::Ne, u64::from(family.unsigned_abs()))
    };
    let [unix, v4, v6, netlink] =
        [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(is_not);
    rule([unix?, v4?, v6?, netlink?])
}

/// A setuid file runs with our rights for any user of the machine who starts it.
fn setuid_files() -> Result<Vec<(c_long, SeccompRule)>, FilterError> {
    let mut rules = vec![
        (libc::SYS_fchmod, rule([masked(1, SETUID)?])?),
        (libc::SYS_fchmodat, rule([masked(2, SETUID)?])?),
        (FCHMODAT2, rule([masked(2, SETUID)?])?),
        (libc::SYS_mknodat, rule([masked(2, SETUID)?])?),
        (libc::SYS_openat, rule([masked(2, CREATE)?, masked(3, SETUID)?])?),
    ];
    #[cfg(target_arch = "x86_64")]
    rules.extend([
        (libc::SYS_chmod, rule([masked(1, SETUID)?])?),
        (libc::SYS_creat, rule([masked(1, SETUID)?])?),
        (libc::SYS_mknod, rule([masked(1, SETUID)?])?),
        (libc::SYS_open, rule([masked(1, CREATE)?, masked(2, SETUID)?])?),
    ]);
    Ok(rules)
}

/// Refuses calls of the other convention, which the filters by number would not notice.
#[cfg(target_arch = "x86_64")]
fn without_x32() -> BpfProgram {
    use seccompiler::sock_filter;
    let op = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let number = 0;
    vec![
        op((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0, number),
        op((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, 0, 1, X32_BIT),
        op((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, libc::SECCOMP_RET_ERRNO | ENOSYS as u32),
        op((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_written_with_and_without_namespaces_inside() {
        let (closed, nested) = (filters(false).unwrap(), filters(true).unwrap());
        assert!(closed[0].len() > nested[0].len(), "namespaces are refused");
    }
}
