"""kill -9 at random moments of suites of files: the folder they work in, and what was kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench
from rig.process import Ended, Watch

#: One of each kind of work: many names, one large file, threads, a database, a copy to elsewhere.
SUITES = [
    "bonnie,size=4M,putc=64k,seeks=200,n=2:100:10:3,drop=never",
    "fsmark,files=400,size=4k,sync=0,threads=2,dirs=3,per_dir=40,drop=never",
    "sqlite,repeat=2,rows=60,threads=2,drop=never",
    "blogbench,iterations=1,interval=300ms,readers=4,drop=never",
    "copy,size=2000000,sets=100k,to=elsewhere,drop=never",
    "metadata,files=800,drop=never",
    "tiobench,size=1M,threads=3,random_ops=50,drop=never",
    "scan,files=300,copy=20,drop=never",
]
SHORT = "fsmark,files=5,sync=0,drop=never"
OWN = re.compile(r"drivelab-suite-\d+$")


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, files with what they hold, the suites' own folders as a whole."""
    found: dict[str, bytes | None] = {}
    for path in sorted(folder.iterdir()):
        name = str(path.relative_to(folder))
        if OWN.match(name) and path.is_dir() and not path.is_symlink():
            found[name] = None
        elif path.is_dir():
            found[name] = None
            found |= {f"{name}/{below}": held for below, held in tree(path).items()}
        else:
            found[name] = path.read_bytes()
    return found


class SuiteKills(Attack):
    """Kills suites of files; nothing outside their own folder may change, and the next run cleans."""

    name = "suite-kills"
    title = "kill -9 of suites of files at random moments"
    cases = 100
    seconds = 120.0
    least = 8

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.whole: dict[str, float] = {}
        for suite in SUITES:
            folder = self._laid_out(bench)
            ended = self._run(bench, folder, suite)
            if ended.code != 0:
                raise LeftOut(f"suite `{suite}` does not run here: {ended.brief()}")
            self.whole[suite] = ended.seconds

    @staticmethod
    def _laid_out(bench: Bench) -> Path:
        folder = bench.folder("suites")
        for name in ("disk/mine", "elsewhere/mine"):
            (folder / name).mkdir(parents=True)
            (folder / name / "data").write_bytes(b"not theirs\n" * 100)
        (folder / "disk/drivelab-suite-notes").write_text("a file with a similar name")
        return folder

    @staticmethod
    def _run(bench: Bench, folder: Path, suite: str, watch: Watch | None = None) -> Ended:
        env = {"DRIVELAB_ARCHIVE": str(folder.with_suffix(".runs"))}
        argv = [str(bench.drivelab), "run", "disk", "--suite", suite, "--json"]
        return bench.run(argv, folder, watch or Watch(60), env=env)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        suite = SUITES[case % len(SUITES)]
        folder = self._laid_out(bench)
        before = tree(folder)
        if (first := self._run(bench, folder, SHORT)).code != 0:
            tally.violate(case, f"a whole run: {first.brief()}")
        # A third are killed again, over what the first kill left.
        for _ in range(draw.choice([1, 1, 2])):
            moment = draw.uniform(0.0, self.whole[suite])
            tally.weigh(self._run(bench, folder, suite, Watch(60, kill_after=moment)))
            self._untouched(tally, case, folder, before, f"`{suite}` killed after {moment:.3f} s")
        kept = self._kept(bench, folder)
        if kept < 1:
            tally.lose(case, 1, f"`{suite}`: the run that had ended is not in the archive")
        for again in (suite, SHORT):
            ended = tally.weigh(self._run(bench, folder, again))
            if ended.code != 0:
                tally.violate(case, f"the next run `{again}`: {ended.brief()}")
        if (after := tree(folder)) != before:
            tally.violate(case, f"`{suite}`: the next run left {sorted(set(after) ^ set(before))}")
        if (now := self._kept(bench, folder)) < kept + 2:
            tally.lose(case, kept + 2 - now, f"`{suite}`: {now} runs in the archive after the kill")

    @staticmethod
    def _untouched(tally: Tally, case: int, folder: Path, before: dict[str, bytes | None],
                   what: str) -> None:
        after = tree(folder)
        for name in sorted(set(after) | set(before)):
            is_own = OWN.search(name) is not None and name not in before
            if not is_own and after.get(name, b"gone") != before.get(name, b"was not there"):
                tally.violate(case, f"{what}: `{name}` changed outside the suite's own folder")

    @staticmethod
    def _kept(bench: Bench, folder: Path) -> int:
        env = {"DRIVELAB_ARCHIVE": str(folder.with_suffix(".runs"))}
        ended = bench.run([str(bench.drivelab), "history", "--json"], folder, Watch(60), env=env)
        try:
            return len(json.loads(ended.out)["runs"])
        except (ValueError, KeyError):
            return -1
