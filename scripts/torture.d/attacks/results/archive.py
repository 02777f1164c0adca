"""kill -9 of whatever writes to an archive, next to others that write to it too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.process import Ended, Watch
from rig.resumed import check
from rig.subject import CONCLUDED, Subject, subjects

#: A run and a job file of two jobs, which end soon: most of their time is the writing.
RUN = ["run", "drive:generic-5400", "--rw", "randread", "--number-ios", "300", "--json"]
JOBS = ["run", "--job", "jobs.fio", "--json"]
JOB_FILE = ("[global]\nfilename=drive:generic-5400\nnumber_ios=200\n"
            "[one]\nrw=randread\n[two]\nstonewall\nrw=read\n")


class ArchiveKills(Attack):
    """Kills runs, job files, studies and matrices; what was printed as finished is kept, whole."""

    name = "archive-kills"
    title = "kill -9 of writers of an archive, resumed"
    cases = 200
    seconds = 200.0
    least = 5

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.subjects = subjects(bench)
        folder = self._laid_out(bench)
        self.whole = {words[1]: self._run(bench, folder, words).seconds for words in (RUN, JOBS)}

    @staticmethod
    def _laid_out(bench: Bench) -> Path:
        folder = bench.folder("archive")
        (folder / "jobs.fio").write_text(JOB_FILE)
        return folder

    @staticmethod
    def _run(bench: Bench, folder: Path, words: list[str], watch: Watch | None = None) -> Ended:
        return bench.run([str(bench.drivelab), *words], folder, watch or Watch(60), env=env(folder))

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        folder = self._laid_out(bench)
        # Another process writes to the same archive, and comes to its end.
        beside = bench.start([str(bench.drivelab), *RUN, "--label", "beside"], folder,
                             env=env(folder))
        which = case % (len(self.subjects) + 2)
        if which < len(self.subjects):
            self._experiment(bench, tally, case, folder, self.subjects[which])
        else:
            self._runs(bench, tally, case, folder, [RUN, JOBS][which - len(self.subjects)])
        ended = tally.weigh(beside.wait(Watch(60)))
        kept = self._kept(bench, tally, case, folder, "label", "beside")
        if ended.code != 0 or kept != 1:
            tally.lose(case, 1, f"the run beside: {kept} times in the archive; {ended.brief()}")
        if draw.random() < 0.5:  # half are looked at without the write-ahead log, as a copy is
            shutil.copy(folder / "runs.db", folder / "copy.db")
            self._check(bench, tally, case, folder, "copy.db")
        shutil.rmtree(folder)

    def _runs(self, bench: Bench, tally: Tally, case: int, folder: Path, words: list[str]) -> None:
        """Ten of them in a row, each killed in the last half of its time."""
        draw = bench.random(self.name, case)
        printed = 0
        for number in range(10):
            moment = draw.uniform(0.5, 1.1) * self.whole[words[1]]
            tag = ["--tag", f"number-{number}"]
            ended = tally.weigh(self._run(bench, folder, [*words, *tag],
                                          Watch(60, kill_after=moment)))
            is_printed = document(ended) is not None
            printed += is_printed
            kept = self._kept(bench, tally, case, folder, "tags", f"number-{number}")
            if kept < is_printed or kept > 1:
                tally.lose(case, 1, f"{words[1]} killed after {moment:.3f} s: printed {is_printed}, "
                           f"{kept} times in the archive; {ended.brief()}")
        self._check(bench, tally, case, folder, "runs.db")

    def _experiment(self, bench: Bench, tally: Tally, case: int, folder: Path,
                    subject: Subject) -> None:
        """Killed once, resumed to the bytes of an undisturbed one, and once in the archive."""
        draw = bench.random(self.name, case)
        _, seconds = subject.reference(bench)
        subject.lay_out(folder)
        # Half of them near the end, where they are kept.
        moment = draw.uniform(draw.choice([0.0, 0.9]), 1.05) * seconds
        ended = tally.weigh(bench.run(subject.argv(bench), folder, Watch(kill_after=moment),
                                      env=env(folder)))
        what = f"killed after {moment:.3f} s"
        kept = self._kept(bench, tally, case, folder, "origin", ORIGIN[subject.name])
        if kept < (ended.code in CONCLUDED) or kept > 1:
            tally.lose(case, 1, f"{subject.name}, {what}: {kept} times in the archive; "
                       f"{ended.brief()}")
        self._check(bench, tally, case, folder, "runs.db")
        lines = subject.lines(folder / subject.out)
        check(bench, tally, case, subject, folder, lines, what, env(folder))
        kept = self._kept(bench, tally, case, folder, "origin", ORIGIN[subject.name],
                          parts=subject.runs(bench))
        if kept != 1:
            tally.lose(case, 1, f"{subject.name}, {what} and resumed: {kept} times in the archive")
        self._check(bench, tally, case, folder, "runs.db")

    def _kept(self, bench: Bench, tally: Tally, case: int, folder: Path, key: str, value: str,
              parts: int | None = None) -> int:
        """How many entries have this value, all of which have this number of parts."""
        ended = self._run(bench, folder, ["history", "--last", "0", "--json"])
        listed = document(ended)
        if listed is None:
            tally.violate(case, f"history: {ended.brief()}")
            return -1
        found = [run for run in listed["runs"] if value in (run[key] or [])]
        for run in found:
            if parts is not None and run["parts"] != parts:
                tally.lose(case, 1, f"{value}: {run['parts']} parts of {parts} in the archive")
        return len(found)

    def _check(self, bench: Bench, tally: Tally, case: int, folder: Path, file: str) -> None:
        ended = tally.weigh(self._run(bench, folder, ["archive", "check", "--archive", file]))
        if ended.code != 0:
            tally.violate(case, f"archive check {file}: {ended.brief()}")


#: What `history` calls an experiment.
ORIGIN = {"simulate": "study", "hardware": "study", "matrix": "matrix"}


def env(folder: Path) -> dict[str, str]:
    """The archive of a case."""
    return {"DRIVELAB_ARCHIVE": str(folder / "runs.db")}


def document(ended: Ended) -> dict | None:
    """What it printed, where that is whole."""
    try:
        return json.loads(ended.out)
    except ValueError:
        return None
