"""What a power cut may leave of each sector, from what was sent and what was answered.

Written from the rules alone (docs/concepts/durability.md); it knows nothing of how a drive does it.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

SECTOR = 512
ZEROS = b"\0" * SECTOR
HEAD = struct.Struct("<8sQQ")
MAGIC = b"TORTURED"


def sector(lba: int, number: int) -> bytes:
    """The content of a sector by the write of this number: place, number, checksum, filling."""
    head = HEAD.pack(MAGIC, lba, number)
    filling = hashlib.blake2b(head, digest_size=64).digest()
    return head + (filling * 8)[:SECTOR - HEAD.size]


def number_in(lba: int, data: bytes) -> int | None:
    """Which write a sector is of: 0 for zeros, nothing where it is of none."""
    if data == ZEROS:
        return 0
    magic, place, number = HEAD.unpack_from(data)
    right = magic == MAGIC and place == lba and data == sector(lba, number)
    return number if right else None


@dataclass
class Write:
    """A write, or zeros: when it was sent and answered, counted in events."""

    number: int  # 0: zeros
    first: int
    sectors: int
    sent: int
    fua: bool
    answered: int | None = None
    durable: bool = False


@dataclass
class History:
    """All that was sent and answered. Event numbers are those of one observer, in order."""

    cached: bool  # whether the drive has a volatile cache
    events: int = 0
    writes: list[Write] = field(default_factory=list)
    of: dict[int, list[Write]] = field(default_factory=dict)
    #: What a sector held before, as found after the cut before: durable now.
    before: dict[int, int] = field(default_factory=dict)

    def event(self) -> int:
        """The number of what happens now."""
        self.events += 1
        return self.events

    def write(self, number: int, first: int, sectors: int, fua: bool) -> Write:
        """A write is sent."""
        write = Write(number, first, sectors, self.event(), fua)
        self.writes.append(write)
        for lba in range(first, first + sectors):
            self.of.setdefault(lba, []).append(write)
        return write

    def answered(self, write: Write) -> None:
        """A write is answered without an error."""
        write.answered = self.event()
        write.durable = write.fua or not self.cached

    def flushed(self, sent: int) -> None:
        """A flush that was sent at this event is answered without an error."""
        self.event()
        for write in self.writes:
            if write.answered is not None and write.answered < sent:
                write.durable = True

    def legal(self, lba: int) -> set[int]:
        """The numbers that a sector may hold after a cut now."""
        writes = self.of.get(lba, [])
        durable = [write for write in writes if write.durable]
        allowed = {write.number for write in writes
                   if not any(superseded(write, by) for by in durable)}
        if not durable:
            allowed.add(self.before.get(lba, 0))
        return allowed

    def promised(self, lba: int) -> bool:
        """Whether anything durable was written to a sector."""
        return lba in self.before or any(write.durable for write in self.of.get(lba, []))


def superseded(write: Write, by: Write) -> bool:
    """Whether a write is older than a durable one beyond doubt: answered before that was sent."""
    return write is not by and write.answered is not None and write.answered < by.sent


@dataclass
class Judged:
    """What was found after a cut."""

    lost: int = 0  # sectors that hold something older than what was promised
    illegal: int = 0  # sectors that hold what was never written there, or mixtures
    examples: list[str] = field(default_factory=list)


def judge(history: History, lba: int, data: bytes, judged: Judged) -> int | None:
    """Holds one sector after a cut against the rules; returns the number that it holds."""
    number = number_in(lba, data)
    allowed = history.legal(lba)
    if number is None:
        judged.illegal += 1
        judged.examples.append(f"sector {lba} holds what was never written there")
    elif number not in allowed:
        known = number == history.before.get(lba, 0) or \
            any(write.number == number for write in history.of.get(lba, []))
        judged.lost += known
        judged.illegal += not known
        judged.examples.append(f"sector {lba} holds write {number}, allowed are {sorted(allowed)}")
    return number
