"""Hostile command lines, made from what `--help` of each verb offers."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import signal
import time
from dataclasses import dataclass

from rig.attack import Attack, Tally
from rig.bench import Bench, is_root, tool
from rig.process import Ended, Running, Watch
from rig.subject import MEASURED

from . import hostile

SECONDS_MAX = 10.0
RSS_BYTES_MAX = 1 << 30
STDERR_BYTES_MAX = 4096

#: Options whose values may rightly ask for a long time: after a while these are interrupted.
PATIENT = {"--runtime", "--ramp-time", "--blocks", "--number-ios", "--thinktime", "--rate",
           "--rate-iops", "--ss", "--ss-dur", "--ss-ramp", "--watch", "--listen", "--size",
           "--streams", "--numjobs", "--bs", "--iodepth"}
OPTION = re.compile(r"^\s+(?:-\w, )?(--[a-z][\w-]*)(.*)$")

#: For each verb a request that is right and short; FILE words are replaced by hostile files.
RIGHT = {
    "study": ["study FILE:study --blocks 1 --out o", "study ahci-or-ide --blocks 1 --out o",
              "study measured.toml --blocks 1 --target laid --size 64k --out o"],
    "run": ["run laid --size 64k --runtime 50ms --direct 0",
            "run drive:generic-10k --runtime 100ms",
            "run drive:FILE:profile --runtime 100ms", "run --job FILE:job",
            "run --matrix FILE:matrix --out o",
            "run FILE:target --size 64k --runtime 50ms --direct 0"],
    "compare": ["compare FILE:result FILE:result", "compare --pairs FILE:pairs A B",
                "compare --pairs FILE:pairs"],
    "serve": ["serve null --size 1M --nbd unix:nbd", "serve FILE:profile --nbd unix:nbd",
              "serve --backing FILE:target --nbd unix:nbd"],
    "durability": ["durability drive:generic-10k --runtime 100ms",
                   "durability laid --size 64k --runtime 50ms",
                   "durability FILE:target --verify --ledger FILE:ledger"],
    "drive show": ["drive show generic-10k", "drive show FILE:profile"],
    "drive predict": ["drive predict generic-10k --runtime 1s"],
    "drive fit": ["drive fit FILE:measurements --out own.toml"],
    "inspect": ["inspect", "inspect --root FILE:tree", "inspect --dmesg FILE:log",
                "inspect absent"],
    "replay": ["replay FILE:trace --drive generic-10k",
               "replay FILE:trace --drive FILE:profile"],
    "completions": ["completions bash"],
    "man": ["man", "man --out folder"],
}


@dataclass
class Line:
    """A command line, and whether it may rightly run until it is interrupted."""

    words: list[str]
    patient: bool

    def shown(self) -> str:
        """As somebody would type it, long words cut."""
        return " ".join(shlex.quote(word if len(word) < 80 else word[:60] + "...")
                        for word in self.words).encode(errors="replace").decode()


def options(bench: Bench, verb: str) -> list[tuple[str, bool]]:
    """The options that a verb's help names, and whether each has a value."""
    text = bench.lab(*verb.split(), "--help").out.decode()
    found = [OPTION.match(line) for line in text.splitlines()]
    return [(match[1], "<" in match[2]) for match in found if match and match[1] != "--help"]


class CommandLines(Attack):
    """Asks for absurd numbers, sizes, times and files, in every option of every verb."""

    name = "command-lines"
    title = "hostile command lines"
    cases = 500
    seconds = 100.0
    least = 40

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.offered = {verb: options(bench, verb) for verb in RIGHT}
        self.verbs = sorted(RIGHT)
        self.lab = bench.folder("lines")
        # What is laid out by mistake must not fill a real disk.
        self.small = is_root() and tool("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs",
                                        str(self.lab)).returncode == 0
        hostile.large_files(self.lab)
        buffered = MEASURED.replace("direct = true", "direct = false")
        (self.lab / "measured.toml").write_text(buffered)
        self.kept = set(self.lab.iterdir())
        named = sum(len(some) for some in self.offered.values())
        tally.note(f"command-lines: {named} options of {len(RIGHT)} verbs; {len(ASKED)} that were "
                   "mistaken before stand at the head")

    def finish(self, bench: Bench, tally: Tally) -> None:
        tool("umount", "-l", str(self.lab))

    def line(self, case: int, draw: random.Random) -> Line:
        """The line of a case: first those that were mistaken before, then drawn ones."""
        if case < len(ASKED):
            return Line(shlex.split(ASKED[case]), patient=False)
        verb = self.verbs[case % len(self.verbs)]
        right = draw.choice(RIGHT[verb])
        words, patient = self._filled(right, draw)
        more = [0, 1, 1, 2] if "FILE:" in right else [1, 1, 2, 3]
        for _ in range(draw.choice(more)):
            option, valued = draw.choice(self.offered[verb])
            if option in ("--ublk", "--allow-destructive"):
                continue
            patient = patient or option in PATIENT
            given = [option] if not valued else [f"{option}={hostile.value(draw)}"]
            if valued and draw.random() < 0.05:
                given = [option]
            words += given * draw.choice([1, 1, 1, 1, 2])
        if draw.random() < 0.1:
            words.insert(draw.randrange(1, len(words) + 1), hostile.value(draw))
        return Line(words, patient or verb == "serve")

    def _filled(self, right: str, draw: random.Random) -> tuple[list[str], bool]:
        words, patient = [], False
        for word in right.split():
            before, mark, kind = word.partition("FILE:")
            if mark:
                name = hostile.bad_file(self.lab, draw, kind)
                patient = patient or name.startswith("bad")
                word = before + name
            words.append(word)
        return words, patient

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        line = self.line(case, draw)
        argv = [str(bench.drivelab), *line.words]
        if not self.small:
            argv = ["sh", "-c", 'ulimit -f 131072; exec "$@"', "sh", *argv]
        running = bench.start(argv, self.lab)
        ended = self._patiently(running) if line.patient else \
            running.wait(Watch(SECONDS_MAX, 2 * RSS_BYTES_MAX))
        tally.weigh(ended)
        for what in faults(line, ended):
            tally.violate(case, f"drivelab {line.shown()}: {what}")
        if made := [path.name for path in self.lab.iterdir() if path.name.startswith("drive:")]:
            tally.violate(case, f"drivelab {line.shown()}: made a file {made[0]}")
        self._tidy()

    @staticmethod
    def _patiently(running: Running) -> Ended:
        """Interrupts after 2 s what may rightly run on; then it has 8 s, as all have 10."""
        deadline = time.monotonic() + 2.0
        while running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        running.kill(signal.SIGINT)
        return running.wait(Watch(SECONDS_MAX - 2.0, 2 * RSS_BYTES_MAX))

    def _tidy(self) -> None:
        """Takes away what a line has left, so that the next does not depend on it."""
        for point in self.lab.iterdir():
            if point in self.kept:
                continue
            if point.is_mount():
                tool("umount", "-l", str(point))
            shutil.rmtree(point) if point.is_dir() else point.unlink()
        for path in (self.lab / "folder").iterdir():
            path.unlink()


