"""kill -9 at each file operation of an experiment, one after the other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench
from rig.process import Watch
from rig.resumed import check
from rig.subject import CONCLUDED, Subject, subjects

CALLS = ("mkdir,mkdirat,openat,write,pwrite64,writev,rename,renameat,renameat2,fsync,fdatasync,"
         "sync_file_range,ftruncate,fallocate,unlink,unlinkat,link,linkat,flock,fcntl,close")
CALL = re.compile(r"^(\d+) +(\w+)\(")


def points(log: Path) -> list[tuple[str, int]]:
    """Each call that touches the results folder, by its number among a thread's calls of a kind."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if not (call := CALL.match(line)):
            continue
        thread, name = call.groups()
        seen[thread, name] += 1
        if '"out' in line or "/out" in line:
            found.append((name, seen[thread, name]))
    return sorted(set(found))


class KillPoints(Attack):
    """Kills studies and matrices before each call that makes, writes, syncs or renames."""

    name = "kill-points"
    title = "kill -9 at every file operation, resumed"
    cases = 330
    seconds = 300.0
    least = 3
    tools = ("strace",)

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.points = [(subject, point) for subject in subjects(bench)
                       for point in self._points(bench, subject)]
        bench.random(self.name, -1).shuffle(self.points)
        tally.note(f"kill-points: {len(self.points)} file operations in a study of each kind and a "
                   "matrix")

    def scaled(self, bench: Bench) -> int:
        cases = super().scaled(bench)
        return max(cases, len(self.points)) if bench.share >= 1 else cases

    def _points(self, bench: Bench, subject: Subject) -> list[tuple[str, int]]:
        folder = bench.folder("trace")
        subject.lay_out(folder)
        log = folder / "log"
        argv = ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={CALLS}",
                *subject.argv(bench)]
        ended = bench.run(argv, folder, Watch(120))
        if ended.code not in CONCLUDED:
            raise LeftOut(f"strace does not run here: {ended.brief()}")
        return points(log)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        subject, (call, number) = self.points[case % len(self.points)]
        folder = bench.folder("point")
        out = subject.lay_out(folder)
        ended = bench.run(["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                           f"inject={call}:signal=SIGKILL:when={number}", *subject.argv(bench)],
                          folder, Watch(120))
        lines = subject.lines(out)
        printed = subject.printed(ended)
        what = f"killed at {call} {number}"
        if printed > len(lines):
            tally.lose(case, printed - len(lines), f"{subject.name}, {what}: {printed} runs "
                       f"printed as finished, {len(lines)} in the journal")
        check(bench, tally, case, subject, folder, lines, what)
