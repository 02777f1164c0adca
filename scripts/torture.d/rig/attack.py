"""An attack: numbered cases, each repeatable alone, and the tally of what they showed."""

from __future__ import annotations

import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .bench import Bench
from .process import Ended


class LeftOut(Exception):
    """What this machine lacks for an attack."""


@dataclass
class Tally:
    """One row of the table, and the violations behind it."""

    attack: str
    title: str
    seed: int
    count: int = 0
    survived: int = 0
    lost: int = 0
    rss_bytes: int = 0
    fds: str = "-"
    violations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hurt: set[int] = field(default_factory=set)  # the cases that have violations
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def violate(self, case: int, what: str) -> None:
        """Notes what must not be, with the command that shows it again."""
        command = f"scripts/torture {self.attack} --seed {self.seed} --case {case}"
        with self._lock:
            self.hurt.add(case)
            self.violations.append(f"{what}\n    again: {command}")

    def lose(self, case: int, number: int, what: str) -> None:
        """Notes that promised things are gone."""
        with self._lock:
            self.lost += number
        self.violate(case, what)

    def weigh(self, ended: Ended) -> Ended:
        """Takes note of a program's size; a panic is a violation wherever it happens."""
        self.saw(ended.rss_bytes)
        return ended

    def saw(self, rss_bytes: int) -> None:
        """Takes note of a size."""
        with self._lock:
            self.rss_bytes = max(self.rss_bytes, rss_bytes)

    def done(self, count: int = 1, survived: int = 1) -> None:
        """Counts cases, or operations."""
        with self._lock:
            self.count += count
            self.survived += survived

    def note(self, what: str) -> None:
        """A sentence beside the table."""
        with self._lock:
            if what not in self.notes:
                self.notes.append(what)


class Attack:
    """One way to hurt it. A subclass states these, and what one case does."""

    name: str
    title: str
    #: Cases in the whole hour, and the seconds they take on two cores.
    cases: int
    seconds: float
    #: Fewest cases that show anything, however small the share.
    least: int = 2
    tools: tuple[str, ...] = ()
    needs_root = False
    #: Cases at the same time; above 1 only where they mostly wait.
    workers = 1

    def prepare(self, bench: Bench, tally: Tally) -> None:
        """Makes what all cases use; raises `LeftOut` where the machine lacks something."""

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        """Does one case; what it draws comes from `bench.random(self.name, case)`."""
        raise NotImplementedError

    def finish(self, bench: Bench, tally: Tally) -> None:
        """Looks at what all cases left behind."""

    def scaled(self, bench: Bench) -> int:
        """How many cases a share of the hour has."""
        return max(self.least, round(self.cases * bench.share))

    def run(self, bench: Bench, tally: Tally, only: int | None) -> None:
        """Does the cases, or one of them again."""
        self.prepare(bench, tally)
        cases = [only] if only is not None else list(range(self.scaled(bench)))
        # Six times the time on a quiet machine: a bound, not a measurement.
        limit = time.monotonic() + max(60.0, 6 * self.seconds * len(cases) / self.cases)
        if self.workers == 1:
            for case in cases:
                self._guarded(bench, tally, case, limit)
        else:
            pool = ThreadPoolExecutor(self.workers)
            try:
                list(pool.map(lambda case: self._guarded(bench, tally, case, limit), cases))
            except BaseException:  # Ctrl-C too: what has not begun does not, what runs is ended
                bench.end_children()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
        self.finish(bench, tally)

    def _guarded(self, bench: Bench, tally: Tally, case: int, limit: float) -> None:
        if time.monotonic() > limit:
            tally.note(f"{self.name}: ended before its {self.scaled(bench)} cases, time was up")
            return
        try:
            self.case(bench, tally, case)
        except LeftOut:
            raise
        except Exception:  # whatever it was, the case has shown nothing and must be looked at
            tally.violate(case, f"the rig failed:\n{traceback.format_exc(limit=-4)}")
        if self.counts_cases():
            tally.done(1, int(case not in tally.hurt))

    def counts_cases(self) -> bool:
        """Whether `count` is cases; attacks that count operations say no and count themselves."""
        return True