def faults(line: Line, ended: Ended) -> list[str]:
    """What is wrong with how a hostile line was answered."""
    found = []
    if ended.ended_by_us:
        return [f"ended by the rig ({ended.ended_by_us}) after {ended.seconds:.0f} s, "
                f"{ended.rss_bytes >> 20} MiB"]
    if ended.panicked():
        return [f"a bug: {ended.brief()}"]
    if ended.rss_bytes > RSS_BYTES_MAX:
        found.append(f"{ended.rss_bytes >> 20} MiB of memory")
    allowed = {0, 1, 2, 3, 4, 130} if line.patient else {0, 1, 2, 3, 4}
    if ended.code not in allowed:
        found.append(ended.brief())
    if ended.code in (2, 3):
        reasons = [text for text in ended.stderr.splitlines() if text.startswith("error:")]
        if len(reasons) != 1:
            found.append(f"exit {ended.code} with {len(reasons)} lines of reason: {ended.brief()}")
        if len(ended.err) > STDERR_BYTES_MAX:
            found.append(f"{len(ended.err)} bytes of stderr")
        if "\x1b" in ended.stderr:
            found.append("an escape sequence of the request reaches the terminal")
    nothing = re.search(rb"^0 pages promised", ended.out, re.MULTILINE)
    if line.words[0] == "durability" and ended.code == 0 and nothing:
        found.append("exit 0, and nothing had been promised")
    if ended.code == 0 and any(word in NONSENSE for word in line.words):
        found.append("exit 0, and it makes no sense")
    if ended.code == 0 and "No space left" in ended.text:
        found.append("exit 0 on a full disk")
    return found


#: Values that make no sense wherever they stand.
NONSENSE = {"4k/50:4k/60", "4k/101", "zoned:100/0", "/dev/zero"}
#: Lines that were answered wrongly once.
ASKED = [
    "durability drive:generic-10k --size 0 --runtime 100ms",
    "durability drive:generic-10k --runtime 0",
    "durability drive:generic-10k --runtime 100ms --size 1T",
    "durability drive:generic-10k --runtime 100ms --size 9223372036854775808",
    "replay /dev/zero --drive generic-10k",
    "study /dev/zero",
    "compare /dev/zero /dev/zero",
    "compare --pairs /dev/zero",
    "run --job /dev/zero",
    "run --matrix /dev/zero --out o",
    "drive fit /dev/zero --out own.toml",
    "run --job numjobs.fio",
    "run --job jobs.fio",
    "study arms.toml --out o",
    "study fifo",
    "compare fifo fifo",
    "replay fifo --drive generic-10k",
    "run --job fifo",
    "inspect --dmesg fifo",
    "replay /dev/full --drive generic-10k",
    "durability laid --size 60M --runtime 1s --ledger /dev/full",
    "durability laid --size 1G --runtime 1s",
    "run laid --size 64k --runtime 50ms --direct 0 --bssplit 4k/50:4k/60",
    "run laid --size 64k --runtime 50ms --direct 0 --bssplit 4k/101",
    "run drive:generic-10k --runtime 100ms --random-distribution zoned:100/0",
    "durability laid --verify --ledger /dev/zero",
    "study measured.toml --target drive:nonsense,foo=1 --size 64k --out o",
    "serve null --nbd unix:empty",
]
