//! Why the drive does not become a block device.

use std::io;

use drivelab_core::Refusal;

use super::CONTROL;

/// The module is not loaded, or the kernel was built without it.
pub(super) fn no_driver() -> Refusal {
    Refusal::machine(format!("the kernel's ublk driver is not loaded: there is no {CONTROL}")).hint(
        "load it: modprobe ublk_drv (Linux 6.5 or newer with CONFIG_BLK_DEV_UBLK, such as Debian's \
         6.12 and Fedora's); without it: --nbd, or --fuse with a loop device on it",
    )
}

pub(super) fn only_root() -> Refusal {
    let what = "only root may make a block device";
    Refusal::machine(format!("{what}: {CONTROL} is not open to this user"))
        .hint("run it with sudo; without root: --nbd or --fuse")
}

pub(super) fn too_old() -> Refusal {
    Refusal::machine("the kernel's ublk driver is older than Linux 6.5, which this needs")
        .hint("use --nbd, or --fuse with a loop device on it")
}

pub(super) fn no_ring(error: io::Error) -> Refusal {
    Refusal::machine("this host gives no io_uring, which the ublk driver is talked to by")
        .because(error)
        .hint(
            "see sysctl kernel.io_uring_disabled, and what a container forbids; or use --nbd or \
             --fuse",
        )
}

pub(crate) fn refused(what: &str, error: io::Error) -> Refusal {
    Refusal::machine(format!("the kernel's ublk driver did not {what}"))
        .because(error)
        .hint("dmesg may say more; or use --nbd, or --fuse with a loop device on it")
}
