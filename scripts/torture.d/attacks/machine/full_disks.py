"""Disks that are full or cannot be written, and limits on files, descriptors and memory."""

from __future__ import annotations

import random
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from rig import nbd
from rig.attack import Attack, Tally
from rig.bench import Bench, tool
from rig.process import Ended, Watch
from rig.resumed import check
from rig.served import Refused, Served
from rig.subject import CONCLUDED, subjects


@dataclass(frozen=True)
class Request:
    """Something asked of a machine that lacks for it, and how it must end."""

    command: str
    codes: tuple[int, ...] = (3,)
    needed: str = ""  # what the message must say
    forbidden: str = ""  # what it must not say, in either output
    before: str = ""  # what is done to the machine first, in a mount namespace of its own


def writing(where: str) -> list[Request]:
    """Everything that drivelab writes, on `where`."""
    return [
        Request(f"run laid --size 64k --rw randwrite --verify --number-ios 50 "
                f"--verify-state {where}/state", needed=f"{where}/state"),
        Request(f"durability pages --size 64k --runtime 200ms --ledger {where}/ledger",
                needed=f"{where}/ledger"),
        Request(f"durability {where}/pages --size 1M --runtime 300ms"),
        Request(f"run {where}/file --size 1M --runtime 50ms --direct 0", needed=f"{where}/file"),
        Request(f"replay trace --drive generic-10k --times {where}/times", needed=f"{where}/times"),
        Request(f"man --out {where}/man", needed=f"{where}/man"),
        Request(f"inspect --capture {where}/capture", needed=f"{where}/capture"),
        Request(f"drive fit measured.toml --out {where}/own.toml", needed=f"{where}/own.toml"),
        Request(f"study study.toml --out {where}/out", needed=f"{where}/out"),
        Request(f"run --matrix matrix.toml --out {where}/out", needed=f"{where}/out"),
        Request(f"run {where} --suite fsmark,files=9,sync=0,drop=never --no-archive", needed=where),
        Request(f"run {where} --suite sqlite,rows=9,drop=never --no-archive", needed=where),
    ]


SOCKETS = [
    Request("serve null --size 1M --nbd unix:ro/nbd", needed="ro/nbd"),
    Request("serve null --size 1M --image ro/image --nbd unix:nbd", needed="ro/image"),
    Request("serve null --size 1M --fuse ro/drive", needed="ro/drive"),
    Request("serve null --size 1M --nbd unix:plain", (2, 3), forbidden="another server listens"),
]
MACHINE = [
    Request("serve null --size 1M --fuse drive", before="mount --bind /dev/null /dev/fuse",
            needed="/dev/fuse"),
    Request("run laid --size 64k --rw randwrite --runtime 50ms --overwrite",
            before="mount -t tmpfs none /proc"),
    Request("inspect vda", before="mount -t tmpfs none /sys", forbidden="; there are none"),
    Request("inspect", (0, 3, 4), before="mount -t tmpfs none /sys",
            forbidden="no problems found"),
    Request("run laid --size 64k --runtime 50ms", (0, 3), before="mount -t tmpfs none /sys"),
]
STDOUT = [Request(command, before="exec > /dev/full") for command in (
    "drive list", "drive show generic-10k", "man", "study --list", "inspect",
    "run drive:generic-10k --runtime 100ms", "durability drive:generic-10k --runtime 100ms",
    "study study.toml --out fresh", "drive predict generic-10k --runtime 1s")]


