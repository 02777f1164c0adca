"""A file system on a loop device on a served drive."""

from __future__ import annotations

from pathlib import Path

from .attack import LeftOut
from .bench import Bench, tool
from .served import Refused, Served

DRIVE = "seagate-st31000333as"
#: Of the drive's 1000 GB so much holds the file system.
FILE_SYSTEM_MIB = 64


class Disk:
    """The drive of a machine: served as a file, a loop device on it, perhaps mounted at `mnt`."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.folder = folder
        self.mount_point = folder / "mnt"
        self.mount_point.mkdir(exist_ok=True)
        self.served = Served(bench, folder, DRIVE, nbd=False, fuse=True, image=True)
        attached = tool("losetup", "--direct-io=on", "--show", "-f", str(self.served.drive_path))
        if attached.returncode != 0:
            self.served.stop()
            raise LeftOut(f"no loop device: {attached.stderr.decode().strip()}")
        self.loop = attached.stdout.decode().strip()

    def format(self) -> None:
        """Makes an ext4 on it."""
        made = tool("mkfs.ext4", "-q", "-F", "-E",
                    "lazy_itable_init=1,lazy_journal_init=1,nodiscard", self.loop,
                    f"{FILE_SYSTEM_MIB}M")
        if made.returncode != 0:
            raise LeftOut(f"mkfs.ext4: {made.stderr.decode().strip()}")

    def mount(self) -> str:
        """Mounts it, which replays the journal; empty, or what was said against it."""
        return tool("mount", self.loop, str(self.mount_point)).stderr.decode().strip()

    def check(self) -> str:
        """What e2fsck finds on the unmounted file system; empty where it is clean."""
        found = tool("e2fsck", "-f", "-n", self.loop)
        return "" if found.returncode == 0 else found.stdout.decode(errors="replace").strip()

    def unmount(self) -> None:
        """Unmounts, whatever became of the drive."""
        if self.mount_point.is_mount() and tool("umount", str(self.mount_point)).returncode != 0:
            tool("umount", "-l", str(self.mount_point))

    def detach(self) -> None:
        """Takes the loop device away."""
        tool("losetup", "-d", self.loop)

    def off(self) -> None:
        """Unmounts, detaches and stops in order."""
        self.unmount()
        self.detach()
        self.served.stop()


def formatted(bench: Bench) -> Path:
    """An image of a drive with an empty file system."""
    folder = bench.folder("fresh")
    try:
        disk = Disk(bench, folder)
    except Refused as refused:
        raise LeftOut(f"this host does not let us mount: {refused}") from refused
    try:
        disk.format()
        if refused := disk.mount():
            raise LeftOut(f"this kernel mounts no ext4: {refused}")
    finally:
        disk.off()
    return folder / "image"
