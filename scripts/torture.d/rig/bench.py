"""The bench: the program under test, a place to work, and everything put away at the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Sequence

from .process import Ended, Running, Watch, start


class Bench:
    """What an attack is given."""

    def __init__(self, drivelab: Path, seed: int, share: float) -> None:
        self.drivelab = drivelab
        self.seed = seed
        self.share = share
        # /var/tmp is on a disk where /tmp is in memory, which takes no direct I/O.
        place = os.environ.get("TMPDIR") or ("/var/tmp" if os.access("/var/tmp", os.W_OK) else None)
        self.work = Path(tempfile.mkdtemp(prefix="torture-", dir=place))
        self._children: list[Running] = []
        self._numbers = 0
        self._lock = threading.Lock()
        self._ending = False

    def random(self, attack: str, case: int) -> random.Random:
        """The generator of one case: it depends on no other case, so that one can be repeated."""
        return random.Random(f"{self.seed}/{attack}/{case}")

    def folder(self, name: str) -> Path:
        """A new folder of this name and a number; short, as paths of sockets must be."""
        with self._lock:
            self._numbers += 1
            path = self.work / f"{name}{self._numbers}"
        path.mkdir()
        return path

    def start(self, argv: Sequence[str], cwd: Path | None = None, stdin: bytes | None = None,
              env: dict[str, str] | None = None) -> Running:
        """Starts a program, which ends with the bench at the latest.

        What it keeps is in the bench's archive, unless `env` names another.
        """
        if self._ending:
            raise InterruptedError("the rig is ending")
        own = {"DRIVELAB_ARCHIVE": str(self.work / "runs.db")}
        running = start(argv, cwd or self.work, stdin, {**own, **(env or {})})
        with self._lock:
            self._children = [child for child in self._children if child.process.returncode is None]
            self._children.append(running)
        return running

    def run(self, argv: Sequence[str], cwd: Path | None = None, watch: Watch | None = None,
            stdin: bytes | None = None, env: dict[str, str] | None = None) -> Ended:
        """Runs a program to its end, or to the end that `watch` sets."""
        return self.start(argv, cwd, stdin, env).wait(watch or Watch())

    def lab(self, *arguments: str, cwd: Path | None = None, watch: Watch | None = None) -> Ended:
        """Runs drivelab to its end."""
        return self.run([str(self.drivelab), *arguments], cwd, watch)

    def end_children(self) -> None:
        """Ends every child, and starts none any more."""
        self._ending = True
        with self._lock:
            children = list(self._children)
        for child in children:
            child.kill()

    def close(self) -> None:
        """Ends every child, takes away mounts and loop devices below the folder, and the folder."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self.end_children()
        deadline = time.monotonic() + 5
        for child in self._children:
            while child.process.returncode is None and time.monotonic() < deadline:
                if self._gone(child):
                    break
                time.sleep(0.01)
        unmount_below(self.work)
        for device in loops_below(self.work):
            tool("losetup", "-d", device)
        unmount_below(self.work)
        shutil.rmtree(self.work, ignore_errors=True)

    @staticmethod
    def _gone(child: Running) -> bool:
        try:
            return child.poll() is not None
        except ChildProcessError:  # a thread has waited for it
            return True


def tool(*argv: str, seconds: float = 60) -> subprocess.CompletedProcess[bytes]:
    """Runs a tool of the system; its exit code is the caller's affair."""
    return subprocess.run(argv, capture_output=True, timeout=seconds, check=False)


def mounts_below(folder: Path) -> list[str]:
    """Mount points below a folder, the deepest first."""
    lines = Path("/proc/self/mounts").read_bytes().splitlines()
    points = [line.split(b" ")[1].decode("unicode_escape") for line in lines]
    return sorted((point for point in points if Path(point).is_relative_to(folder)), reverse=True)


def unmount_below(folder: Path) -> None:
    """Unmounts whatever is mounted below a folder."""
    for point in mounts_below(folder):
        if tool("umount", point).returncode != 0 and tool("umount", "-l", point).returncode != 0:
            tool("fusermount3", "-u", "-z", point)


def loops_below(folder: Path) -> list[str]:
    """Loop devices whose file lies below a folder; only these are ours."""
    listed = tool("losetup", "-l", "-n", "-O", "NAME,BACK-FILE").stdout.decode(errors="replace")
    found = []
    for line in listed.splitlines():
        name, _, file = line.strip().partition(" ")
        if file.strip().startswith(f"{folder}/"):
            found.append(name)
    return found


def interruptible() -> None:
    """Lets SIGINT, SIGTERM and SIGHUP unwind the rig."""
    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    # SIGINT too: a shell starts what runs in the background with it ignored.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def is_root() -> bool:
    """Whether mounting and loop devices may be asked for."""
    return os.geteuid() == 0
