"""Damage to files that drivelab reads again: one bit flipped, lines doubled, cut or swapped."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

from rig.attack import Attack, Tally
from rig.bench import Bench
from rig.process import Ended, Watch
from rig.subject import CONCLUDED, Subject, contents, subjects

#: What a message calls a damage by.
NAMED = re.compile(r"\bline \d+|damaged|checksum|corrupt|unreadable|cut short|broken",
                   re.IGNORECASE)


def flip(data: bytes, draw: random.Random) -> tuple[bytes, int]:
    """One bit flipped, and the place of its byte."""
    place = draw.randrange(len(data))
    changed = bytearray(data)
    changed[place] ^= 1 << draw.randrange(8)
    return bytes(changed), place


def untouched(before: bytes, after: bytes) -> list[bytes]:
    """The whole lines of `before` that are still lines of `after`."""
    there = set(after.splitlines(keepends=True))
    return [line for line in before.splitlines(keepends=True) if line in there]


def resume(bench: Bench, tally: Tally, case: int, subject: Subject, folder: Path,
           intact: list[bytes], what: str) -> None:
    """Goes on with a damaged folder: it is named, what is intact stays, results are right."""
    out = folder / "out"
    reference, _ = subject.reference(bench)
    before = contents(out)
    ended = tally.weigh(bench.run(subject.argv(bench, again=True), folder, Watch(120)))
    what = f"{subject.name}, {what}"
    if ended.panicked() or ended.ended_by_us or ended.code not in (*CONCLUDED, 2):
        tally.violate(case, f"{what}: {ended.brief()}")
        return
    after = contents(out)
    lines = after[subject.journal].splitlines(keepends=True)
    if gone := [line for line in intact if line not in lines]:
        tally.lose(case, len(gone), f"{what}: {len(gone)} intact lines of the journal are gone; "
                   f"{ended.brief()}")
    named = NAMED.search(ended.stderr) is not None
    if ended.code == 2:
        changed = [name for name, data in before.items() if after.get(name) != data]
        if changed or not named:
            tally.violate(case, f"{what}: refused, {'named' if named else 'not named'}, changed: "
                          f"{', '.join(changed) or 'nothing'}; {ended.brief()}")
        return
    stays = foreign(before, reference) & foreign(after, reference)
    unlike = [name for name in subject.derived if after.get(name) != reference[name]]
    if not named and (stays or unlike):
        tally.violate(case, f"{what}: taken without a word, {', '.join(unlike) or 'nothing'} "
                      f"changed; {ended.brief()}")
        return
    if subject.deterministic and (unlike or after["plan.json"] != reference["plan.json"]):
        tally.violate(case, f"{what}: named, but not the bytes of an undisturbed run: "
                      f"{', '.join(unlike) or 'plan.json'}; {ended.brief()}")
    if left := sorted(set(after) - set(reference)):
        tally.violate(case, f"{what}: left behind: {', '.join(left)}")
    if len(lines) < reference[subject.journal].count(b"\n"):
        tally.violate(case, f"{what}: {len(lines)} lines in the journal; {ended.brief()}")


def foreign(found: dict[str, bytes], reference: dict[str, bytes]) -> set[tuple[str, bytes]]:
    """Lines of journal and plan that an undisturbed run does not have."""
    lines = set()
    for name in {"runs.jsonl", "plan.json"} & set(found):
        known = set(reference[name].splitlines(keepends=True))
        lines |= {(name, line) for line in found[name].splitlines(keepends=True)} - \
            {(name, line) for line in known}
    return lines


class Flips(Attack):
    """Flips one random bit of a journal, a plan, an account of writes or a ledger."""

    name = "flips"
    title = "one bit flipped in journal, plan, verify-state, ledger"
    cases = 150
    seconds = 40.0
    least = 7

    def prepare(self, bench: Bench, tally: Tally) -> None:
        simulate, hardware, matrix = subjects(bench)
        self.ways = [(simulate, "runs.jsonl"), (matrix, "runs.jsonl"), (hardware, "runs.jsonl"),
                     (None, "verify-state"), (simulate, "plan.json"), (None, "ledger"),
                     (hardware, "plan.json")]
        self.written = Written(bench)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        subject, name = self.ways[case % len(self.ways)]
        if subject is None:
            self.written.case(bench, tally, case, name, draw)
            return
        folder = bench.folder("flip")
        out = subject.lay_out(folder)
        reference, _ = subject.reference(bench)
        out.mkdir()
        for file, data in reference.items():
            (out / file).write_bytes(data)
        # Half of them had been concluded, the others had not.
        if draw.random() < 0.5 and "result.json" in reference:
            (out / "result.json").unlink()
            (out / "report.html").unlink()
        damaged, place = flip(reference[name], draw)
        (out / name).write_bytes(damaged)
        journal = reference[subject.journal]
        intact = untouched(journal, damaged) if name == subject.journal else \
            journal.splitlines(keepends=True)
        line = reference[name][:place].count(b"\n") + 1
        what = f"bit flipped in {name}, byte {place}, line {line}"
        resume(bench, tally, case, subject, folder, intact, what)
        shutil.rmtree(folder)


class Written:
    """A file that was written with an account of it, and one with a ledger."""

    def __init__(self, bench: Bench) -> None:
        self.folder = bench.folder("written")
        first = bench.lab("run", "file", "--size", "1M", "--rw", "randwrite", "--verify",
                          "--number-ios", "300", "--iodepth", "8", cwd=self.folder)
        second = bench.lab("durability", "pages", "--size", "256k", "--runtime", "300ms",
                           cwd=self.folder)
        if first.code != 0 or second.code != 0:
            raise RuntimeError(f"not written: {first.brief()}; {second.brief()}")
        self.accounts = {"verify-state": self.folder / "file.verify-state",
                         "ledger": self.folder / "durability.ledger"}

    def look(self, bench: Bench, name: str, account: Path) -> Ended:
        """Verifies with this account, as far as it goes."""
        words = ["run", "file", "--verify-only", "--verify-state"] if name == "verify-state" else \
            ["durability", "pages", "--verify", "--ledger"]
        return bench.lab(*words, str(account), cwd=self.folder)

    def case(self, bench: Bench, tally: Tally, case: int, name: str, draw: random.Random) -> None:
        """Flips a bit: it accuses nobody, and is named unless nothing depends on it."""
        folder = bench.folder("account")
        account = folder / self.accounts[name].name
        right = self.look(bench, name, self.accounts[name])
        damaged, place = flip(self.accounts[name].read_bytes(), draw)
        account.write_bytes(damaged)
        ended = tally.weigh(self.look(bench, name, account))
        what = f"bit flipped in {name}, byte {place}"
        if ended.panicked() or ended.ended_by_us:
            tally.violate(case, f"{what}: {ended.brief()}")
        elif ended.code == 1:
            tally.violate(case, f"{what}: accuses the drive: {ended.text.strip()[:200]}")
        elif not NAMED.search(ended.stderr) and (ended.code, ended.out) != (right.code, right.out):
            tally.violate(case, f"{what}: not named: {ended.brief()}")
        shutil.rmtree(folder)


class Damage(Attack):
    """Doubles, swaps, empties and cuts lines of a journal."""

    name = "damage"
    title = "journal lines doubled, swapped, blank, cut, foreign"
    cases = 60
    seconds = 30.0
    least = 4

    def prepare(self, bench: Bench, tally: Tally) -> None:
        simulate, hardware, matrix = subjects(bench)
        self.subjects = [simulate, hardware, simulate, matrix]

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        subject = self.subjects[case % len(self.subjects)]
        reference, _ = subject.reference(bench)
        folder = bench.folder("damage")
        out = subject.lay_out(folder)
        out.mkdir()
        for file, data in reference.items():
            (out / file).write_bytes(data)
        for file in ("result.json", "report.html"):
            (out / file).unlink(missing_ok=True)
        lines = reference[subject.journal].splitlines(keepends=True)
        what = self._hurt(lines, draw)
        (out / subject.journal).write_bytes(b"".join(lines))
        intact = untouched(reference[subject.journal], b"".join(lines))
        resume(bench, tally, case, subject, folder, intact, what)
        shutil.rmtree(folder)

    @staticmethod
    def _hurt(lines: list[bytes], draw: random.Random) -> str:
        number = draw.randrange(len(lines))
        way = draw.choice(["doubled", "doubled at the end", "blank", "cut", "foreign", "zeros"])
        if way == "doubled":
            lines.insert(number, lines[number])
        elif way == "doubled at the end":
            lines.append(lines[number])
        elif way == "blank":
            lines[number] = b"\n"
        elif way == "cut":
            lines[-1] = lines[-1][:draw.randrange(1, len(lines[-1]) - 1)]
        elif way == "foreign":
            lines.insert(number, b'{"schema":"drivelab.run/1"}\n')
        else:  # what a file system leaves of a block that was never written
            lines[number] = b"\0" * (len(lines[number]) - 1) + b"\n"
        return f"line {number + 1} {way}"
