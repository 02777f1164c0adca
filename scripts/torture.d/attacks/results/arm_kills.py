"""kill -9 between the `apply` of an arm and the first run of the next, then --resume."""

from __future__ import annotations

import json
from pathlib import Path

from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench
from rig.process import Ended, Watch

from .kill_points import CALLS, points

#: A run has 100 where the flag is, which arm `a` sets, else 200.
STUDY = """
title = "Does the flag matter?"
primary = "it.v"
blocks = 6
[[arm]]
name = "a"
apply = "touch flag; sleep 0.02"
revert = "sleep 0.02; rm -f flag; sleep 0.02"
[[arm]]
name = "b"
[[workload]]
name = "it"
command = "if test -e flag; then echo v 100; else echo v 200; fi"
[workload.metrics]
v = { regex = "v ([0-9]+)", better = "more" }
"""
EXPECTED = {0: 100.0, 1: 200.0}
RUNS = 12


class ArmKills(Attack):
    """Kills a study whose arms are switched, and looks for runs under the setting of the other."""

    name = "arm-kills"
    title = "kill -9 while an arm is in force, resumed"
    cases = 200
    seconds = 120.0
    least = 5
    tools = ("strace",)

    def prepare(self, bench: Bench, tally: Tally) -> None:
        folder = bench.folder("trace")
        log = folder / "log"
        ended = self._study(bench, folder, ["strace", "-f", "-y", "-o", str(log), "-e",
                                            f"trace={CALLS}"])
        if ended.code != 0:
            raise LeftOut(f"strace does not run here: {ended.brief()}")
        self.points = points(log)
        bench.random(self.name, -1).shuffle(self.points)
        tally.note(f"arm-kills: {len(self.points)} file operations; every second case is killed "
                   "with its commands at a random moment instead")

    def _study(self, bench: Bench, folder: Path, before: list[str], *more: str,
               watch: Watch | None = None) -> Ended:
        (folder / "switched.toml").write_text(STUDY)
        argv = [*before, str(bench.drivelab), "study", "switched.toml", "--out", "out",
                "--no-archive", *more]
        return bench.run(argv, folder, watch or Watch(120))

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        folder = bench.folder("arms")
        if case % 2:
            after = bench.random(self.name, case).uniform(0.02, 1.2)
            self._study(bench, folder, [], watch=Watch(120, kill_after=after))
            what = f"killed after {after:.3f} s"
        else:
            call, number = self.points[case // 2 % len(self.points)]
            inject = f"inject={call}:signal=SIGKILL:when={number}"
            self._study(bench, folder, ["strace", "-f", "-o", "/dev/null", "-e",
                                        f"trace={call}", "-e", inject])
            what = f"killed at {call} {number}"
        begun = (folder / "out" / "plan.json").exists()
        ended = tally.weigh(self._study(bench, folder, [], *(["--resume"] if begun else [])))
        wrong = self._wrong(folder, ended)
        if wrong:
            tally.violate(case, f"{what}: {wrong}")

    @staticmethod
    def _wrong(folder: Path, ended: Ended) -> str:
        """What must not be after a resumed study."""
        if ended.code != 0:
            return ended.brief()
        lines = (folder / "out" / "runs.jsonl").read_text().splitlines()
        runs = [json.loads(line) for line in lines]
        for number, run in enumerate(runs):
            value = run["record"]["phases"][0]["figures"][0]["value"]
            if value != EXPECTED[run["step"]["arm"]]:
                return f"run {number} of arm {run['step']['arm']} has {value}"
        if len(runs) != RUNS:
            return f"{len(runs)} runs in the journal"
        left = [name for name in ("flag", "out/entered.json") if (folder / name).exists()]
        return f"left over: {left}" if left else ""
