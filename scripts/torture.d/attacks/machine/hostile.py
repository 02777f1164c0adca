"""Hostile values and files: what a slip, a fuzzer or a malicious sender would put in."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

from rig.subject import MATRIX, MEASURED, SIMULATED

NUMBERS = ["0", "-1", "-0", "1", "65537", "4294967295", "4294967296", "9223372036854775807",
           "9223372036854775808", "18446744073709551615", "99999999999999999999999999", "1e308",
           "1e-400", "NaN", "inf", "0x10", "1_000", "٣", "1.5", "+7", "1,000"]
UNITS = ["", "k", "G", "T", "E", "Z", "%", "s", "h", "ms", "ns", "d", "µs", "kk", "iB"]
WORDS = ["", " ", "-", "--", "=", ",", ":", "/", "a" * 40_000, "%s%n%x", "$(id)", "\udcff\udcfe",
         "name\nerror: forged", "\x1b[2J\x1b[31m", "null", "true", "drive:", "drive:nonsense,foo=1",
         "drive:generic-10k,tags=0", "drive:generic-10k,drives=4294967296", "unix:", "unix:/",
         "unix:" + "x" * 300, "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:1", "[::1", "4k/101",
         "4k/50:4k/60", "zipf:1e308", "zipf:-1", "pareto:0", "zoned:100/0",
         "zoned:" + "1/1:" * 5000,
         "iops:0%", "lat:1e9%", "4k-512", "512-64G", "0-0", '{"kind": "stall"}', "{" * 5000,
         '{"kind": "slow", "factor": 1e308}', '{"kind":"torn","range":[9,1]}']
#: Files that never end, never answer, or are none. No block device, ever.
SPECIAL = ["/dev/zero", "/dev/full", "/dev/null", "fifo", "folder", "loop", "absent",
           "absent/below", "/proc/self/environ", "sparse"]
#: Lines that break a text.
BROKEN = ["\0", "[", "= 3", "[[arm]]", "x" * 100_000, "\udcff"]
KEY = re.compile(r"^([\w.-]+ ?= ?)(.*)$")

JOB = """[global]
ioengine=psync
size=1m
runtime=1s
[one]
filename=laid
rw=randread
bs=4k
iodepth=4
number_ios=20
"""
MEASUREMENTS = """[drive]
capacity_bytes = 2_000_398_934_016
rpm = 7200
[random_read_qd1]
bs = "4k"
mean_ms = 17.57
p50_ms = 17.69
p99_ms = 28.44
[sequential]
read_mb_per_s = 143
"""
PROFILE = """base = "generic-10k"
[drive]
model = "own"
capacity_bytes = 300000000000
"""


def value(draw: random.Random) -> str:
    """A value that no option should have to expect."""
    if draw.random() < 0.6:
        return draw.choice(NUMBERS) + draw.choice(UNITS)
    return draw.choice(WORDS + SPECIAL)


def mutated(text: str, draw: random.Random) -> str:
    """A text with a few of its lines changed, doubled, dropped or broken."""
    lines = text.splitlines()
    for _ in range(draw.randrange(1, 3)):
        number = draw.randrange(len(lines))
        key = KEY.match(lines[number])
        way = draw.randrange(6)
        if key and way < 3:
            word = value(draw)
            quoted = key[2].startswith('"') and draw.random() < 0.8
            lines[number] = key[1] + (f'"{word}"' if quoted else word)
        elif way == 3:
            lines.insert(number, lines[number])
        elif way == 4:
            lines.insert(number, draw.choice(BROKEN))
        else:
            del lines[number]
        lines = lines or [""]
    return "\n".join(lines) + "\n"


def pairs(draw: random.Random) -> str:
    """A CSV of pairs."""
    rows = [f"{block},{arm},{100 + 5 * (arm == 'B') + draw.random()}"
            for block in range(8) for arm in "AB"]
    for _ in range(draw.randrange(1, 4)):
        row = draw.randrange(len(rows))
        cells = rows[row].split(",")
        cells[draw.randrange(3)] = value(draw)
        rows[row] = ",".join(cells)
    return "block,arm,value\n" + "\n".join(rows) + "\n"


def trace(draw: random.Random) -> str:
    """A trace in the form of SPC."""
    rows = [f"0,{number * 512},4096,{'RW'[number % 2]},{number / 10}" for number in range(20)]
    row = draw.randrange(len(rows))
    cells = rows[row].split(",")
    cells[draw.randrange(5)] = value(draw).split("\n")[0] or "0"
    rows[row] = ",".join(cells)
    return "\n".join(rows) + "\n"


def bad_file(folder: Path, draw: random.Random, kind: str) -> str:
    """The name of a file to be read as this kind of input."""
    if draw.random() < 0.5:
        return draw.choice(SPECIAL + LARGE)
    made = {
        "study": lambda: mutated(draw.choice([SIMULATED, MEASURED]), draw),
        "matrix": lambda: mutated(MATRIX.replace("TARGET", "laid") + "direct = false\n", draw),
        "job": lambda: mutated(JOB, draw),
        "measurements": lambda: mutated(MEASUREMENTS, draw),
        "profile": lambda: mutated(PROFILE, draw),
        "pairs": lambda: pairs(draw),
        "trace": lambda: trace(draw),
    }
    text = made.get(kind, lambda: mutated(draw.choice([SIMULATED, JOB]), draw))()
    endings = {"profile": ".toml", "measurements": ".toml", "job": ".fio"}
    path = folder / f"bad{endings.get(kind, '')}"
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path.name


#: Files that are too large, too deep or no text; made once.
LARGE = ["empty", "binary", "line", "jobs.fio", "numjobs.fio", "arms.toml", "deep.json",
         "deep.toml", "pairs.csv", "ones"]


def large_files(folder: Path) -> None:
    """Makes the files of `LARGE`, and the special ones that are not the system's."""
    (folder / "empty").write_bytes(b"")
    (folder / "binary").write_bytes(random.Random(1).randbytes(1 << 16))
    (folder / "line").write_bytes(b"a" * (2 << 20))
    (folder / "ones").write_bytes(b"1" * (1 << 20))
    sections = (f"[j{number}]\nrw=read\nsize=4k\nfilename=laid\nioengine=null\n"
                for number in range(4000))
    (folder / "jobs.fio").write_text("".join(sections))
    (folder / "numjobs.fio").write_text("[j]\nrw=read\nsize=4k\nfilename=laid\nnumjobs=4000\n")
    arm = '[[arm]]\nname = "arm{}"\ncontroller = "ahci"\n'
    first, rest = SIMULATED.split("[[workload]]", 1)
    arms = "".join(arm.format(number) for number in range(30_000))
    (folder / "arms.toml").write_text(f"{first}{arms}[[workload]]{rest}")
    (folder / "deep.json").write_text("[" * 200_000)
    (folder / "deep.toml").write_text("a = " + "[" * 200_000)
    with (folder / "pairs.csv").open("w") as file:
        for number in range(100_000):
            file.write(f"{number},{'AB'[number % 2]},{number % 977}\n")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "fifo")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
