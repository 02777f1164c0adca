"""Another user swaps folders and links under what root runs: suites, layouts, guests, builds."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Callable

from rig.attack import Attack, Tally
from rig.bench import Bench, tool
from rig.process import Ended, Watch

#: The user who attacks: nobody.
USER = 65534
SWAPPER = Path(__file__).resolve().parent.parent.parent / "rig" / "swapper.py"
SUITES = [
    "blogbench,iterations=1,interval=150ms,readers=3,drop=never",
    "bonnie,size=256k,putc=8k,n=1:100:10:2,seeks=20,drop=never",
    "fsmark,files=150,size=4k,sync=0,threads=2,dirs=3,per_dir=20,drop=never",
    "copy,size=600000,sets=100k,drop=never",
    "metadata,files=200,drop=never",
    "scan,files=60,copy=5,drop=never",
    "tiobench,size=128k,threads=2,random_ops=20,drop=never",
    "sqlite,repeat=1,rows=10,drop=never",
]
#: What strace may hold up, and for how long in microseconds: the window between two calls.
DELAYED = ["unlinkat", "rmdir,unlinkat", "mkdirat", "renameat,renameat2", "openat", "newfstatat",
           "unlinkat,mkdirat,openat"]
#: Names that drivelab itself uses; the victim has them all.
NAMES = ["results", "kept", "blogs", "files", "large", "from", "to", "tree", "databases", "deep/er",
         "drivelab-suite-1", "drivelab-guest-1-0", "building-1-0"]

#: What works in a folder of the attacker.
OWNED = ("suite", "layout", "study", "report")

STUBS = {
    "flex": "exit 0",
    "bison": "exit 0",
    "busybox": "exit 0",
    "patch": "exit 0",
    "tar": "mkdir -p a/b/c; for i in 1 2 3 4 5 6 7 8; do echo x >a/b/c/$i; echo x >a/$i; done",
    "make": """for word; do case $word in LOCALVERSION=*) version=${word#*=};; esac; done
case $word in
allnoconfig) grep -v '=n$' drivelab.config >.config;;
linux) printf '#!/bin/sh\\n[ "$1" = --version ] && echo 6.12.1%s && exit\\nsleep 0.05; exit 1\\n' \
"$version" >linux; chmod 755 linux;;
esac""",
}


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind, rights, owner, inode, time of the last change, content."""
    found: dict[str, tuple[object, ...]] = {}
    for at, folders, files in os.walk(folder):
        for name in [".", *folders, *files]:
            path = Path(at) / name
            about = path.lstat()
            held = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
            found[str(path)] = (about.st_mode, about.st_uid, about.st_nlink, about.st_ino,
                                about.st_mtime_ns, held)
    return found


