//! Making a ring, as good as the kernel has them.

use std::io;

use io_uring::{Builder, IoUring};

/// Ways to set a ring up, best first; each older kernel knows fewer flags and answers EINVAL.
///
/// `SINGLE_ISSUER` and `DEFER_TASKRUN` (6.1) let completions be handled when we ask for them and
/// not by interrupting us; `SUBMIT_ALL` (5.18) keeps a batch together over a bad request;
/// `NO_SQARRAY` (6.6) saves one indirection a request; `COOP_TASKRUN` (5.19) saves interrupts.
const WAYS: [fn(&mut Builder); 4] = [
    |ring| {
        ring.setup_submit_all().setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    },
    |ring| {
        ring.setup_submit_all().setup_single_issuer().setup_defer_taskrun();
    },
    |ring| {
        ring.setup_submit_all().setup_coop_taskrun();
    },
    |_| {},
];

/// A ring for `entries` requests at once.
///
/// # Errors
/// ENOSYS: the kernel was built without it, or a sandbox hides it. EPERM: it is switched off
/// (sysctl `kernel.io_uring_disabled`) or a sandbox refuses it. EOPNOTSUPP: the kernel is older
/// than 5.11 and cannot wait for a limited time.
pub(crate) fn ring(entries: u32) -> io::Result<IoUring> {
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for way in WAYS {
        let mut builder = IoUring::builder();
        way(&mut builder);
        match builder.build(entries) {
            Ok(ring) if ring.params().is_feature_ext_arg() => return Ok(ring),
            Ok(_) => return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Whether this process may use `io_uring` here and now.
///
/// # Errors
/// As [`ring`].
pub(crate) fn probe() -> io::Result<()> {
    ring(2).map(drop)
}
