"""What must be so of an experiment that was hurt and resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

from .attack import Tally
from .bench import Bench
from .process import Ended
from .subject import CONCLUDED, Subject, contents


def check(bench: Bench, tally: Tally, case: int, subject: Subject, folder: Path,
          kept: list[bytes], what: str, env: dict[str, str] | None = None) -> Ended:
    """Resumes it; `kept` are the finished runs, which must be there afterwards as they were."""
    out = folder / subject.out
    ended = tally.weigh(subject.complete(bench, folder, env))
    if ended.code not in CONCLUDED or ended.panicked():
        tally.violate(case, f"{subject.name}, {what}: not resumed: {ended.brief()}")
        return ended
    lines = subject.lines(out)
    gone = [line for line in kept if line not in lines]
    if gone:
        tally.lose(case, len(gone), f"{subject.name}, {what}: {len(gone)} of {len(kept)} finished "
                   "runs are gone or were measured again")
    reference, _ = subject.reference(bench)
    compare(tally, case, subject, contents(out), reference, what)
    # Else it is a mount or holds more, and the attack takes it away.
    if subject.out == "out" and env is None:
        shutil.rmtree(folder, ignore_errors=True)
    return ended


def compare(tally: Tally, case: int, subject: Subject, found: dict[str, bytes],
            reference: dict[str, bytes], what: str) -> None:
    """Holds the files of a resumed experiment against those of an undisturbed one."""
    if left := sorted(set(found) - set(reference)):
        tally.violate(case, f"{subject.name}, {what}: left behind: {', '.join(left)}")
    if lacking := sorted(set(reference) - set(found)):
        tally.violate(case, f"{subject.name}, {what}: missing: {', '.join(lacking)}")
    if subject.deterministic:
        names = [name for name in subject.results if found.get(name) != reference.get(name)]
        if names:
            tally.violate(case, f"{subject.name}, {what}: not the bytes of an undisturbed run: "
                          + ", ".join(names))
        return
    runs = {name: data.count(b"\n") for name, data in found.items() if name == subject.journal}
    whole = {name: data.count(b"\n") for name, data in reference.items() if name == subject.journal}
    if runs != whole:
        tally.violate(case, f"{subject.name}, {what}: {runs} lines, undisturbed {whole}")
