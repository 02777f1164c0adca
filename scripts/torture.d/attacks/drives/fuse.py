"""A drive as a file, used by several processes; and its server killed under them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from rig import fuse_worker
from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench, tool
from rig.process import Ended, Watch
from rig.served import Refused, Served

PROCESSES = 3
DRIVE_BYTES = 64 << 20
REGION_BYTES = 12 << 20


def served(bench: Bench, folder: Path, *more: str) -> Served:
    """A drive as a file, where this machine lets us mount."""
    try:
        return Served(bench, folder, "null", "--size", str(DRIVE_BYTES), *more, nbd=False,
                      fuse=True, image=True)
    except Refused as refused:
        if "/dev/fuse" in str(refused) and not os.access("/dev/fuse", os.W_OK):
            raise LeftOut(str(refused)) from refused
        raise


class Fuse(Attack):
    """Reads, writes, maps, punches and zeroes at every size and alignment, against a shadow."""

    name = "fuse"
    title = "FUSE operations of every size and alignment, shadow copy"
    cases = 1_500_000
    seconds = 150.0
    least = 6_000

    def counts_cases(self) -> bool:
        return False

    def run(self, bench: Bench, tally: Tally, only: int | None) -> None:
        round_number = 0 if only is None else only
        # In rounds, so that what was wrong can be shown again in less than all of it.
        wanted = self.scaled(bench)
        while tally.count < wanted and not tally.violations:
            self._round(bench, tally, round_number, min(250_000, wanted - tally.count))
            round_number += 1

    def _round(self, bench: Bench, tally: Tally, number: int, operations: int) -> None:
        folder = bench.folder("fuse")
        drive = served(bench, folder)
        # The parts begin and end within sectors and pages: what is beside them is another's.
        bounds = [(place * (REGION_BYTES + 1237) + 77, (place + 1) * (REGION_BYTES + 1237) + 77)
                  for place in range(PROCESSES)]
        each = -(-operations // PROCESSES)
        workers = [bench.start([sys.executable, fuse_worker.__file__, str(drive.drive_path),
                                str(begin), str(end), str(each),
                                f"{bench.seed}/{number}/{begin}", str(folder / f"shadow{begin}")])
                   for begin, end in bounds]
        ended = [worker.wait(Watch(1200)) for worker in workers]
        self._judge(tally, number, ended)
        self._ends(tally, number, drive)
        tally.saw(drive.rss_peak())
        tally.fds = f"{drive.fds_at_start} -> {drive.fds()}"
        stopped = drive.stop()
        if stopped.code != 0 or stopped.panicked():
            tally.violate(number, f"the server: {stopped.brief()}")
        for begin, end in bounds:
            self._image(tally, number, folder, begin, end)
        drive.image_path.unlink()

    @staticmethod
    def _judge(tally: Tally, number: int, ended: list[Ended]) -> None:
        faults: Counter[str] = Counter()
        for one in ended:
            if one.code != 0:
                tally.violate(number, f"a process: {one.stderr.strip()[-400:]}")
                continue
            found = json.loads(one.out)
            count = sum(found["counts"].values())
            tally.done(count, count - sum(found["faults"].values()))
            faults.update(found["faults"])
            if not found["shared"]:
                tally.note("fuse: this kernel maps no such file shared (Linux 6.6 does)")
        for what, times in sorted(faults.items()):
            (tally.violate(number, f"{what}, {times} times") if "other data" not in what
             else tally.lose(number, times, f"{what}, {times} times"))

    @staticmethod
    def _ends(tally: Tally, number: int, drive: Served) -> None:
        """At the end of the file a read is short, and there is nothing to be written behind it."""
        file = os.open(drive.drive_path, os.O_RDWR)
        try:
            if len(os.pread(file, 100, DRIVE_BYTES - 50)) != 50:
                tally.violate(number, "a read across the end is not short")
            if os.pread(file, 100, DRIVE_BYTES + 5):
                tally.violate(number, "a read beyond the end returns data")
        except OSError as error:
            tally.violate(number, f"a read across the end: {error}")
        try:
            if os.pwrite(file, b"x" * 10, DRIVE_BYTES):
                tally.violate(number, "a write beyond the end was done")
        except OSError:
            pass
        os.close(file)

    @staticmethod
    def _image(tally: Tally, number: int, folder: Path, begin: int, end: int) -> None:
        shadow = folder / f"shadow{begin}"
        if not shadow.exists():
            return
        with (folder / "image").open("rb") as image:
            image.seek(begin)
            if image.read(end - begin).ljust(end - begin, b"\0") != shadow.read_bytes():
                tally.lose(number, 1, f"the image differs from the shadow of {begin} to {end}")


class FuseKilled(Attack):
    """Kills the server under its readers; they fail at once, and the next server takes over."""

    name = "fuse-killed"
    title = "kill -9 of a FUSE server in use, served again"
    cases = 30
    seconds = 25.0
    least = 2

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        folder = bench.folder("dead")
        drive = served(bench, folder)
        kept = draw.randbytes(512 * draw.randrange(1, 100))
        file = os.open(drive.drive_path, os.O_RDWR)
        os.pwrite(file, kept, 0)
        os.fsync(file)
        os.close(file)
        reader = bench.start(["dd", f"if={drive.drive_path}", "of=/dev/null", "bs=64k",
                              f"count={1 << 20}", "iflag=nocache"])
        readers = [reader, bench.start(["sh", "-c", f"while cat {drive.drive_path} > /dev/null; "
                                        "do :; done"])]
        time.sleep(draw.uniform(0.0, 0.3))
        drive.running.kill()
        drive.ended()
        for one in readers:
            if one.wait(Watch(10)).ended_by_us:
                tally.violate(case, "a reader hangs after its server was killed")
        self._again(bench, tally, case, folder, kept)

    @staticmethod
    def _again(bench: Bench, tally: Tally, case: int, folder: Path, kept: bytes) -> None:
        try:
            drive = served(bench, folder)
        except Refused as refused:
            tally.violate(case, f"a dead mount keeps the next server from it: {refused}")
            tool("umount", "-l", str(folder / "drive"))
            return
        with drive.drive_path.open("rb") as file:
            if file.read(len(kept)) != kept:
                tally.lose(case, 1, "what was synced is not there after kill -9")
        tally.saw(drive.rss_peak())
        ended = drive.stop()
        if ended.code != 0 or ended.panicked() or (folder / "drive").is_mount():
            tally.violate(case, f"the second server: {ended.brief()}")
