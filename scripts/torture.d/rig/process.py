"""Runs a program under watch: how it ended, what it said, how long and how large it was."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Callable, Sequence

#: No answer of drivelab is as large as this: a program that writes more does not stop.
OUTPUT_BYTES_MAX = 64 << 20


@dataclass
class Ended:
    """How a program ended."""

    argv: list[str]
    code: int  # negative: the signal that ended it, as subprocess has it
    out: bytes
    err: bytes
    seconds: float
    rss_bytes: int
    ended_by_us: str = ""  # why the rig ended it: "killed" as asked, "time", "memory", "output"

    @property
    def text(self) -> str:
        """Both outputs, for a search."""
        return (self.out + b"\n" + self.err).decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.err.decode(errors="replace")

    def panicked(self) -> bool:
        """Whether it died of a bug: a panic, an abort, a segmentation fault."""
        words = (b"panicked at", b"stack backtrace", b"a bug in drivelab", b"RUST_BACKTRACE")
        fatal = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL, 70, 101}
        return self.code in fatal or any(word in self.err for word in words)

    def brief(self) -> str:
        """Code and error, or else the first line, for a violation."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        error = next((place for place, line in enumerate(lines) if line.startswith("error")), 0)
        # Behind the error stand its causes.
        said = " / ".join(lines[error:error + 3]) or "no word"
        return f"exit {self.code} after {self.seconds:.1f} s: {said[:400]}"


@dataclass
class Watch:
    """What a program may take before the rig ends it, and when the rig kills it regardless."""

    seconds: float = 60.0  # from when it is waited for
    rss_bytes: int = 4 << 30
    kill_after: float | None = None  # from its start
    kill_when: Callable[[int], bool] | None = None


@dataclass
class Running:
    """A child in a session of its own, so that it can be ended with whatever it started."""

    argv: list[str]
    process: subprocess.Popen[bytes]
    out: BinaryIO
    err: BinaryIO
    began: float
    rss_bytes: int = 0
    _ended: Ended | None = field(default=None, repr=False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to it and to what it started."""
        if self._ended is None:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass

    def said(self) -> bytes:
        """What has come on standard error by now."""
        return _read(self.err)

    def poll(self) -> Ended | None:
        """How it ended, where it has."""
        if self._ended is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._finish(status, usage)
        return self._ended

    def _finish(self, status: int, usage: resource.struct_rusage, why: str = "") -> None:
        # The kernel counts what the rig itself held when it started the program: only a larger
        # size is the program's own.
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if usage.ru_maxrss > ours:
            self.rss_bytes = max(self.rss_bytes, usage.ru_maxrss * 1024)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self._ended = Ended(
            argv=self.argv,
            code=self.process.returncode,
            out=_read(self.out),
            err=_read(self.err),
            seconds=time.monotonic() - self.began,
            rss_bytes=self.rss_bytes,
            ended_by_us=why,
        )
        self.out.close()
        self.err.close()

    def _must_end(self, watch: Watch, limit: float) -> str:
        elapsed = time.monotonic() - self.began
        if watch.kill_after is not None and elapsed >= watch.kill_after:
            return "killed"
        if watch.kill_when is not None and watch.kill_when(self.pid):
            return "killed"
        if time.monotonic() >= limit:
            return "time"
        self.rss_bytes = max(self.rss_bytes, rss_peak(self.pid))
        if self.rss_bytes > watch.rss_bytes:
            return "memory"
        if os.fstat(self.out.fileno()).st_size > OUTPUT_BYTES_MAX:
            return "output"
        return ""

    def wait(self, watch: Watch) -> Ended:
        """Waits for its end, and brings it about where `watch` says so."""
        pause, limit = 0.0005, time.monotonic() + watch.seconds
        while self.poll() is None:
            why = self._must_end(watch, limit)
            if why:
                self.kill()
                _, status, usage = os.wait4(self.pid, 0)
                self._finish(status, usage, why)
                break
            until_kill = watch.seconds
            if watch.kill_after is not None:
                until_kill = watch.kill_after - (time.monotonic() - self.began)
            time.sleep(max(0.0, min(pause, until_kill)))
            pause = min(pause * 1.5, 0.01)
        assert self._ended is not None
        return self._ended


def start(argv: Sequence[str], cwd: Path, stdin: bytes | None = None,
          env: dict[str, str] | None = None) -> Running:
    """Starts a program; its outputs go to unnamed files, so that no pipe can hold it up."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    source: BinaryIO | int = subprocess.DEVNULL
    if stdin is not None:
        source = tempfile.TemporaryFile()
        source.write(stdin)
        source.seek(0)
    # What a user sees, who has not asked for a backtrace.
    ours = {name: text for name, text in os.environ.items() if name != "RUST_BACKTRACE"}
    began = time.monotonic()
    process = subprocess.Popen(list(argv), cwd=cwd, stdin=source, stdout=out, stderr=err,
                               env={**ours, **(env or {})}, start_new_session=True)
    if stdin is not None and not isinstance(source, int):
        source.close()
    return Running(list(argv), process, out, err, began)


def rss_bytes(pid: int) -> int:
    """Resident memory of a process now, 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def rss_peak(pid: int) -> int:
    """The most memory that was ever resident in a process, 0 where it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def descriptors(pid: int) -> int:
    """Open descriptors of a process now, 0 where it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _read(file: BinaryIO) -> bytes:
    return os.pread(file.fileno(), OUTPUT_BYTES_MAX, 0)
