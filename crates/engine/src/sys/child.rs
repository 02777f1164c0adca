//! The end of a child process, and the processor time that it used.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use drivelab_core::units::Span;
use rustix::process::Pid;

use super::usage::span;

/// Has the kernel keep how children end until they are waited for, as it does by default.
///
/// A process whose parent ignores SIGCHLD starts with that, and then every wait fails with ECHILD
/// although the child ran.
pub fn expect_children() {
    // SAFETY: SIG_DFL is no handler, so that nothing of this process runs at the signal; SIGCHLD is
    // a signal whose disposition may be set. The call changes no memory of this process.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Waits for a child to end; returns how it ended, and its processor time and that of its
/// descendants that were waited for.
pub(crate) fn wait(pid: Pid) -> io::Result<(ExitStatus, Span)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the kernel writes one number and one `rusage`, to where both live until the call
        // returns.
        let ended =
            unsafe { libc::wait4(pid.as_raw_pid(), &raw mut status, 0, usage.as_mut_ptr()) };
        if ended == pid.as_raw_pid() {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroes are a valid `rusage`, and so is what the kernel wrote over them.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), span(usage.ru_utime) + span(usage.ru_stime)))
}
