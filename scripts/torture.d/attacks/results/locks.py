"""Two experiments in one results folder, and a new one over the results of an old one."""

from __future__ import annotations

from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.process import Ended, Watch
from rig.subject import CONCLUDED, Subject, contents, subjects


class Locks(Attack):
    """Starts the same experiment twice at once: the second is refused, the first is whole."""

    name = "locks"
    title = "two experiments in one folder; a new one over an old one, killed"
    cases = 30
    seconds = 35.0
    least = 4

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.subjects = subjects(bench)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        if case % 4 == 3:
            self._over(bench, tally, case)
        else:
            self._at_once(bench, tally, case, self.subjects[case % 3])

    def _at_once(self, bench: Bench, tally: Tally, case: int, subject: Subject) -> None:
        draw = bench.random(self.name, case)
        reference, seconds = subject.reference(bench)
        folder = bench.folder("lock")
        out = subject.lay_out(folder)
        seeded = subject.deterministic and draw.random() < 0.5
        more = ["--seed", "2"] if seeded else []
        both = [bench.start(subject.argv(bench), folder),
                bench.start([*subject.argv(bench), *more], folder)]
        ended = [tally.weigh(one.wait(Watch(60))) for one in both]
        self._one_is_whole(tally, case, subject, ended)
        found = contents(out)
        if all(one.code in CONCLUDED for one in ended) and seeded:
            tally.violate(case, f"{subject.name}: two seeds at once, both report success in one "
                          "folder: one of them is gone")
        journal = found.get(subject.journal, b"")
        if journal.count(b"\n") != reference[subject.journal].count(b"\n"):
            tally.violate(case, f"{subject.name}: two at once: {journal.count(10)} lines in the "
                          "journal")
        if left := sorted(set(found) - set(reference)):
            tally.violate(case, f"{subject.name}: two at once: left behind: {', '.join(left)}")

    @staticmethod
    def _one_is_whole(tally: Tally, case: int, subject: Subject, ended: list[Ended]) -> None:
        whole = [one for one in ended if one.code in CONCLUDED]
        others = [one for one in ended if one.code not in CONCLUDED]
        if not whole:
            tally.violate(case, f"{subject.name}: two at once, none succeeds: {ended[0].brief()}")
        for one in others:
            words = ("another", "already", "locked", "in use", "running", "under way",
                     "finished")
            if one.code not in (2, 3) or not any(word in one.stderr for word in words):
                tally.violate(case, f"{subject.name}: two at once: {one.brief()}")

    def _over(self, bench: Bench, tally: Tally, case: int) -> None:
        """A new study, killed half way, does not leave the old results beside its own plan."""
        draw = bench.random(self.name, case)
        subject = self.subjects[0]
        reference, seconds = subject.reference(bench)
        folder = bench.folder("over")
        out = subject.lay_out(folder)
        out.mkdir()
        for name, data in reference.items():
            (out / name).write_bytes(data)
        bench.run([*subject.argv(bench), "--seed", "2"], folder,
                  Watch(kill_after=draw.uniform(0.2, 0.8) * seconds))
        found = contents(out)
        old = [name for name in reference if found.get(name) == reference[name]]
        if old and len(old) < len(reference):
            tally.violate(case, "a new study killed half way: old "
                          f"{', '.join(sorted(old))} beside new files")
        if not old:
            tally.lose(case, 1, "a finished study was replaced by another one without a word")
