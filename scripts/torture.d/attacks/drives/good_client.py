"""A client that does right beside those that do wrong: it must not be hindered."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from rig import nbd
from rig.history import SECTOR

#: The part of the drive that is its own.
REGION_BYTES = 4 << 20


class GoodClient:
    """Writes and reads at random in a thread, and holds every answer against a shadow copy."""

    def __init__(self, path: Path, draw: random.Random) -> None:
        self.path = path
        self.draw = draw
        self.shadow = bytearray(REGION_BYTES)
        self.requests = 0
        self.slowest_s = 0.0
        self.fault = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            link = nbd.Nbd(self.path)
            while not self._stop.is_set() and not self.fault:
                begin = time.monotonic()
                self._step(link)
                self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
                self.requests += 1
                time.sleep(0.0005)  # lets the other threads of the rig have their turn
            self._same(link, 0, REGION_BYTES)
            link.close()
        except (nbd.Gone, OSError, RuntimeError) as error:
            self.fault = f"the good client: {error!r}"

    def _step(self, link: nbd.Nbd) -> None:
        length = self.draw.randrange(1, 65) * SECTOR
        offset = self.draw.randrange((REGION_BYTES - length) // SECTOR) * SECTOR
        if self.draw.random() < 0.5:
            data = self.draw.randbytes(length)
            link.write(offset, data)
            self.shadow[offset:offset + length] = data
        else:
            self._same(link, offset, length)

    def _same(self, link: nbd.Nbd, offset: int, length: int) -> None:
        if link.read(offset, length) != self.shadow[offset:offset + length]:
            self.fault = f"the good client: other data at {offset}, {length} bytes"

    def stop(self) -> str:
        """Ends it; says what was wrong."""
        self._stop.set()
        self._thread.join()
        return self.fault
