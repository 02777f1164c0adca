"""Power cuts under an archive, which lies on the drive that goes."""

from __future__ import annotations

import threading
from pathlib import Path

from rig.attack import Attack, Tally
from rig.bench import Bench, tool
from rig.disk import Disk, formatted
from rig.process import Ended, Watch

from .archive import JOB_FILE, JOBS, RUN, document

#: The archive, from the folder of a case.
ARCHIVE = "mnt/runs.db"
#: The cut comes within this time, in which a dozen runs are kept.
LATEST_MS = 4000


class ArchiveCuts(Attack):
    """Pulls the plug of the disk that holds the archive; what was printed as kept is there."""

    name = "archive-cuts"
    title = "power cuts under an archive, remounted"
    cases = 50
    seconds = 120.0
    least = 3
    tools = ("mkfs.ext4", "e2fsck", "losetup", "mount", "fusermount3")
    needs_root = True
    workers = 3

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.image = formatted(bench)
        self.lock = threading.Lock()
        self.promised = self.beyond = 0

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        folder = bench.folder("plug")
        (folder / "jobs.fio").write_text(JOB_FILE)
        tool("cp", "--sparse=always", str(self.image), str(folder / "image"))
        disk = Disk(bench, folder)
        disk.mount()
        seed = draw.randrange(1 << 30)
        cut = threading.Thread(target=disk.served.cut,
                               args=({"random_ms": [0, LATEST_MS]}, seed))
        cut.start()
        promised: list[str] = []
        number = 0
        while cut.is_alive():
            words = RUN if draw.random() < 0.7 else JOBS
            ended = self._run(bench, folder, [*words, "--tag", f"number-{number}"])
            # What could not be kept is printed with a warning; without one it is on the disk.
            if document(ended) is not None and "warning:" not in ended.stderr:
                promised.append(f"number-{number}")
            number += 1
        cut.join()
        tally.weigh(disk.served.ended())
        disk.unmount()
        disk.detach()
        self._look(bench, tally, case, folder, promised, number)
        (folder / "image").unlink()

    def _look(self, bench: Bench, tally: Tally, case: int, folder: Path, promised: list[str],
              number: int) -> None:
        """Powers on again: the archive is whole and has every run that was promised, once."""
        disk = Disk(bench, folder)
        try:
            if refused := disk.mount():
                tally.violate(case, f"not mounted after a cut: {refused}")
                return
            ended = tally.weigh(self._run(bench, folder, ["archive", "check"]))
            if ended.code != 0:
                tally.violate(case, f"archive check after a cut: {ended.brief()}")
            listed = document(self._run(bench, folder, ["history", "--last", "0", "--json"]))
            tags = [tag for run in (listed or {"runs": []})["runs"] for tag in run["tags"]]
            lost = [tag for tag in promised if tags.count(tag) != 1]
            if lost:
                tally.lose(case, len(lost), f"of {len(promised)} kept runs {', '.join(lost)} are not "
                           "in the archive once")
            doubled = [tag for tag in tags if tags.count(tag) > 1]
            if doubled or len(tags) > number:
                tally.violate(case, f"{len(tags)} runs of {number}; doubled: {doubled}")
            with self.lock:
                self.promised += len(promised)
                self.beyond += len(tags) - len(promised)
            # It can be written again.
            ended = self._run(bench, folder, RUN)
            if document(ended) is None or "warning:" in ended.stderr:
                tally.violate(case, f"a run after the cut was not kept: {ended.brief()}")
            disk.unmount()
            if found := disk.check():
                tally.violate(case, f"e2fsck: {found.splitlines()[-1]}")
        finally:
            disk.off()

    @staticmethod
    def _run(bench: Bench, folder: Path, words: list[str]) -> Ended:
        env = {"DRIVELAB_ARCHIVE": str(folder / ARCHIVE)}
        return bench.run([str(bench.drivelab), *words], folder, Watch(60), env=env)

    def finish(self, bench: Bench, tally: Tally) -> None:
        tally.note(f"archive-cuts: {self.promised:,} runs were printed as kept before a cut, all of "
                   f"which the archive has unless said otherwise, and {self.beyond:,} more")
