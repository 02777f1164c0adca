"""Power cuts under a running study or matrix, whose results lie on the drive that goes."""

from __future__ import annotations

import threading
from pathlib import Path

from rig.attack import Attack, Tally
from rig.bench import Bench, tool
from rig.disk import Disk, formatted
from rig.process import Ended, Watch
from rig.resumed import check
from rig.subject import CONCLUDED, Subject, subjects


class StudyCuts(Attack):
    """Pulls the plug of the disk that holds the results; what was printed as finished is there."""

    name = "study-cuts"
    title = "power cuts under a study or matrix, remounted, resumed"
    cases = 200
    seconds = 260.0
    least = 3
    tools = ("mkfs.ext4", "e2fsck", "losetup", "mount", "fusermount3")
    needs_root = True
    workers = 3

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.subjects = subjects(bench, out="mnt/out")
        self.image = formatted(bench)
        self.lock = threading.Lock()
        self.printed = self.kept = 0
        self.seconds_on_disk = [self._on_disk(bench, subject) for subject in self.subjects]

    def _on_disk(self, bench: Bench, subject: Subject) -> float:
        """How long it takes when nothing happens, on such a drive."""
        subject.reference(bench)
        disk = self._power_on(bench, bench.folder("calm"), self.image)
        disk.mount()
        subject.lay_out(disk.folder)
        ended = bench.run(subject.argv(bench), disk.folder, Watch(120))
        disk.off()
        if ended.code not in CONCLUDED:
            raise RuntimeError(f"{subject.name} on a calm drive: {ended.brief()}")
        return ended.seconds

    @staticmethod
    def _power_on(bench: Bench, folder: Path, image: Path | None = None) -> Disk:
        if image:
            tool("cp", "--sparse=always", str(image), str(folder / "image"))
        return Disk(bench, folder)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        which = case % len(self.subjects)
        subject, folder = self.subjects[which], bench.folder("plug")
        disk = self._power_on(bench, folder, self.image)
        disk.mount()
        subject.lay_out(folder)
        tool("sync", "-f", str(disk.mount_point))
        # A quarter of the cuts comes when it is done, and has said so.
        latest = int(self.seconds_on_disk[which] * 1300)
        running = bench.start(subject.argv(bench), folder)
        disk.served.cut({"random_ms": [0, latest]}, draw.randrange(1 << 30))
        # The machine would be dead; what it says after the cut cannot have been kept.
        ended = running.wait(Watch(kill_after=0.0))
        tally.weigh(disk.served.ended())
        disk.unmount()
        disk.detach()
        self._look(bench, tally, case, subject, folder, ended)
        (folder / "image").unlink()

    def _look(self, bench: Bench, tally: Tally, case: int, subject: Subject, folder: Path,
              ended: Ended) -> None:
        """Powers on again: the file system is mounted, the journal read, the experiment resumed."""
        disk = self._power_on(bench, folder)
        try:
            if refused := disk.mount():
                tally.violate(case, f"{subject.name}: not mounted after a cut: {refused}")
                return
            lines = subject.lines(folder / subject.out)
            printed = subject.runs(bench) if ended.code in CONCLUDED else subject.printed(ended)
            whole = [line for line in lines if b"\0" not in line]
            if printed > len(whole):
                tally.lose(case, printed - len(whole), f"{subject.name}: {printed} runs printed as "
                           f"finished, {len(whole)} in the journal after the cut")
            with self.lock:
                self.printed += printed
                self.kept += len(whole)
            tally.saw(disk.served.rss_peak())
            check(bench, tally, case, subject, folder, whole, f"cut, {len(whole)} runs finished")
            disk.unmount()
            if found := disk.check():
                tally.violate(case, f"{subject.name}: e2fsck: {found.splitlines()[-1]}")
        finally:
            disk.off()

    def finish(self, bench: Bench, tally: Tally) -> None:
        tally.note(f"study-cuts: {self.printed:,} runs were printed as finished before a cut, "
                   f"{self.kept:,} were in the journals after it")