class FullDisks(Attack):
    """Takes from the machine what drivelab needs; it says so with exit 3 and loses nothing."""

    name = "full-disks"
    title = "full and read-only disks, limits, no /dev/fuse, /proc, /sys"
    cases = 120
    seconds = 50.0
    least = 40
    tools = ("unshare", "mount")
    needs_root = True

    def prepare(self, bench: Bench, tally: Tally) -> None:
        self.subjects = subjects(bench, out="mnt/out")
        self.requests = [*writing("full"), *writing("ro"), *SOCKETS, *MACHINE, *STDOUT]
        self.lab = bench.folder("full")
        for name, options in (("full", "size=64k"), ("ro", "ro")):
            (self.lab / name).mkdir()
            tool("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.lab / name))
        try:
            (self.lab / "full/filling").write_bytes(b"\0" * (1 << 20))
        except OSError:
            pass  # that is what it is for
        self._inputs(bench)

    def _inputs(self, bench: Bench) -> None:
        simulate, _, matrix = subjects(bench)
        (self.lab / "study.toml").write_text(simulate.files["study.toml"])
        (self.lab / "matrix.toml").write_text(matrix.files["matrix.toml"])
        rows = (f"0,{number * 512},4096,R,{number / 10}\n" for number in range(50))
        (self.lab / "trace").write_text("".join(rows))
        (self.lab / "measured.toml").write_text(
            "[drive]\ncapacity_bytes = 2_000_398_934_016\nrpm = 7200\n"
            "[random_read_qd1]\nbs = \"4k\"\nmean_ms = 17.57\n[sequential]\nread_mb_per_s = 143\n")
        (self.lab / "plain").write_text("mine")
        bench.lab("run", "laid", "--size", "64k", "--runtime", "10ms", cwd=self.lab)

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        if case < len(self.requests):
            self._request(bench, tally, case, self.requests[case])
            return
        ways = [self._fills, self._fills, self._limited, self._image, self._descriptors,
                self._memory]
        ways[case % len(ways)](bench, tally, case, draw)

    def _request(self, bench: Bench, tally: Tally, case: int, request: Request) -> None:
        script = f'{request.before or ":"}; exec "$@"'
        argv = ["sh", "-c", script, "sh", str(bench.drivelab), *request.command.split()]
        if request.before.startswith("mount"):
            argv = ["unshare", "-m", *argv]
        ended = tally.weigh(bench.run(argv, self.lab, Watch(15)))
        shown = f"{request.command}" + (f" after `{request.before}`" if request.before else "")
        if ended.ended_by_us or ended.panicked() or ended.code not in request.codes:
            tally.violate(case, f"{shown}: {ended.brief()}")
        elif request.needed and request.needed not in ended.stderr:
            tally.violate(case, f"{shown}: does not name {request.needed}: {ended.brief()}")
        elif request.forbidden and request.forbidden in ended.text:
            tally.violate(case, f"{shown}: says `{request.forbidden}`")
        elif ended.code == 3 and not re.search(r"^error: ", ended.stderr, re.MULTILINE):
            tally.violate(case, f"{shown}: no reason: {ended.brief()}")
        if (self.lab / "plain").read_text() != "mine":
            tally.lose(case, 1, f"{shown}: changed a file that is not its own")

    def _fills(self, bench: Bench, tally: Tally, case: int, draw: random.Random) -> None:
        """The disk with the results fills while it runs; with more room it goes on."""
        subject = draw.choice(self.subjects)
        reference, _ = subject.reference(bench)
        folder = bench.folder("fill")
        room = folder / "mnt"
        room.mkdir()
        most = sum(map(len, reference.values())) >> 10
        mount = ("mount", "-t", "tmpfs", "-o", f"size={draw.randrange(4, most + 8)}k", "tmpfs")
        tool(*mount, str(room))
        subject.lay_out(folder)
        ended = tally.weigh(bench.run(subject.argv(bench), folder, Watch(60)))
        if ended.panicked() or ended.code not in (3, *CONCLUDED):
            tally.violate(case, f"{subject.name} on a disk that fills: {ended.brief()}")
        kept = subject.lines(folder / subject.out)
        self._half_written(tally, case, folder / subject.out, reference)
        tool("mount", "-o", "remount,size=64m", str(room))
        check(bench, tally, case, subject, folder, kept, f"disk full after {len(kept)} runs")
        tool("umount", str(room))

    @staticmethod
    def _half_written(tally: Tally, case: int, out: Path, reference: dict[str, bytes]) -> None:
        """What is written as a whole is there as a whole, or not at all."""
        for name in ("result.json", "report.html", "plan.json"):
            path = out / name
            if name in reference and path.exists() and len(path.read_bytes()) == 0:
                tally.violate(case, f"{name} is empty on a full disk")
            elif name.endswith("json") and path.exists() and \
                    not path.read_bytes().rstrip().endswith(b"}"):
                tally.violate(case, f"half of {name} is left on a full disk")

    def _limited(self, bench: Bench, tally: Tally, case: int, draw: random.Random) -> None:
        """No file may be larger than a limit (`ulimit -f`); without it, it goes on."""
        subject = draw.choice(self.subjects)
        reference, _ = subject.reference(bench)
        folder = bench.folder("limit")
        out = subject.lay_out(folder)
        blocks = draw.randrange(1, max(map(len, reference.values())) // 512 + 2)
        argv = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *subject.argv(bench)]
        ended = tally.weigh(bench.run(argv, folder, Watch(60)))
        # The system's own answer to a file that grows too large is a signal: as good as a kill.
        if ended.panicked() or ended.code not in (3, -signal.SIGXFSZ, *CONCLUDED):
            tally.violate(case, f"{subject.name}, ulimit -f {blocks}: {ended.brief()}")
        self._half_written(tally, case, out, reference)
        check(bench, tally, case, subject, folder, subject.lines(out), f"ulimit -f {blocks}")

    def _image(self, bench: Bench, tally: Tally, case: int, draw: random.Random) -> None:
        """A served drive whose image is on a disk that fills: what was promised stays."""
        folder = bench.folder("image")
        (folder / "mnt").mkdir()
        size = draw.randrange(64, 1024)
        tool("mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder / "mnt"))
        image = ("null", "--size", "16M", "--image", "mnt/image")
        served = Served(bench, folder, *image)
        flushed = self._fill_image(tally, case, served, draw)
        ended = tally.weigh(served.stop())
        if ended.panicked() or ended.code not in (0, 3):
            tally.violate(case, f"image on a full disk: {ended.brief()}")
        tool("mount", "-o", "remount,size=64m", str(folder / "mnt"))
        again = Served(bench, folder, *image)
        link = nbd.Nbd(again.nbd_path)
        if lost := sum(link.read(place, 4096) != data for place, data in flushed.items()):
            tally.lose(case, lost, f"image on a full disk: {lost} flushed writes are gone")
        link.close()
        again.stop()
        tool("umount", "-l", str(folder / "mnt"))

    @staticmethod
    def _fill_image(tally: Tally, case: int, served: Served,
                    draw: random.Random) -> dict[int, bytes]:
        """Writes until well after the disk is full, or the server has ended; what was promised."""
        link = nbd.Nbd(served.nbd_path)
        written: dict[int, bytes] = {}
        flushed: dict[int, bytes] = {}
        try:
            for _ in range(600):
                place, data = draw.randrange(4096) * 4096, draw.randbytes(4096)
                flushed.pop(place, None)
                error, _ = link.ask(nbd.WRITE, place, len(data), data)
                written.pop(place, None) if error else written.update({place: data})
                if draw.random() < 0.05 and link.ask(nbd.FLUSH)[0] == 0:
                    flushed |= written
            if wrong := sum(link.read(place, 4096) != data for place, data in written.items()):
                tally.lose(case, wrong, f"image on a full disk: {wrong} writes read back otherwise")
            link.close()
        except nbd.Gone:
            pass  # it may end, if it says why
        return flushed

    def _descriptors(self, bench: Bench, tally: Tally, case: int, draw: random.Random) -> None:
        """Few descriptors (`ulimit -n`)."""
        number = draw.randrange(4, 16)
        prefix = ("sh", "-c", f'ulimit -n {number}; exec "$@"', "sh")
        folder = bench.folder("few")
        argv = [*prefix, str(bench.drivelab), "run", str(self.lab / "laid"), "--size", "64k",
                "--runtime", "20ms", "--numjobs", str(draw.randrange(1, 5))]
        ended = tally.weigh(bench.run(argv, folder, Watch(15)))
        if ended.panicked() or ended.code not in (0, 3):
            tally.violate(case, f"run, ulimit -n {number}: {ended.brief()}")
        try:
            Served(bench, folder, "null", "--size", "1M", prefix=prefix).stop()
        except Refused as refused:
            if not str(refused).startswith("exit 3"):
                tally.violate(case, f"serve, ulimit -n {number}: {refused}")
        except OSError:
            pass  # no descriptor was left for the control connection

    def _memory(self, bench: Bench, tally: Tally, case: int, draw: random.Random) -> None:
        """Little memory (`ulimit -v`): a study that dies of it is resumed with more."""
        subject = self.subjects[0]
        kib = draw.randrange(14_000, 40_000)
        folder = bench.folder("small")
        out = subject.lay_out(folder)
        argv = ["sh", "-c", f'ulimit -v {kib}; exec "$@"', "sh", *subject.argv(bench)]
        ended = tally.weigh(bench.run(argv, folder, Watch(60)))
        if not self._said_memory(ended) and (ended.panicked() or ended.code not in (3, *CONCLUDED)):
            tally.violate(case, f"study, ulimit -v {kib}: {ended.brief()}")
        check(bench, tally, case, subject, folder, subject.lines(out), f"ulimit -v {kib}")

    @staticmethod
    def _said_memory(ended: Ended) -> bool:
        """Whether it ended for want of memory and said so: there is nothing else to be done."""
        loader = ended.code == 127 and b"shared libraries" in ended.err
        return loader or ended.code < 0 and b"memory allocation of" in ended.err


