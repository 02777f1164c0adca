"""Power cuts of served drives under several writers; what is left is held against the rules."""

from __future__ import annotations

import os
import random
import select
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rig import nbd
from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.history import SECTOR, History, Judged, Write, judge, number_in, sector
from rig.served import Refused, Served

SECTORS = 4096  # of the region that is written: small, so that writes meet each other


@dataclass(frozen=True)
class Profile:
    """A drive, and what the rules need to know of it."""

    name: str
    drive: str
    cached: bool = True
    unit: int = 1  # sectors that are written together: the physical sector
    lies: bool = False
    fuse: bool = False


PROFILES = [
    Profile("cache on", "generic-10k,write-cache=on"),
    Profile("cache off", "generic-10k,write-cache=off", cached=False),
    Profile("desktop", "seagate-st2000dm006"),
    Profile("RAID 5", "generic-10k,write-cache=on,drives=3,raid=5"),
    Profile("4096-byte sectors", "4k.toml", unit=8),
    Profile("as a file", "generic-10k,write-cache=on", fuse=True),
    Profile("RAID 5, desktop", "seagate-st31000333as,drives=4,raid=5,chunk=64k"),
    Profile("RAID 1", "seagate-st31000333as,drives=2,raid=1"),
    Profile("lying flush", "generic-10k,write-cache=on", lies=True),
    Profile("4096-byte sectors, as written in 512", "4k.toml"),
]