class Swaps(Attack):
    """Swaps what root works on for links to files of others; those must not change."""

    name = "swaps"
    title = "folders and links swapped by another user under what root runs"
    cases = 1000
    seconds = 900.0
    least = 24
    needs_root = True
    tools = ("setpriv", "unshare", "strace")
    workers = 2

    def prepare(self, bench: Bench, tally: Tally) -> None:
        # The other user must be able to reach the folders of the cases.
        bench.work.chmod(0o711)
        self.ended: dict[str, int] = {}
        self.stubs = bench.folder("stubs")
        for name, text in STUBS.items():
            (self.stubs / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.stubs / name).chmod(0o755)
        self.source = self.stubs / "linux.tar"
        self.source.write_bytes(b"unpacked by a stub")
        self.kernels = bench.folder("cache")
        build = ["guest", "kernel", "build", "--source", str(self.source)]
        ended = bench.run(self._argv(bench, build), bench.work, Watch(60), env=self._env())
        self.has_stubs = ended.code == 0
        if not self.has_stubs:
            tally.note(f"swaps: no guests and builds, stubs cannot be mounted: {ended.brief()}")

    def _env(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.kernels)}

    def _argv(self, bench: Bench, words: list[str]) -> list[str]:
        """A command in which the programs of a build are stubs, seen by no other process."""
        mount = (f"mount -t overlay overlay -o lowerdir={self.stubs}:/usr/bin /usr/bin"
                 ' && exec "$@"')
        return ["unshare", "--mount", "sh", "-c", mount, "sh", str(bench.drivelab), *words]

    @staticmethod
    def _victim(folder: Path) -> Path:
        victim = folder / "victim"
        for name in NAMES:
            (victim / name).mkdir(parents=True)
            (victim / name / "thesis").write_text("of years\n")
            (victim / name / "file").write_text("")
        for name in (".drivelab-suite", ".drivelab-guest", ".drivelab-build", "empty",
                     "page.html", "runs.jsonl", "result.json"):
            (victim / name).write_text("")
        (victim / "letter").write_text("to whom it may concern\n")
        return victim

    def case(self, bench: Bench, tally: Tally, case: int) -> None:
        draw = bench.random(self.name, case)
        folder = bench.folder("swap")
        folder.chmod(0o755)
        victim = self._victim(folder)
        arena = folder / "arena"
        arena.mkdir()
        kinds: list[Callable[[Path], tuple[str, list[str], dict[str, str]]]] = [
            lambda arena: self._suite(bench, arena, draw.choice(SUITES)),
            lambda arena: self._layout(bench, arena),
            lambda arena: self._suite(bench, arena, SUITES[case // 4 % len(SUITES)]),
        ]
        kinds += [lambda arena: self._study(bench, arena),
                  lambda arena: self._report(bench, arena, folder)]
        if self.has_stubs:
            kinds += [lambda arena: self._guest(bench, arena),
                      lambda arena: self._build(bench, arena)]
        what, argv, env = kinds[case % len(kinds)](arena)
        # A folder of the attacker, or one in which everybody may make files, as /tmp.
        if draw.random() < 0.5 or what in OWNED:
            os.chown(arena, USER, USER)
        else:
            arena.chmod(0o1777)
        if draw.random() < 0.5:
            calls = draw.choice(DELAYED)
            delay = draw.choice([200, 1000, 5000]) if "openat" not in calls else 300
            inject = f"inject={calls}:delay_enter={delay}"
            argv = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}",
                    "-e", inject, *argv]
            what = f"{what}, {inject}"
        before = tree(victim)
        seed = str(draw.randrange(1 << 30))
        # A slow attacker meets the later steps: of a fast one most work ends at the first.
        pause = str(draw.choice([0, 0, 2, 20]) / 1000)
        swapper = bench.start(["setpriv", "--reuid", str(USER), "--regid", str(USER),
                               "--clear-groups", sys.executable, "-I", str(SWAPPER), str(arena),
                               str(victim), seed, pause], Path("/"))
        try:
            ended = tally.weigh(bench.run(argv, folder, Watch(60), env=env))
        finally:
            swapper.kill()
            swapper.wait(Watch(10))
        self._judge(tally, case, what, ended)
        if (after := tree(victim)) != before:
            changed = sorted(name for name in set(after) | set(before)
                             if after.get(name) != before.get(name))
            tally.lose(case, len(changed), f"{what}: changed outside: {changed[:8]}")
        tool("rm", "-rf", str(folder))

    def _judge(self, tally: Tally, case: int, what: str, ended: Ended) -> None:
        kind = what.split(",")[0]
        name = f"{kind} exit {ended.code}"
        self.ended[name] = self.ended.get(name, 0) + 1
        if ended.panicked() or ended.ended_by_us or ended.code not in (0, 1, 2, 3, 4):
            tally.violate(case, f"{what}: {ended.brief()}")

    def finish(self, bench: Bench, tally: Tally) -> None:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.ended.items()))
        tally.note(f"swaps: {counts}")

    @staticmethod
    def _suite(bench: Bench, arena: Path, suite: str) -> tuple[str, list[str], dict[str, str]]:
        words = ["run", str(arena), "--suite", suite, "--no-archive"]
        return "suite", [str(bench.drivelab), *words], {}

    @staticmethod
    def _layout(bench: Bench, arena: Path) -> tuple[str, list[str], dict[str, str]]:
        words = ["run", str(arena / "target"), "--size", "256k", "--direct=0", "--rw", "randwrite",
                 "--bs", "4k", "--number-ios", "20", "--no-archive"]
        return "layout", [str(bench.drivelab), *words], {}

    @staticmethod
    def _study(bench: Bench, arena: Path) -> tuple[str, list[str], dict[str, str]]:
        words = ["study", "ahci-or-ide", "--blocks", "2", "--only", "random-read-32",
                 "--out", str(arena / "results"), "--no-archive"]
        return "study", [str(bench.drivelab), *words], {}

    @staticmethod
    def _report(bench: Bench, arena: Path, folder: Path) -> tuple[str, list[str], dict[str, str]]:
        run = folder / "run.json"
        script = ('"$0" run drive:generic-5400 --number-ios 8 --no-archive --json >"$1" && '
                  'mkdir -p "$2/kept"; for i in 1 2 3 4; do "$0" report "$1" --out "$2/page.html"; '
                  '"$0" report "$1" --out "$2/kept/page.html"; done')
        return "report", ["sh", "-c", script, str(bench.drivelab), str(run), str(arena)], {}

    def _guest(self, bench: Bench, arena: Path) -> tuple[str, list[str], dict[str, str]]:
        words = ["run", "drive:crucial-c300", "--in", "kernel", "--number-ios", "1",
                 "--no-archive"]
        return "guest", self._argv(bench, words), {**self._env(), "TMPDIR": str(arena)}

    def _build(self, bench: Bench, arena: Path) -> tuple[str, list[str], dict[str, str]]:
        words = ["guest", "--cache", str(arena), "kernel", "build", "--source", str(self.source)]
        return "build", self._argv(bench, words), {}
