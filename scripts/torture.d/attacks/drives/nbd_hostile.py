"""Hostile NBD clients, with a good one beside them."""

from __future__ import annotations

import random
import socket
import struct
import time

from rig import nbd
from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.process import cpu_seconds
from rig.served import Served

from .good_client import REGION_BYTES, GoodClient

DRIVE_BYTES = 64 << 20
#: What all that connections may take while replies of 32 MiB are not fetched.
PEAK_BYTES_MAX = 512 << 20
HELD_MAX = 100


class NbdHostile(Attack):
    """Vanishing, half-open, slow, greedy and lying clients; nobody else may notice."""

    name = "nbd-hostile"
    title = "hostile NBD clients, a good one beside them"
    cases = 2000
    seconds = 60.0
    least = 60

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.served = Served(bench, bench.folder("hostile"), "null", "--size", str(DRIVE_BYTES))
        self.good = GoodClient(self.served.nbd_path, bench.random(self.name, -1))
        self.held: list[socket.socket] = []
        self.ways = [self.vanish, self.vanish, self.half_open, self.garbage, self.garbage,
                     self.slow, self.crowd, self.bad_request, self.bad_request, self.bad_option,
                     self.unfetched]

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        way = self.ways[case % len(self.ways)]
        try:
            if fault := way(draw):
                tally.violate(case, f"{way.__name__}: {fault}")
        except (nbd.Gone, ConnectionError):
            pass  # thrown out: it deserved it
        while len(self.held) > HELD_MAX:
            self.held.pop(0).close()
        if self.served.running.poll() is not None:
            tally.violate(case, f"{way.__name__}: the server ended: "
                          f"{self.served.ended().brief()}")
            self.served = Served(bench, bench.folder("hostile"), "null", "--size",
                                 str(DRIVE_BYTES))

    def finish(self, bench: Bench, tally: Tally) -> None:
        for link in self.held:
            link.close()
        if fault := self.good.stop():
            tally.lose(0, 1, fault)
        peak = self.served.rss_peak()
        tally.saw(peak)
        if peak > PEAK_BYTES_MAX:
            tally.violate(0, f"{peak >> 20} MiB at the most")
        self._settled(tally)
        tally.note(f"nbd-hostile: the good client had {self.good.requests:,} requests, the slowest "
                   f"of {self.good.slowest_s * 1000:.0f} ms")
        if self.good.slowest_s > 5:
            tally.violate(0, f"the good client waited {self.good.slowest_s:.1f} s")
        ended = self.served.stop()
        if ended.code != 0 or ended.panicked():
            tally.violate(0, f"the server: {ended.brief()}")

    def _settled(self, tally: Tally) -> None:
        """The dead are noticed, and what they had is given back."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            fds, rss = self.served.fds(), self.served.rss()
            if fds <= self.served.fds_at_start and rss <= self.served.rss_at_start + (32 << 20):
                break
            time.sleep(0.1)
        tally.fds = f"{self.served.fds_at_start} -> {fds}"
        if fds > self.served.fds_at_start:
            tally.violate(0, f"{fds} descriptors afterwards, {self.served.fds_at_start} before")
        if rss > self.served.rss_at_start + (32 << 20):
            tally.violate(0, f"{rss >> 20} MiB afterwards, {self.served.rss_at_start >> 20} before")

    def vanish(self, draw: random.Random) -> str:
        """Goes away in the middle of what it says."""
        link = nbd.Nbd(self.served.nbd_path)
        offset = REGION_BYTES + 512 * draw.randrange(1000)
        whole = nbd.request(nbd.WRITE, 1, offset, 4096) + draw.randbytes(4096)
        whole = nbd.request(nbd.READ, 2, offset, 1 << 20) * draw.randrange(3) + whole
        link.link.sendall(whole[:draw.randrange(1, len(whole))])
        link.link.close()
        return ""

    def half_open(self, draw: random.Random) -> str:
        """Connects, perhaps greets, and says nothing more."""
        if draw.random() < 0.5:
            self.held.append(nbd.connected(self.served.nbd_path))
        else:
            self.held.append(nbd.Nbd(self.served.nbd_path).link)
        return ""

    def garbage(self, draw: random.Random) -> str:
        """Says anything."""
        link = nbd.connected(self.served.nbd_path) if draw.random() < 0.5 else \
            nbd.Nbd(self.served.nbd_path).link
        link.sendall(draw.randbytes(draw.randrange(1, 1 << 16)))
        link.close()
        return ""

    def slow(self, draw: random.Random) -> str:
        """Says its request a byte at a time and never ends it."""
        link = nbd.Nbd(self.served.nbd_path).link
        for byte in nbd.request(nbd.WRITE, 1, REGION_BYTES, 4096)[:draw.randrange(1, 28)]:
            link.sendall(bytes([byte]))
        self.held.append(link)
        return ""

    def crowd(self, draw: random.Random) -> str:
        """Many at once."""
        links = [nbd.connected(self.served.nbd_path) for _ in range(draw.randrange(5, 12))]
        for link in links:
            link.close()
        return ""

    def bad_request(self, draw: random.Random) -> str:
        """Asks for what there is not; it must be told so, and may go on, or is thrown out."""
        link = nbd.Nbd(self.served.nbd_path)
        bad = [
            (nbd.READ, 1, 512, 0), (nbd.READ, 0, 1, 0), (nbd.READ, DRIVE_BYTES, 512, 0),
            (nbd.READ, DRIVE_BYTES - 512, 1024, 0), (nbd.READ, (1 << 64) - 512, 1024, 0),
            (nbd.READ, 0, 0, 0), (nbd.READ, 0, (1 << 32) - 512, 0), (nbd.READ, 0, 64 << 20, 0),
            (99, 0, 512, 0), (nbd.READ, 0, 512, 0xFFFF), (nbd.TRIM, DRIVE_BYTES, 512, 0),
            (nbd.WRITE_ZEROES, 1, 512, 0), (nbd.TRIM, 0, 0xFFFFFFFF, 0), (nbd.FLUSH, 7, 7, 0),
            (5, 0, 512, 0), (7, 0, 0, 0),
        ]
        command, offset, length, flags = draw.choice(bad)
        shown = f"command {command} at {offset}, {length} bytes, flags {flags:#x}"
        error, data = link.ask(command, offset, length, flags=flags)
        harmless = command == nbd.FLUSH or (length == 0 and command == nbd.READ) or flags
        if not error and not harmless:
            return f"{shown} was done"
        if len(link.read(REGION_BYTES, 512)) != 512:
            return f"{shown}: the connection is out of step"
        link.close()
        return ""

    def bad_option(self, draw: random.Random) -> str:
        """Negotiates nonsense."""
        link = nbd.connected(self.served.nbd_path)
        link.recv(18)
        option = draw.choice([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 0xFFFFFFFF])
        length = draw.choice([0, 1, 7, 4096, 0xFFFFFFFF, 1 << 24])
        link.sendall(struct.pack(">I", draw.choice([0, 1, 3, 0xFFFFFFFF])))
        link.sendall(struct.pack(">QII", nbd.IHAVEOPT, option, length))
        link.sendall(draw.randbytes(min(length, 8192)))
        self.held.append(link)
        return ""

    def unfetched(self, draw: random.Random) -> str:
        """Asks for large replies and does not fetch them."""
        link = nbd.Nbd(self.served.nbd_path).link
        for cookie in range(draw.randrange(1, 8)):
            link.sendall(nbd.request(nbd.READ, cookie + 1, 0, 32 << 20))
        if draw.random() < 0.2:
            self.held.append(link)
        else:
            link.close()
        return ""


class Descriptors(Attack):
    """More clients than the server has descriptors for: it waits, and does not burn a core."""

    name = "descriptors"
    title = "40 clients of a server with 20 descriptors"
    cases = 6
    seconds = 15.0
    least = 1

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        limited = ("sh", "-c", 'ulimit -n 20; exec "$@"', "sh")
        served = Served(bench, bench.folder("few"), "null", "--size", "16M", prefix=limited)
        links = []
        for _ in range(40):
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(2)
            link.connect(str(served.nbd_path))
            links.append(link)
        before = cpu_seconds(served.pid)
        time.sleep(2)
        used = cpu_seconds(served.pid) - before
        # A tenth of a core is far more than to ask again now and then takes.
        if used > 0.2:
            tally.violate(case, f"out of descriptors it takes {used:.1f} s of processor in 2 s")
        for link in links:
            link.close()
        if not self._recovers(served):
            tally.violate(case, "a client is not served after the others have left")
        tally.saw(served.rss_peak())
        deadline = time.monotonic() + 5
        while served.fds() > served.fds_at_start and time.monotonic() < deadline:
            time.sleep(0.05)
        tally.fds = f"{served.fds_at_start} -> {served.fds()}"
        ended = served.stop()
        if ended.code != 0 or ended.panicked():
            tally.violate(case, f"the server: {ended.brief()}")

    @staticmethod
    def _recovers(served: Served) -> bool:
        for _ in range(20):
            try:
                link = nbd.Nbd(served.nbd_path, seconds=2)
                link.write(0, b"\xa5" * 512)
                right = link.read(0, 512) == b"\xa5" * 512
                link.close()
                return right
            except (nbd.Gone, OSError):
                time.sleep(0.2)
        return False
