"""One process that uses a drive as a file, against a shadow copy. Started by the attack `fuse`.

  fuse_worker.py FILE BEGIN END OPERATIONS SEED SHADOW

Prints one JSON document: how many operations of each kind, and what was wrong.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import random
import sys
from collections import Counter
from pathlib import Path

PAGE = 4096
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
LIBC = ctypes.CDLL(None, use_errno=True)
FALLOCATE = getattr(LIBC, "fallocate64", LIBC.fallocate)
FALLOCATE.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


class Worker:
    """A part of the file, from one byte to another, that nobody else writes."""

    def __init__(self, path: str, begin: int, end: int, seed: str) -> None:
        self.begin, self.end = begin, end
        self.draw = random.Random(seed)
        self.shadow = bytearray(end - begin)
        self.file = os.open(path, os.O_RDWR)
        self.direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.aligned = mmap.mmap(-1, 4 << 20)
        self.noise = self.draw.randbytes(8 << 20)
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.shared = self._map_shared()

    def _map_shared(self) -> mmap.mmap | None:
        """A shared mapping of the whole pages of the part; none where it is refused."""
        first = -(-self.begin // PAGE) * PAGE
        self.mapped = (first, self.end // PAGE * PAGE)
        try:
            return mmap.mmap(self.file, self.mapped[1] - first, mmap.MAP_SHARED, offset=first)
        except OSError as error:
            if error.errno != errno.ENODEV:
                self.fault("shared mmap", errno.errorcode.get(error.errno or 0, "?"))
            return None

    def fault(self, kind: str, what: str) -> None:
        """Notes what was wrong, with one example a kind."""
        self.faults[f"{kind}: {what.split(' at ')[0]}"] += 1
        self.examples.setdefault(kind, what)

    def piece(self, unit: int = 1, within: tuple[int, int] | None = None) -> tuple[int, int]:
        """An offset and a length: small ones most often, any up to 64 KiB, now and then 4 MiB."""
        low, high = within or (self.begin, self.end)
        low = -(-low // unit) * unit
        most = 22 if self.draw.random() < 0.002 else 16
        length = int(2 ** self.draw.uniform(0, most))
        length = min(max(unit, length // unit * unit), (high - low) // unit * unit)
        offset = low + self.draw.randrange((high - length - low) // unit + 1) * unit
        return offset, length

    def data(self, length: int) -> bytes:
        """Bytes to write: another piece of the noise each time."""
        place = self.draw.randrange(len(self.noise) - length)
        return self.noise[place:place + length]

    def store(self, offset: int, data: bytes) -> None:
        """What the file holds from now on."""
        self.shadow[offset - self.begin:offset - self.begin + len(data)] = data

    def same(self, kind: str, offset: int, data: bytes | memoryview) -> None:
        """Holds what was read against the shadow."""
        if data != self.shadow[offset - self.begin:offset - self.begin + len(data)]:
            self.fault(kind, f"other data at {offset}, {len(data)} bytes")

    def read(self) -> None:
        """`pread` of any size and alignment, into ordinary memory."""
        offset, length = self.piece()
        data = os.pread(self.file, length, offset)
        if len(data) != length:
            self.fault("read", f"short at {offset}: {len(data)} of {length}")
        self.same("read", offset, data)

    def write(self) -> None:
        """`pwrite` of any size and alignment, from ordinary memory."""
        offset, length = self.piece()
        data = self.data(length)
        done = os.pwrite(self.file, data, offset)
        if done != length:
            self.fault("write", f"short at {offset}: {done} of {length}")
        self.store(offset, data[:done])

    def direct_read(self) -> None:
        """O_DIRECT, aligned as it must be."""
        offset, length = self.piece(512)
        with memoryview(self.aligned)[:length] as view:
            done = os.preadv(self.direct, [view], offset)
            if done != length:
                self.fault("direct read", f"short at {offset}: {done} of {length}")
            with view[:done] as part:
                self.same("direct read", offset, part)

    def direct_write(self) -> None:
        """O_DIRECT, aligned as it must be."""
        offset, length = self.piece(512)
        data = self.data(length)
        self.aligned[:length] = data
        with memoryview(self.aligned)[:length] as view:
            done = os.pwritev(self.direct, [view], offset)
        if done != length:
            self.fault("direct write", f"short at {offset}: {done} of {length}")
        self.store(offset, data[:done])

    def punch(self) -> None:
        """A hole, read as zeros."""
        self._allocate(PUNCH_HOLE | KEEP_SIZE)

    def zero(self) -> None:
        """A range zeroed."""
        self._allocate(ZERO_RANGE | KEEP_SIZE)

    def _allocate(self, mode: int) -> None:
        offset, length = self.piece()
        if FALLOCATE(self.file, mode, offset, length) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self.store(offset, b"\0" * length)

    def sync(self) -> None:
        """`fsync`, or `fdatasync`."""
        self.draw.choice([os.fsync, os.fdatasync])(self.file)

    def map(self) -> None:
        """Reads, or writes and syncs, through a shared mapping."""
        if self.shared is None:
            self.read()
            return
        offset, length = self.piece(within=self.mapped)
        place = offset - self.mapped[0]
        if self.draw.random() < 0.5:
            self.same("mmap", offset, self.shared[place:place + length])
            return
        data = self.data(length)
        self.shared[place:place + length] = data
        page = place // PAGE * PAGE
        self.shared.flush(page, min(place + length - page, len(self.shared) - page))
        self.store(offset, data)

    def work(self, operations: int) -> None:
        """So many operations, of all kinds."""
        kinds = [self.read] * 34 + [self.write] * 34 + [self.direct_read] * 6 + \
            [self.direct_write] * 6 + [self.punch] * 6 + [self.zero] * 6 + [self.sync] * 3 + \
            [self.map] * 5
        for _ in range(operations):
            operation = self.draw.choice(kinds)
            self.counts[operation.__name__] += 1
            try:
                operation()
            except OSError as error:
                name = errno.errorcode.get(error.errno or 0, str(error.errno))
                self.fault(operation.__name__, f"{name}")
        if self.shared is not None:
            self.shared.flush()
        os.fsync(self.file)
        try:
            for offset in range(self.begin, self.end, 1 << 16):
                length = min(1 << 16, self.end - offset)
                self.same("last read", offset, os.pread(self.file, length, offset))
        except OSError as error:
            self.fault("last read", str(error))


def main() -> None:
    """Reads the arguments, works, says what was wrong."""
    path, begin, end, operations, seed, shadow = sys.argv[1:]
    worker = Worker(path, int(begin), int(end), seed)
    worker.work(int(operations))
    Path(shadow).write_bytes(worker.shadow)
    print(json.dumps({"counts": worker.counts, "faults": worker.faults,
                      "examples": worker.examples, "shared": worker.shared is not None}))


if __name__ == "__main__":
    main()
