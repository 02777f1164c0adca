"""Swaps what is in a folder for links to a victim, as fast as it can, until it is ended.

  swapper.py FOLDER VICTIM SEED PAUSE

It runs as a user who may do nothing to the victim but look at it.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

EXCHANGE = 2  # renameat2(2)
AT_FDCWD = -100
LIBC = ctypes.CDLL(None, use_errno=True)

#: Names under which drivelab works, or files that it makes.
DECOYS = ["drivelab-suite-1", "drivelab-suite-2", "target", "target.unfinished", "build.log", "lock",
          "drivelab-guest-1-0", "drivelab-guest-x", "building-1-0", "building-x", "current",
          "results", "page.html", "kept"]
MARKERS = [".drivelab-suite", ".drivelab-guest", ".drivelab-build"]
INSIDE = ["blogs", "files", "large", "from", "to", "tree", "databases"]


def exchange(one: Path, two: Path) -> None:
    """Exchanges two names in one step."""
    LIBC.renameat2(AT_FDCWD, bytes(one), AT_FDCWD, bytes(two), EXCHANGE)


class Swapper:
    """One attacker in one folder."""

    def __init__(self, folder: Path, victim: Path, seed: int) -> None:
        self.folder, self.victim = folder, victim
        self.draw = random.Random(seed)
        self.number = 0

    def fresh(self) -> Path:
        """A name that is free."""
        self.number += 1
        return self.folder / f"moved-{self.number}"

    def bait(self, path: Path) -> None:
        """Makes a thing at a path that drivelab might work in: a link, or a folder with links."""
        kind = self.draw.randrange(6)
        if kind == 0:
            path.symlink_to(self.victim)
        elif kind == 1:
            path.symlink_to(self.victim / self.draw.choice(["letter", "empty", "files/thesis", "page.html"]))
        elif kind == 2:
            path.symlink_to(self.victim / self.draw.choice(INSIDE))
        elif kind == 3:
            os.mkfifo(path)
        elif kind == 4:
            with suppress(OSError):  # forbidden where links are protected
                os.link(self.victim / "empty", path)
        else:
            path.mkdir()
            (path / self.draw.choice(MARKERS)).write_text("")
            for name in INSIDE:
                (path / name).symlink_to(self.victim / name)

    def once(self) -> None:
        """One move."""
        names = [name for name in os.listdir(self.folder) if not name.startswith("moved-")]
        name = self.draw.choice(names + self.draw.sample(DECOYS, 2))
        path = self.folder / name
        bait = self.fresh()
        self.bait(bait)
        if self.draw.random() < 0.4 and os.path.lexists(path):
            exchange(bait, path)
            if self.draw.random() < 0.5:
                exchange(bait, path)
        else:
            if os.path.lexists(path):
                path.rename(self.fresh())
            bait.rename(path)
        if self.number % 50 == 0:
            self.tidy()

    def tidy(self) -> None:
        """Removes what is its own, so that the folder stays small."""
        for name in os.listdir(self.folder):
            path = self.folder / name
            if path.is_symlink() or path.is_fifo() or path.is_file():
                path.unlink(missing_ok=True)
            elif path.stat().st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)


def main() -> None:
    """Attacks until it is ended."""
    swapper = Swapper(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    pause = float(sys.argv[4])
    while True:
        time.sleep(pause * swapper.draw.random())
        with suppress(OSError):
            swapper.once()


if __name__ == "__main__":
    main()
