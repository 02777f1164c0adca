"""Hostile requests to the control API of a served drive, with a good client at the drive."""

from __future__ import annotations

import json
import random
import socket
import time

from rig import nbd
from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.served import Served, say

from .good_client import GoodClient

FAULTS = ['{"kind": "gravity"}', '{"kind": 7}', '{"kind": "slow"}',
          '{"kind": "slow", "factor": -1}',
          '{"kind": "slow", "factor": 1e400}', '{"kind": "torn", "range": [9, 1]}',
          '{"kind": "stall", "duration_ms": -5}', '{"kind": "read-error", "probability": 2}',
          '{"kind": "read-error", "range": [0]}', '{"kind": "stall", "op": "dance"}',
          '{"kind": "read-error", "unknown": 1}', "[]", "7", "null", '"torn"', "{", "{" * 60_000,
          "[" * 60_000, '{"kind": "' + "x" * 60_000 + '"}', "", "\0" * 100]
CUTS = ['{"when": "later"}', '{"when": {"writes": -1}}', '{"when": {"random_ms": [5, 1]}}',
        '{"when": {"random_ms": [5]}}', '{"when": 7}', '{"when": {"writes": 1e99}}',
        '{"when": "now", "seed": -1}', '{"when": "now", "more": 1}', "[]", "7", "{", "x" * 60_000]
LINES = ["GET / HTTP/1.1", "GET /stats HTTP/9.9", "PUT /stats HTTP/1.1",
         "DELETE /faults/0 HTTP/1.1",
         "DELETE /faults/99999999999999999999 HTTP/1.1", "DELETE /faults/-1 HTTP/1.1",
         "GET /../../etc/passwd HTTP/1.1", "GET " + "/a" * 20_000 + " HTTP/1.1", "GET", "",
         "POST /faults", "\0\0\0\0", "GET /stats\0 HTTP/1.1", "TRACE /stats HTTP/1.1",
         "POST /stats HTTP/1.1", "GET http://x/nowhere HTTP/1.1"]
HEADS = ["Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 4294967296",
         "Transfer-Encoding: chunked", "Content-Length: x", "Host: evil", "X: " + "y" * 40_000,
         "Content-Length: 5\r\nContent-Length: 7", ":", "\r"]


def message(line: str, heads: list[str], body: str = "") -> bytes:
    """A request, its faults included."""
    text = "\r\n".join([line, *heads, "", body])
    return text.encode(errors="replace")


class Control(Attack):
    """Bad requests, garbage and crowds; each is answered 4xx or closed, and the drive stays."""

    name = "control"
    title = "hostile requests to the control API"
    cases = 1000
    seconds = 10.0
    least = 60

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.served = Served(bench, bench.folder("api"), "null", "--size", "64M")
        self.good = GoodClient(self.served.nbd_path, bench.random(self.name, -1))
        self.held: list[socket.socket] = []

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        way = case % 5
        if way == 4:
            self._crowd(draw)
        else:
            shown, sent = self._bad(draw, way)
            answer = say(self.served.control_path, sent, seconds=10, last=True)
            status = answer.split(b" ")[1:2]
            if answer and not (status and status[0].startswith(b"4")):
                tally.violate(case, f"{shown[:80]!r}: {answer[:60]!r}")
        if self.served.running.poll() is not None:
            tally.violate(case, f"the server ended: {self.served.ended().brief()}")

    def _bad(self, draw: random.Random, way: int) -> tuple[str, bytes]:
        if way == 0:
            body = draw.choice(FAULTS)
            return body, message("POST /faults HTTP/1.1", ["Host: localhost",
                                 f"Content-Length: {len(body)}"], body)
        if way == 1:
            body = draw.choice(CUTS)
            return body, message("POST /power-cut HTTP/1.1", ["Host: localhost",
                                 f"Content-Length: {len(body)}"], body)
        if way == 2:
            line = draw.choice(LINES)
            return line, message(line, ["Host: localhost"])
        if draw.random() < 0.5:
            head = draw.choice(HEADS)
            return head, message("POST /faults HTTP/1.1", ["Host: localhost", head], "{}")
        data = draw.randbytes(draw.randrange(1, 5000))
        return "garbage", data + b"\r\n\r\n"

    def _crowd(self, draw: random.Random) -> None:
        """Connections that say nothing, or half of something."""
        for _ in range(draw.randrange(1, 4)):
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(5)
            try:
                link.connect(str(self.served.control_path))
                link.sendall(b"POST /faults HTTP/1.1\r\nHost: loc"[:draw.randrange(30)])
                self.held.append(link)
            except OSError:
                link.close()
        while len(self.held) > 200:
            self.held.pop(0).close()

    def finish(self, bench: Bench, tally: Tally) -> None:
        for link in self.held:
            link.close()
        if fault := self.good.stop():
            tally.lose(0, 1, fault)
        tally.saw(self.served.rss_peak())
        deadline = time.monotonic() + 15
        while self.served.fds() > self.served.fds_at_start and time.monotonic() < deadline:
            time.sleep(0.1)
        tally.fds = f"{self.served.fds_at_start} -> {self.served.fds()}"
        if self.served.fds() > self.served.fds_at_start:
            tally.violate(0, f"{self.served.fds()} descriptors afterwards")
        self._works(tally)
        ended = self.served.stop()
        if ended.code != 0 or ended.panicked():
            tally.violate(0, f"the server: {ended.brief()}")

    def _works(self, tally: Tally) -> None:
        """A right request is still answered rightly, and no wrong one was taken for a fault."""
        status, answer = self.served.ask("POST", "/faults", json.loads(
            '{"kind": "read-error", "range": [4096, 8192]}'))
        link = nbd.Nbd(self.served.nbd_path)
        failed = link.ask(nbd.READ, 4096, 512)[0]
        fine = link.ask(nbd.READ, 0, 512)[0]
        link.close()
        if status != 200 or not failed or fine:
            tally.violate(0, f"afterwards a fault is {status} {answer}, in its range {failed}, "
                          f"beside it {fine}")
