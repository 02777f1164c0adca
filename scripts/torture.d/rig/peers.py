"""The tools that attacks use: installed in CI, and left out by name elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess

#: Which Debian package holds which tool.
PACKAGES = {
    "fio": "fio",
    "strace": "strace",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "fusermount3": "fuse3",
    "losetup": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}


def install(tools: set[str]) -> None:
    """With CI=true and as root, installs what is missing."""
    missing = [tool for tool in sorted(tools) if shutil.which(tool) is None]
    if not missing or os.environ.get("CI") != "true" or os.geteuid() != 0:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = sorted({PACKAGES[tool] for tool in missing})
    subprocess.run(["apt-get", "update", "-qq"], env=quiet, check=True)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
                   env=quiet, check=True, stdout=subprocess.DEVNULL)


def missing(tools: tuple[str, ...], needs_root: bool) -> str:
    """Why an attack cannot be made here; empty where it can."""
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if absent:
        return f"{', '.join(absent)} not installed (CI=true installs it)"
    if needs_root and os.geteuid() != 0:
        return "mounting needs root"
    return ""
