"""A small NBD client, after the protocol description that the NBD project keeps (doc/proto.md)."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

MAGIC, IHAVEOPT = 0x4E42444D41474943, 0x49484156454F5054
REQUEST, SIMPLE_REPLY = 0x25609513, 0x67446698
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
OPT_EXPORT_NAME = 1
READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1


class Gone(Exception):
    """The server has closed the connection."""


def connected(path: Path, seconds: float = 20.0) -> socket.socket:
    """A socket to the server, without a word said."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(seconds)
    link.connect(str(path))
    return link


def request(command: int, cookie: int, offset: int = 0, length: int = 0, flags: int = 0) -> bytes:
    """The head of a request."""
    return struct.pack(">IHHQQI", REQUEST, flags, command, cookie, offset, length)


class Nbd:
    """One connection: requests go out as asked, replies come back in any order."""

    def __init__(self, path: Path, export: str = "drive", seconds: float = 20.0) -> None:
        self.link = connected(path, seconds)
        self._buffer = bytearray()
        self._lengths: dict[int, int] = {}
        self._cookie = 0
        magic, option, flags = struct.unpack(">QQH", self._take(18))
        if (magic, option) != (MAGIC, IHAVEOPT) or not flags & FIXED_NEWSTYLE:
            raise RuntimeError("not the greeting of an NBD server")
        name = export.encode()
        self.link.sendall(struct.pack(">IQII", FIXED_NEWSTYLE | NO_ZEROES, IHAVEOPT,
                                      OPT_EXPORT_NAME, len(name)) + name)
        self.bytes, self.flags = struct.unpack(">QH", self._take(10))

    def fileno(self) -> int:
        """For `select`."""
        return self.link.fileno()

    def send(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"",
             flags: int = 0) -> int:
        """Sends a request; returns the cookie of its reply."""
        self._cookie += 1
        self._lengths[self._cookie] = length if command == READ else 0
        try:
            self.link.sendall(request(command, self._cookie, offset, length, flags) + data)
        except (BrokenPipeError, ConnectionError) as error:
            raise Gone from error
        return self._cookie

    def receive(self) -> tuple[int, int, bytes]:
        """The next reply: cookie, error, data."""
        magic, error, cookie = struct.unpack(">IIQ", self._take(16))
        if magic != SIMPLE_REPLY or cookie not in self._lengths:
            raise RuntimeError(f"not a reply to us: {magic:#x}, cookie {cookie}")
        length = self._lengths.pop(cookie)
        return cookie, error, self._take(length) if length and not error else b""

    def pending(self) -> bool:
        """Whether a whole reply head has been read already, so that `select` would not tell."""
        return len(self._buffer) >= 16

    def in_flight(self) -> int:
        """Requests that are not answered."""
        return len(self._lengths)

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"",
            flags: int = 0) -> tuple[int, bytes]:
        """A request and its reply: error and data. Nothing else may be in flight."""
        self.send(command, offset, length, data, flags)
        _, error, data = self.receive()
        return error, data

    def read(self, offset: int, length: int) -> bytes:
        """Reads; an error of the server is a failure of the case."""
        error, data = self.ask(READ, offset, length)
        if error:
            raise RuntimeError(f"read {length} bytes at {offset}: error {error}")
        return data

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        """Writes; an error of the server is a failure of the case."""
        error, _ = self.ask(WRITE, offset, len(data), data, flags)
        if error:
            raise RuntimeError(f"write {len(data)} bytes at {offset}: error {error}")

    def close(self) -> None:
        """Says good-bye."""
        try:
            self.link.sendall(request(DISCONNECT, 0))
        except OSError:
            pass
        self.link.close()

    def _take(self, number: int) -> bytes:
        while len(self._buffer) < number:
            try:
                more = self.link.recv(max(1 << 16, number - len(self._buffer)))
            except ConnectionError as error:
                raise Gone from error
            if not more:
                raise Gone
            self._buffer += more
        taken = bytes(self._buffer[:number])
        del self._buffer[:number]
        return taken