@dataclass
class Writer:
    """Sends numbered sectors over several connections and keeps the history."""

    history: History
    draw: random.Random
    unit: int
    next_number: int
    links: list[nbd.Nbd]
    waiting: dict[tuple[int, int], Write | int] = field(default_factory=dict)
    stopped: bool = False

    def send(self, which: int) -> None:
        """One request on a connection: mostly writes, some forced, some flushes, trims, zeros."""
        link, draw = self.links[which], self.draw
        kind = draw.random()
        if kind < 0.12:
            sent = self.history.event()
            self.waiting[which, link.send(nbd.FLUSH)] = sent
            return
        units = draw.choice([1, 1, 1, 2, 4, 8, 16])
        sectors = units * self.unit
        first = draw.randrange((SECTORS - sectors) // self.unit) * self.unit
        # Half of them meet in a few places, where order matters.
        first = first % (64 * self.unit) if draw.random() < 0.5 else first
        offset, length = first * SECTOR, sectors * SECTOR
        fua = draw.random() < 0.1
        if kind < 0.18:
            write = self.history.write(0, first, sectors, fua)
            cookie = link.send(nbd.WRITE_ZEROES, offset, length, flags=nbd.FUA * fua)
        else:
            number, self.next_number = self.next_number, self.next_number + 1
            write = self.history.write(number, first, sectors, fua)
            data = b"".join(sector(lba, number) for lba in range(first, first + sectors))
            cookie = link.send(nbd.WRITE, offset, length, data, nbd.FUA * fua)
        self.waiting[which, cookie] = write

    def receive(self, which: int) -> None:
        """One reply."""
        cookie, error, _ = self.links[which].receive()
        what = self.waiting.pop((which, cookie))
        if error:
            return
        if isinstance(what, Write):
            self.history.answered(what)
        else:
            self.history.flushed(what)

    def run(self, seconds: float) -> None:
        """Writes until the drive is gone."""
        depth = self.draw.randrange(1, 9)
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                for which, link in enumerate(self.links):
                    while link.in_flight() < depth:
                        self.send(which)
                ready, _, _ = select.select(self.links, [], [], 1.0)
                for link in ready:
                    which = self.links.index(link)
                    self.receive(which)
                    while link.pending():
                        self.receive(which)
        except (nbd.Gone, OSError, TimeoutError):
            self.stopped = True


class Cuts(Attack):
    """Cuts the power under three writers; a second cut after the first, on the same image."""

    name = "cuts"
    title = "power cuts of served drives, NBD and FUSE"
    cases = 300
    seconds = 50.0
    least = 10
    workers = 2

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.acknowledged = self.dropped = self.caught = self.lied = 0
        self.lock = threading.Lock()

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        profile = PROFILES[case % len(PROFILES)]
        folder = bench.folder("cut")
        (folder / "4k.toml").write_text('base = "generic-10k"\n[drive]\nsector_bytes = 4096\n')
        history = History(profile.cached)
        for _ in range(draw.choice([1, 1, 2])):
            history = self._once(bench, tally, case, profile, folder, draw, history)
        (folder / "image").unlink(missing_ok=True)

    def _once(self, bench: Bench, tally: Tally, case: int, profile: Profile, folder: Path,
              draw: random.Random, history: History) -> History:
        try:
            served = Served(bench, folder, profile.drive, nbd=not profile.fuse, fuse=profile.fuse,
                            image=True)
        except Refused as refused:
            tally.violate(case, f"{profile.name}: does not start: {refused}")
            return history
        if profile.lies:
            served.ask("POST", "/faults", {"kind": "lying-flush"})
        first = max((write.number for write in history.writes), default=0)
        writer = self._writer(profile, served, history, draw, max(first, *history.before.values())
                              if history.before else first)
        when = {"writes": draw.randrange(5, 80)} if draw.random() < 0.5 else \
            {"random_ms": [20, 400]}
        asked = threading.Thread(target=writer.run, args=(20.0,))
        asked.start()
        tally.saw(served.rss_peak())
        answer = served.cut(when, draw.randrange(1 << 30))
        asked.join()
        ended = tally.weigh(served.ended())
        for link in writer.links:
            link.link.close()
        if ended.code != 0 or ended.panicked():
            tally.violate(case, f"{profile.name}: after the cut: {ended.brief()}")
        if profile.fuse and (folder / "drive").is_mount():
            tally.violate(case, f"{profile.name}: the mount is left after a cut")
        return self._judge(tally, case, profile, folder, history, answer)

    def _writer(self, profile: Profile, served: Served, history: History, draw: random.Random,
                last: int) -> "Writer | FileWriter":
        if profile.fuse:
            return FileWriter(history, draw, last + 1, served.drive_path)
        links = [nbd.Nbd(served.nbd_path) for _ in range(3)]
        return Writer(history, draw, profile.unit, last + 1, links)

    def _judge(self, tally: Tally, case: int, profile: Profile, folder: Path, history: History,
               answer: dict[str, int]) -> History:
        judged = Judged()
        after = History(profile.cached)
        with (folder / "image").open("rb") as image:
            data = image.read(SECTORS * SECTOR)
        data += b"\0" * (SECTORS * SECTOR - len(data))
        for lba in range(SECTORS):
            content = data[lba * SECTOR:(lba + 1) * SECTOR]
            number = judge(history, lba, content, judged)
            if number:
                after.before[lba] = number
        torn = self._torn(data) if profile.unit > 1 else 0
        with self.lock:
            self.acknowledged += sum(write.answered is not None for write in history.writes)
            self.dropped += answer["dropped_writes"]
            self.lied += profile.lies
            self.caught += profile.lies and judged.lost > 0
        if judged.lost and not profile.lies:
            tally.lose(case, judged.lost, f"{profile.name}: {judged.lost} promised sectors lost: "
                       f"{judged.examples[0]}")
        if judged.illegal or torn:
            tally.violate(case, f"{profile.name}: {judged.illegal} illegal sectors, {torn} "
                          f"physical ones torn: {judged.examples[:1]}")
        return after

    @staticmethod
    def _torn(data: bytes) -> int:
        """Physical sectors of 4096 bytes whose parts are of different writes."""
        count = 0
        for first in range(0, SECTORS, 8):
            parts = {number_in(lba, data[lba * SECTOR:(lba + 1) * SECTOR])
                     for lba in range(first, first + 8)}
            count += len(parts) > 1
        return count

    def finish(self, bench: Bench, tally: Tally) -> None:
        tally.note(f"cuts: {self.acknowledged:,} acknowledged writes, {self.dropped:,} dropped as "
                   f"allowed; a lying flush was caught in {self.caught} of {self.lied} cuts")
        if self.lied >= 5 and not self.caught:
            tally.violate(8, "a flush that lies was never caught: the rig sees nothing")


@dataclass
class FileWriter:
    """One writer on the drive as a file; a flush is fsync."""

    history: History
    draw: random.Random
    next_number: int
    path: Path
    links: list[nbd.Nbd] = field(default_factory=list)

    def run(self, seconds: float) -> None:
        """Writes until the drive is gone."""
        deadline = time.monotonic() + seconds
        file = os.open(self.path, os.O_RDWR)
        with suppress(OSError):
            while time.monotonic() < deadline:
                self.step(file)
        with suppress(OSError):  # closing flushes, and the drive is gone
            os.close(file)

    def step(self, file: int) -> None:
        """One write, or one flush."""
        draw = self.draw
        if draw.random() < 0.15:
            sent = self.history.event()
            os.fsync(file)
            self.history.flushed(sent)
            return
        sectors = draw.choice([1, 1, 2, 8, 16])
        first = draw.randrange(SECTORS - sectors)
        number, self.next_number = self.next_number, self.next_number + 1
        write = self.history.write(number, first, sectors, fua=False)
        data = b"".join(sector(lba, number) for lba in range(first, first + sectors))
        if os.pwrite(file, data, first * SECTOR) == len(data):
            self.history.answered(write)
