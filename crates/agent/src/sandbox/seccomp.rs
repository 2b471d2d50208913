//! System calls that no program of a renter needs and that widen the way out.
//!
//! Everything else stays allowed: the walls are the namespaces and the user id,
//! and this filter takes away the parts of the kernel that most often had holes.

use std::collections::BTreeMap;

use base::{Error, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Refused with "operation not permitted".
const DENIED: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Answered with "no such system call", which makes programs use the older way.
const ABSENT: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// New time namespaces; for `clone` the same bit is part of the exit signal.
const CLONE_NEWTIME: u64 = 0x80;
/// Pushes characters into another terminal's input.
const TIOCSTI: u64 = 0x5412;
/// Reads and writes the consoles' screens and keyboards.
const TIOCLINUX: u64 = 0x541c;

/// The filters, to be applied one after the other, as bytes for bubblewrap.
///
/// # Errors
/// `internal` on an architecture that the filter does not know.
pub fn filters() -> Result<Vec<Vec<u8>>> {
    let absent = ABSENT.iter().map(|nr| (*nr, Vec::new())).collect();
    Ok(vec![
        bytes(&foreign_calls_absent(program(denied()?, libc::EPERM)?)),
        bytes(&foreign_calls_absent(program(absent, libc::ENOSYS)?)),
    ])
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn denied() -> Result<Rules> {
    let mut rules: Rules = DENIED.iter().map(|nr| (*nr, Vec::new())).collect();
    let bits = NAMESPACES.iter().map(|bit| u64::from(bit.unsigned_abs()));
    let clone = bits.clone().map(|bit| when(0, SeccompCmpOp::MaskedEq(bit), bit)).collect::<Result<_>>()?;
    let unshare =
        bits.chain([CLONE_NEWTIME]).map(|bit| when(0, SeccompCmpOp::MaskedEq(bit), bit)).collect::<Result<_>>()?;
    rules.insert(libc::SYS_clone, clone);
    rules.insert(libc::SYS_unshare, unshare);
    rules.insert(libc::SYS_ioctl, vec![when(1, SeccompCmpOp::Eq, TIOCSTI)?, when(1, SeccompCmpOp::Eq, TIOCLINUX)?]);
    // 0 is Linux; all ones asks which it is; everything else is for foreign systems.
    let foreign = SeccompRule::new(vec![
        condition(0, SeccompCmpOp::Ne, 0)?,
        condition(0, SeccompCmpOp::Ne, 0xffff_ffff)?,
        condition(0, SeccompCmpOp::Ne, u64::from(libc::ADDR_NO_RANDOMIZE.unsigned_abs()))?,
    ])
    .map_err(Error::internal)?;
    rules.insert(libc::SYS_personality, vec![foreign]);
    Ok(rules)
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map_err(Error::internal)
}

fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, op, value)?]).map_err(Error::internal)
}

fn program(rules: Rules, errno: libc::c_int) -> Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(Error::internal)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(Error::internal)?;
    filter.try_into().map_err(Error::internal)
}

/// On x86-64 the kernel may offer a second set of numbers for the same calls,
/// which a filter by number would let through.
fn foreign_calls_absent(program: BpfProgram) -> BpfProgram {
    if !cfg!(target_arch = "x86_64") {
        return program;
    }
    let load_number = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let unless_foreign = sock_filter { code: 0x35, jt: 0, jf: 1, k: 0x4000_0000 };
    let absent = sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0005_0000 | libc::ENOSYS.unsigned_abs() };
    [load_number, unless_foreign, absent].into_iter().chain(program).collect()
}

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let instruction = |i: &sock_filter| {
        let [a, b] = i.code.to_ne_bytes();
        let [c, d, e, f] = i.k.to_ne_bytes();
        [a, b, i.jt, i.jf, c, d, e, f]
    };
    program.iter().flat_map(instruction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_whole_programs() {
        let filters = filters().unwrap();
        assert_eq!(filters.len(), 2);
        for filter in filters {
            assert_eq!(filter.len() % 8, 0);
            assert!(filter.len() / 8 < 4_096, "longer than the kernel takes");
        }
    }

    #[test]
    fn no_call_is_both_denied_and_absent() {
        assert!(ABSENT.iter().all(|nr| !DENIED.contains(nr)));
    }
}
