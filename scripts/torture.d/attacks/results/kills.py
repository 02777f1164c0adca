"""kill -9 at random moments of an experiment; it is resumed, and killed again."""

from __future__ import annotations

from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.process import Watch
from rig.resumed import check
from rig.subject import subjects


class Kills(Attack):
    """Kills studies and matrices at random moments, and resumes them."""

    name = "kills"
    title = "kill -9 of studies and matrices, resumed"
    cases = 100
    seconds = 90.0
    least = 3

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.subjects = subjects(bench)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        subject = self.subjects[case % len(self.subjects)]
        _, seconds = subject.reference(bench)
        folder = bench.folder("kill")
        out = subject.lay_out(folder)
        kept: list[bytes] = []
        # A quarter of them is killed a second and a third time while it is resumed.
        for attempt in range(draw.choice([1, 1, 1, 2, 3])):
            moment = draw.uniform(0.0, seconds)
            argv = subject.argv(bench, again=attempt > 0)
            ended = bench.run(argv, folder, Watch(kill_after=moment))
            tally.weigh(ended)
            lines = subject.lines(out)
            if lost := [line for line in kept if line not in lines]:
                tally.lose(case, len(lost), f"{subject.name}: {len(lost)} finished runs gone after "
                           f"kill {attempt + 1}")
            printed = subject.printed(ended)
            if printed > len(lines):
                tally.lose(case, printed - len(lines), f"{subject.name}: {printed} runs printed as "
                           f"finished, {len(lines)} in the journal")
            kept = lines
        check(bench, tally, case, subject, folder, kept, f"killed, {len(kept)} runs finished")
