"""Experiments that are hurt while they run, and resumed: two kinds of study, and a matrix."""

from __future__ import annotations

import re
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .bench import Bench
from .process import Ended, Watch

#: Exit codes of an experiment that came to its end: a verdict, whichever it is.
CONCLUDED = (0, 1, 4)

SIMULATED = """title = "Two ways to ask, in virtual time"
primary = "random.iops"
margin = "3%"
blocks = 6
seed = 1
stage = "simulate"
[base]
drive = "seagate-st31000333as"
[[arm]]
name = "ide"
controller = "ide"
[[arm]]
name = "ahci"
controller = "ahci"
[[workload]]
name = "random"
rw = "randread"
bs = "4k"
iodepth = 32
runtime = "40s"
[[workload]]
name = "written"
rw = "randwrite"
bs = "4k"
iodepth = 8
runtime = "40s"
[curve]
rw = "randread"
bs = "4k"
iodepth = [1, 4, 16]
runtime = "30s"
"""

MEASURED = """title = "Two ways to read a small file"
primary = "random.iops"
margin = "5%"
blocks = 6
seed = 1
stage = "hardware"
[[arm]]
name = "direct"
run = { direct = true }
[[arm]]
name = "buffered"
run = { direct = false }
[[workload]]
name = "random"
rw = "randread"
bs = "4k"
iodepth = 1
runtime = "150ms"
"""

MATRIX = """targets = ["TARGET"]
read = [100]
random = [0, 100]
threads = [1, 2]
bs = ["4k", "8k", "16k"]
runtime = "40ms"
"""

#: A run, as `--progress lines` prints it.
RUN = re.compile(rb"^done (\d+) of \d+", re.MULTILINE)


@dataclass
class Subject:
    """An experiment: how it is started, where its journal is, what must come out."""

    name: str
    files: dict[str, str]
    command: list[str]
    resumed: list[str]
    journal: str
    deterministic: bool
    #: Files of the results folder that an undisturbed run and a resumed one share to the byte.
    results: tuple[str, ...] = ()
    #: Files that are computed from the journal alone: the same journal gives the same bytes.
    derived: tuple[str, ...] = ("result.json", "report.html")
    #: The results folder, as the command names it: reports may repeat it.
    out: str = "out"
    _reference: dict[str, bytes] | None = None
    _seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def lay_out(self, folder: Path) -> Path:
        """Writes what the experiment reads; returns its results folder, which is not made."""
        for name, text in self.files.items():
            (folder / name).write_text(text)
        (folder / self.out).parent.mkdir(exist_ok=True)
        return folder / self.out

    def argv(self, bench: Bench, again: bool = False) -> list[str]:
        """Its command, or the one that goes on where it stopped."""
        words = self.resumed if again else self.command
        return [str(bench.drivelab), *(self.out if word == "OUT" else word for word in words)]

    def lines(self, out: Path) -> list[bytes]:
        """The whole lines of its journal."""
        path = out / self.journal
        data = path.read_bytes() if path.exists() else b""
        return data[:data.rfind(b"\n") + 1].splitlines(keepends=True)

    def printed(self, ended: Ended) -> int:
        """How many of its runs were printed as finished."""
        whole = ended.out[:ended.out.rfind(b"\n") + 1] + ended.err[:ended.err.rfind(b"\n") + 1]
        runs = [int(number) for number in RUN.findall(whole)]
        return max(runs, default=0)

    def runs(self, bench: Bench) -> int:
        """How many runs the whole experiment has."""
        return self.reference(bench)[0][self.journal].count(b"\n")

    def reference(self, bench: Bench) -> tuple[dict[str, bytes], float]:
        """The files of an undisturbed run, and the seconds it takes; made once."""
        with self._lock:
            if self._reference is None:
                folder = bench.folder("ref")
                out = self.lay_out(folder)
                ended = bench.run(self.argv(bench), folder, Watch(120))
                if ended.code not in CONCLUDED:
                    raise RuntimeError(f"{self.name}, undisturbed: {ended.brief()}")
                self._reference = contents(out)
                self._seconds = ended.seconds
            return self._reference, self._seconds

    def complete(self, bench: Bench, folder: Path,
                 env: dict[str, str] | None = None) -> Ended:
        """Goes on where it was stopped, or begins where it had not begun."""
        out = folder / self.out
        ended = bench.run(self.argv(bench, again=True), folder, Watch(120), env=env)
        # Nothing had been planned yet: the message says so, and there is nothing to lose.
        if ended.code == 2 and self.resumed != self.command and not self.lines(out):
            shutil.rmtree(out, ignore_errors=True)
            ended = bench.run(self.argv(bench), folder, Watch(120), env=env)
        return ended


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def subjects(bench: Bench, out: str = "out") -> list[Subject]:
    """The three experiments, new. What is measured is one file, since a study remembers which."""
    target = bench.work / "target"
    if not target.exists():
        target.write_bytes(b"\x5a" * (1 << 20))
    results = ("plan.json", "report.html", "result.json", "runs.jsonl", "study.toml")
    study = ["study", "study.toml", "--out", "OUT", "--progress", "lines"]
    measured = [*study, "--target", str(target), "--size", "1M"]
    matrix = ["run", "--matrix", "matrix.toml", "--out", "OUT", "--progress", "lines"]
    cells = MATRIX.replace("TARGET", str(target))
    return [
        Subject("simulate", {"study.toml": SIMULATED}, study, [*study, "--resume"], "runs.jsonl",
                deterministic=True, results=results, out=out),
        Subject("hardware", {"study.toml": MEASURED}, measured, [*measured, "--resume"],
                "runs.jsonl", deterministic=False, out=out),
        Subject("matrix", {"matrix.toml": cells}, matrix, matrix, "runs.jsonl",
                deterministic=False, out=out),
    ]
