//! The errors of a drive that cannot become a block device.

use std::io;

use drivelab_core::Refusal;

use super::CONTROL;

/// The module is not loaded, or the kernel was built without it.
pub(super) fn no_driver() -> Refusal {
    Refusal::machine(format!("the ublk driver is not loaded: {CONTROL} does not exist")).hint(
        "load it with `modprobe ublk_drv` (Linux 6.5 or later with CONFIG_BLK_DEV_UBLK), \
                 or use --nbd, or --fuse with a loop device",
    )
}

pub(super) fn only_root() -> Refusal {
    let what = "only root may make a block device";
    Refusal::machine(format!("{what}: {CONTROL} is not open to this user"))
        .hint("run it with sudo; without root, use --nbd or --fuse")
}

pub(super) fn too_old() -> Refusal {
    Refusal::machine("the ublk driver is older than Linux 6.5, the minimum")
        .hint("use --nbd, or --fuse with a loop device")
}

pub(super) fn no_ring(error: io::Error) -> Refusal {
    Refusal::machine("the ublk driver needs io_uring, which this host does not provide")
        .because(error)
        .hint(
            "check `sysctl kernel.io_uring_disabled` and the container's seccomp profile; or \
                 use --nbd or --fuse",
        )
}

pub(crate) fn refused(what: &str, error: io::Error) -> Refusal {
    Refusal::machine(format!("the kernel's ublk driver did not {what}"))
        .because(error)
        .hint("see `dmesg`; or use --nbd, or --fuse with a loop device")
}
