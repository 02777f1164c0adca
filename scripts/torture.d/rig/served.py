"""A served drive: started, asked, cut, stopped."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

from .bench import Bench
from .process import Ended, Running, Watch, descriptors, rss_bytes, rss_peak


class Refused(Exception):
    """The server did not start; the text is what it said."""


class Served:
    """`drivelab serve` in a folder: sockets `nbd` and `control`, the file `drive`, `image`."""

    def __init__(self, bench: Bench, folder: Path, drive: str, *more: str, nbd: bool = True,
                 fuse: bool = False, image: bool = False, prefix: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.nbd_path, self.control_path = folder / "nbd", folder / "control"
        self.drive_path, self.image_path = folder / "drive", folder / "image"
        argv = [*prefix, str(bench.drivelab), "serve", *drive.split(), *more,
                "--control", "unix:control"]
        argv += ["--nbd", "unix:nbd"] if nbd else []
        argv += ["--fuse", "drive"] if fuse else []
        argv += ["--image", "image"] if image else []
        self.running: Running = bench.start(argv, folder)
        self._await(folder / ("nbd" if nbd else "control"))
        self.rss_at_start, self.fds_at_start = rss_bytes(self.pid), descriptors(self.pid)

    @property
    def pid(self) -> int:
        """Its process."""
        return self.running.pid

    def _await(self, last: Path) -> None:
        deadline = time.monotonic() + 20
        while True:
            ended = self.running.poll()
            if ended is not None:
                raise Refused(ended.brief())
            try:
                if last.exists():
                    self.stats()
                    return
            except OSError:
                pass
            if time.monotonic() > deadline:
                self.running.kill()
                raise Refused("not there after 20 s")
            time.sleep(0.01)

    def ask(self, method: str, path: str, body: Any = None,
            seconds: float = 30.0) -> tuple[int, Any]:
        """Asks the control API: status and document."""
        text = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n"
                "Connection: close\r\n\r\n").encode()
        answer = say(self.control_path, head + text, seconds)
        if not answer:
            raise ConnectionResetError("the server ended and gave no answer")
        status = int(answer.split(b" ", 2)[1])
        content = answer.partition(b"\r\n\r\n")[2]
        return status, json.loads(content) if content.strip() else None

    def stats(self) -> dict[str, Any]:
        """`GET /stats`."""
        return self.ask("GET", "/stats")[1]

    def cut(self, when: Any, seed: int, seconds: float = 60.0) -> dict[str, Any]:
        """Pulls the plug; returns what was lost, as the drive tells it."""
        status, answer = self.ask("POST", "/power-cut", {"when": when, "seed": seed}, seconds)
        if status != 200:
            raise RuntimeError(f"power cut: {status} {answer}")
        return answer

    def ended(self, seconds: float = 30.0) -> Ended:
        """Waits for its own end, as after a power cut."""
        return self.running.wait(Watch(seconds))

    def stop(self) -> Ended:
        """An orderly end, to this process alone."""
        if self.running.poll() is None:
            self.running.process.send_signal(signal.SIGTERM)
        return self.running.wait(Watch(40))

    def rss(self) -> int:
        """Resident memory now."""
        return rss_bytes(self.pid)

    def fds(self) -> int:
        """Open descriptors now."""
        return descriptors(self.pid)

    def rss_peak(self) -> int:
        """The most memory that was ever resident."""
        return rss_peak(self.pid)


def say(path: Path, message: bytes, seconds: float = 30.0, last: bool = False) -> bytes:
    """Sends bytes to a Unix socket, perhaps its last, and returns what comes until it is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(seconds)
        link.connect(str(path))
        try:
            link.sendall(message)
            if last:
                link.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before it was all said: the answer is there
        parts = []
        try:
            while part := link.recv(1 << 16):
                parts.append(part)
        except (ConnectionResetError, TimeoutError):
            pass
    return b"".join(parts)
