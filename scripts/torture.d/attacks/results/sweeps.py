"""kill -9 at random moments of a sweep in shards, resumed to the bytes of an undisturbed one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench
from rig.process import Ended, Watch

POINTS = 20_000
SWEEP = f"""
title = "What decides the rate of random reads?"
drive = "seagate-st31000333as"
points = {POINTS}
specimens = true
[load]
rw = "randread"
runtime = "20ms"
[parameter.iodepth]
from = 1
to = 64
scale = "log"
[parameter.ncq]
values = ["on", "off"]
"""


class SweepKills(Attack):
    """Kills a sweep and goes on, in the same shards or in others; rows must come out the same."""

    name = "sweep-kills"
    title = "kill -9 of sweeps, resumed in other shards"
    cases = 20
    seconds = 200.0
    least = 2

    def prepare(self, bench: Bench, tally: Tally) -> None:
        folder = self._laid_out(bench)
        whole = self._run(bench, folder)
        if whole.code != 0:
            raise LeftOut(f"a sweep does not run here: {whole.brief()}")
        self.whole = whole.seconds
        self.reference = self._report(bench, folder)
        self.lines = lines(folder)
        shutil.rmtree(folder)

    @staticmethod
    def _laid_out(bench: Bench) -> Path:
        folder = bench.folder("sweep")
        (folder / "s.toml").write_text(SWEEP)
        return folder

    @staticmethod
    def _run(bench: Bench, folder: Path, shard: str = "1/1", watch: Watch | None = None) -> Ended:
        words = ["sweep", "s.toml", "--shard", shard]
        return bench.lab(*words, cwd=folder, watch=watch or Watch(300))

    @staticmethod
    def _report(bench: Bench, folder: Path) -> dict | None:
        ended = bench.lab("sweep", "report", "s.toml", "--json", cwd=folder, watch=Watch(60))
        try:
            return json.loads(ended.out)
        except ValueError:
            return None

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        folder = self._laid_out(bench)
        # A third are killed again, in other shards, over what the first kill left.
        for _ in range(draw.choice([1, 1, 2])):
            of = draw.choice([1, 1, 2, 7])
            shard = f"{draw.randint(1, of)}/{of}"
            moment = draw.uniform(0.0, self.whole / of)
            before = lines(folder)
            ended = tally.weigh(self._run(bench, folder, shard, Watch(300, kill_after=moment)))
            if ended.panicked():
                tally.violate(case, f"shard {shard}: {ended.brief()}")
            if gone := before - lines(folder):
                tally.lose(case, len(gone), f"shard {shard} killed after {moment:.3f} s: "
                           f"{len(gone)} rows are gone")
        made = lines(folder)
        of = draw.choice([1, 2, 7])
        for number in range(1, of + 1):
            ended = tally.weigh(self._run(bench, folder, f"{number}/{of}"))
            if ended.code != 0:
                tally.violate(case, f"resumed as {number}/{of}: {ended.brief()}")
        after = lines(folder)
        if gone := made - after:
            tally.lose(case, len(gone), f"{len(gone)} rows are gone after it was resumed")
        if self._report(bench, folder) != self.reference:
            tally.violate(case, f"{len(made)} rows, resumed in {of} shards: not the report of an "
                          "undisturbed sweep")
        if after != self.lines:
            tally.violate(case, f"resumed in {of} shards: {len(after ^ self.lines)} lines differ")
        shutil.rmtree(folder)


def lines(folder: Path) -> set[bytes]:
    """All whole rows, of all shards."""
    found: set[bytes] = set()
    for path in sorted(folder.glob("s.sweep/rows-*.jsonl")):
        found |= {line for line in path.read_bytes().splitlines(keepends=True)
                  if line.endswith(b"\n")}
    return found
